"""Lock of a database with which one process at a time has the broker sign.

Two nodes with the same key would give two transactions one nonce. For PostgreSQL it is an advisory lock, on a
connection of its own; for SQLite a locked file next to the database's, since all processes are on one
machine. A killed process loses either at once. A database has one lock, for the account of its broker.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Connection, text

from cfnode.ledger.database import LOCK_KEY, Database, close_own, driver_of
from cfnode.ledger.errors import BrokenBooks, DatabaseError, LedgerError

__all__ = ["LOCK_ATTEMPT_S", "SignerLock", "signer_lock"]

SIGNER_KEY: Final = LOCK_KEY + 2
"""PostgreSQL's advisory lock of the process that signs."""
LOCK_ATTEMPT_S: Final = 1.0
"""Seconds that one attempt to get the lock waits."""
_LOCK_POLL_S: Final = 0.02
_WAITING: Final = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1 "
    f"AND classid = {SIGNER_KEY >> 32} AND objid = {SIGNER_KEY & 0xFFFFFFFF} "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class SignerLock(Protocol):
    """Lock of one process. Every method blocks, and raises LedgerError."""

    def acquire(self) -> bool:
        """Wait for the lock for `LOCK_ATTEMPT_S` at most; return whether it was acquired."""
        ...

    def is_held(self) -> bool:
        """Return whether an acquired lock is still this process's."""
        ...

    def is_wanted(self) -> bool:
        """Return whether another process waits for the lock."""
        ...

    def release(self) -> None:
        """Release the lock; it can be acquired again."""
        ...

    def close(self) -> None:
        """Release the lock, with its connection or files, at the end."""
        ...


def signer_lock(database: Database) -> SignerLock:
    """Return the lock of a database. Raises BrokenBooks."""
    return _FileLock(database.path) if database.is_sqlite else _AdvisoryLock(database)


class _AdvisoryLock:
    """PostgreSQL's advisory lock; the server grants it in the order of the waiting processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        import psycopg

        if self._connection is None:
            self._connection = self._database.own_connection()
            self._run(f"SET lock_timeout = {int(LOCK_ATTEMPT_S * 1000)}")
        try:
            driver_of(self._connection).execute(f"SELECT pg_advisory_lock({SIGNER_KEY})")
        except psycopg.errors.LockNotAvailable:
            return False
        except psycopg.Error as error:
            self.close()
            raise DatabaseError(f"{self._database.name}: {str(error).strip()[:300]}") from None
        return True

    def is_held(self) -> bool:
        return self._connection is not None and bool(self._run("SELECT true"))

    def is_wanted(self) -> bool:
        return bool(self._run(_WAITING))

    def release(self) -> None:
        if self._connection is not None:
            self._run(f"SELECT pg_advisory_unlock({SIGNER_KEY})")

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            close_own(connection)

    def _run(self, query: str) -> Any:
        assert self._connection is not None
        try:
            with self._database.translated():
                result = self._connection.execute(text(query))
                return result.scalar() if result.returns_rows else None
        except LedgerError:
            self.close()
            raise


class _FileLock:
    """Locks of two files next to SQLite's: one of the process that signs, one shared by those that wait."""

    def __init__(self, database: Path) -> None:
        self._own, self._queue = _opened(f"{database}.signer"), _opened(f"{database}.signer-queue")

    def acquire(self) -> bool:
        deadline = time.monotonic() + LOCK_ATTEMPT_S
        fcntl.flock(self._queue, fcntl.LOCK_SH)
        try:
            while not _locked(self._own):
                if time.monotonic() > deadline:
                    return False
                time.sleep(_LOCK_POLL_S)
            return True
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def is_held(self) -> bool:
        return True

    def is_wanted(self) -> bool:
        if not _locked(self._queue):
            return True
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        return False

    def release(self) -> None:
        fcntl.flock(self._own, fcntl.LOCK_UN)
        time.sleep(2 * _LOCK_POLL_S)  # a process that waits tries the lock meanwhile

    def close(self) -> None:
        os.close(self._own)
        os.close(self._queue)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BrokenBooks(f"cannot open {path}: {error.strerror}") from None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
