"""Database of the books: SQLite (one file, WAL) or PostgreSQL, by URL, with tables from migrations.

The commit of a block does not wait for the disk: after a crash of PostgreSQL or of the machine the last
blocks may be missing, never half of one, and are followed again. Other commits wait for the disk, since
nothing repeats them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfnode.ledger.engines import FULL, NORMAL, create_file, engine_of, sqlite_url
from cfnode.ledger.errors import BrokenBooks, DatabaseError, LedgerError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

__all__ = ["Database", "FollowerLock", "Listener", "close_own", "driver_of", "sqlite_url"]

LOCK_KEY = 0x63666E6F6465
"""PostgreSQL's advisory lock of a writer."""
FOLLOWER_KEY = LOCK_KEY + 1
"""PostgreSQL's advisory lock of the process that follows."""
_MIGRATING = threading.Lock()
"""Lock of a process: Alembic keeps the running migration in variables of its modules."""


class Database:
    """The books' database. Every method blocks: call it in a thread."""

    def __init__(self, url: str) -> None:
        """Prepare connections to a database. Raises MissingLibrary, or BrokenBooks for a malformed URL."""
        self._engine = engine_of(url)
        self.name = self._engine.url.set(query={}).render_as_string(hide_password=True)
        """The URL without password and query, since the query may have a password, too."""

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite; otherwise it is PostgreSQL."""
        return self._engine.dialect.name == "sqlite"

    @property
    def path(self) -> Path:
        """SQLite's file."""
        return Path(self._engine.url.database or "")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def migrate(self) -> None:
        """Create or upgrade the tables, in a new file of SQLite if there is none.

        Raises BrokenBooks if a newer version of cfnode wrote them, or the file cannot be created.
        """
        from alembic import command

        if self.is_sqlite:
            create_file(self.path)
        config = _alembic()
        with _MIGRATING, self.writing() as connection:
            config.attributes["connection"] = connection
            self._check_version(connection, config)
            command.upgrade(config, "head")

    @property
    def folder(self) -> Path | None:
        """The folder of an SQLite file; None for PostgreSQL."""
        return self.path.absolute().parent if self.is_sqlite else None

    def make_private(self) -> None:
        """Let only its owner read and write an SQLite file, as it will have secrets. Raises BrokenBooks."""
        if self.is_sqlite:
            for suffix in ("", "-wal", "-shm"):
                path = Path(f"{self._engine.url.database}{suffix}")
                try:
                    path.chmod(0o600)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    raise BrokenBooks(f"cannot make {path} private: {error.strerror}") from None

    def require(self) -> None:
        """Raise BrokenBooks unless the database has books of this version."""
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        with self.reading() as connection:
            revision = MigrationContext.configure(connection).get_current_revision()
            if revision is None:
                raise BrokenBooks(f"{self.name} has no books: `cfnode ledger run` begins them")
            self._check_version(connection, _alembic())
            if revision != ScriptDirectory.from_config(_alembic()).get_current_head():
                raise BrokenBooks(f"{self.name} is of an older version: `cfnode ledger run` upgrades it")

    def _check_version(self, connection: Connection, config: Config) -> None:
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        revision = MigrationContext.configure(connection).get_current_revision()
        revisions = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if revision is not None and revision not in revisions:
            raise BrokenBooks(f"{self.name} was written by a newer version of cfnode: install that one")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the books."""
        with self.translated(), self._engine.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """Open a transaction that writes, one at a time among all processes.

        The commit of a `durable` transaction waits for the disk.
        """
        from sqlalchemy import text

        with self.translated(), self._engine.connect() as connection:
            connection = connection.execution_options(cfnode_writes=FULL if durable else NORMAL)
            with connection.begin():
                if not self.is_sqlite:
                    if not durable:
                        connection.execute(text("SET LOCAL synchronous_commit = off"))
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK_KEY})"))
                yield connection

    def follower_lock(self) -> FollowerLock:
        """Return the lock of followers, on a connection of its own; not for SQLite. Raises DatabaseError."""
        return FollowerLock(self, self.own_connection())

    def listener(self, channel: str) -> Listener:
        """Listen to a channel of notifications, on a connection of its own; not for SQLite.

        Raises DatabaseError.
        """
        from sqlalchemy import text

        connection = self.own_connection()
        with self.translated():
            connection.execute(text(f"LISTEN {channel}"))
        return Listener(self, connection)

    def own_connection(self) -> Connection:
        """Open a connection to PostgreSQL outside of the pool and of transactions. Raises DatabaseError."""
        assert not self.is_sqlite
        with self.translated():
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()
            return connection

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise errors of SQLAlchemy and Alembic as DatabaseError or BrokenBooks."""
        from alembic.util import CommandError
        from sqlalchemy.exc import DatabaseError as Fault
        from sqlalchemy.exc import OperationalError, SQLAlchemyError

        try:
            yield
        except OperationalError as error:
            raise DatabaseError(f"{self.name}: {_line(error.orig)}") from None
        except Fault as error:
            raise BrokenBooks(f"{self.name} cannot be used: {_line(error.orig)}") from None
        except (SQLAlchemyError, CommandError) as error:
            raise DatabaseError(f"{self.name}: {_line(error)}") from None


class FollowerLock:
    """PostgreSQL's advisory lock of the process that follows. Every method blocks: call it in a thread."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self._database, self._connection = database, connection

    def acquire(self) -> bool:
        """Try to take the lock, and return whether this process has it now. Raises DatabaseError."""
        from sqlalchemy import text

        with self._database.translated():
            result = self._connection.execute(text(f"SELECT pg_try_advisory_lock({FOLLOWER_KEY})"))
            return bool(result.scalar())

    def is_held(self) -> bool:
        """Return whether the connection of an acquired lock still works."""
        from sqlalchemy import text

        try:
            with self._database.translated():
                self._connection.execute(text("SELECT 1"))
        except LedgerError:
            return False
        return True

    def close(self) -> None:
        """Release the lock by closing its connection."""
        close_own(self._connection)


class Listener:
    """Listener to notifications of PostgreSQL. Every method blocks: call it in a thread."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self._database, self._connection = database, connection

    def wait(self, seconds: float) -> list[str]:
        """Return the payloads of notifications, oldest first, none after the given seconds.

        Raises DatabaseError.
        """
        import psycopg

        try:
            return [
                notification.payload
                for notification in driver_of(self._connection).notifies(timeout=seconds, stop_after=1)
            ]
        except psycopg.Error as error:
            raise DatabaseError(f"{self._database.name}: {_line(error)}") from None

    def close(self) -> None:
        """Stop listening by closing the connection."""
        close_own(self._connection)


def driver_of(connection: Connection) -> Any:
    """Return psycopg's connection below one of SQLAlchemy."""
    return connection.connection.dbapi_connection


def close_own(connection: Connection) -> None:
    """Close a connection outside of the pool, without waiting for a server that may be down."""
    if not connection.invalidated:
        driver_of(connection).close()
        connection.invalidate()
    connection.close()


def _line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _alembic() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "cfnode.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return config
