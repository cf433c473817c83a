"""Engines of SQLAlchemy for SQLite and PostgreSQL, by URL, with the settings of each connection."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cfnode.ledger.errors import BrokenBooks, MissingLibrary

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["FULL", "KEEPALIVE", "NORMAL", "TCP_TIMEOUT_MS", "create_file", "engine_of", "sqlite_url"]

KEEPALIVE = {"idle": 2, "interval": 2, "count": 2}
"""TCP keepalives of both sides of a connection: seconds until the first probe and between probes, and how
many probes may stay without an answer."""
TCP_TIMEOUT_MS = 6_000
"""Milliseconds after which a side that no longer answers counts as disconnected, the keepalives' time."""
DATABASE_CONNECT_TIMEOUT_S = 10
POOL, FURTHER = 8, 12
"""Connections that stay open once they were needed, as many as a service reads with at a time; and further
connections, which are closed after use."""
BUSY_TIMEOUT_MS = 30_000
"""Milliseconds to wait for another process that writes to the same SQLite file."""
SQLITE_CACHE_KIB = 512
"""KiB of pages that each connection to SQLite keeps. The system keeps the file's pages for all of them."""
NORMAL, FULL = "NORMAL", "FULL"
"""SQLite's modes of `synchronous`: a commit leaves the log to the system, or waits until it is on disk."""


def sqlite_url(path: Path) -> str:
    """Return the URL of an SQLite file."""
    return f"sqlite:///{path}"


def engine_of(url: str) -> Engine:
    """Return the engine of a database; it opens no connection yet.

    Raises MissingLibrary, or BrokenBooks for a malformed URL.
    """
    try:
        import alembic  # noqa: F401  # is it installed?
        from sqlalchemy import create_engine, event
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
        from sqlalchemy.pool import QueuePool
    except ImportError as error:
        raise MissingLibrary(f"the ledger needs {error.name}: pip install 'cfnode[ledger]'") from None
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BrokenBooks(f"not the URL of a database: {_scheme(url)}…; {_EXAMPLES}") from None
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise BrokenBooks(f"the books need a file: {_EXAMPLES}")
        # The connection stays open: with the last one to close, SQLite writes its whole log into the file.
        engine = create_engine(
            parsed.set(drivername="sqlite"),
            poolclass=QueuePool,
            pool_size=POOL,
            max_overflow=FURTHER,
            connect_args={"check_same_thread": False},
        )
        event.listen(engine, "do_connect", _only_existing)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if kind in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: F401  # is it installed?
        except ImportError:
            raise MissingLibrary("PostgreSQL needs psycopg: pip install 'cfnode[postgres]'") from None
        parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(
            parsed,
            pool_size=POOL,
            max_overflow=FURTHER,
            pool_pre_ping=True,
            connect_args=_client_settings(parsed.query),
        )
        event.listen(engine, "connect", _set_up_postgres)
        return engine
    raise BrokenBooks(f"unknown database {kind!r}: {_EXAMPLES}")


_EXAMPLES = "write sqlite:///books.sqlite, or postgresql://user@host/database"


def _scheme(url: str) -> str:
    return url.partition(":")[0][:20]


def _only_existing(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    """Have SQLite open its file only if it exists, as only a migration begins books. Raises BrokenBooks."""
    if not Path(arguments[0]).exists():
        raise BrokenBooks(f"{sqlite_url(Path(arguments[0]))} has no books: `cfnode ledger run` begins them")
    arguments[0] = f"file:{quote(arguments[0])}?mode=rw"
    options["uri"] = True


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says so
    settings = {
        "busy_timeout": BUSY_TIMEOUT_MS,
        "journal_mode": "WAL",
        "synchronous": NORMAL,
        "cache_size": -SQLITE_CACHE_KIB,
    }
    for name, value in settings.items():
        connection.execute(f"PRAGMA {name} = {value}")


def _client_settings(url_settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the settings by which this side gives up a connection; those in the URL are left out."""
    settings = {f"keepalives_{name}": value for name, value in KEEPALIVE.items()}
    settings |= {
        "keepalives": 1,
        "tcp_user_timeout": TCP_TIMEOUT_MS,
        "connect_timeout": DATABASE_CONNECT_TIMEOUT_S,
    }
    return {name: value for name, value in settings.items() if name not in url_settings}


def _set_up_postgres(connection: Any, _record: Any) -> None:
    """Set when the server gives up a connection; the connection's locks are held until then."""
    connection.autocommit = True
    for name, value in KEEPALIVE.items():
        connection.execute(f"SET tcp_keepalives_{name} = {value}")
    connection.execute(f"SET tcp_user_timeout = {TCP_TIMEOUT_MS}")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("cfnode_writes")
    if mode and connection.info.get("synchronous") != mode:
        connection.exec_driver_sql(f"PRAGMA synchronous = {mode}")
        connection.info["synchronous"] = mode
    connection.exec_driver_sql("BEGIN IMMEDIATE" if mode else "BEGIN")


def create_file(path: Path) -> None:
    """Create an SQLite file with its folder, unless it exists. Raises BrokenBooks.

    An existing file is not opened: with the end of this opening, other connections of this process would lose
    their locks.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        return
    except OSError as error:
        raise BrokenBooks(f"cannot create {path}: {error.strerror}") from None
