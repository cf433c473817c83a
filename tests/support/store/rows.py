"""Single rows of a database."""

from __future__ import annotations

from cfnode.store.database import LmdbDatabase


def put(database: LmdbDatabase, key: bytes, value: bytes) -> None:
    """Store a value in a table."""
    database.write(lambda txn: txn.put(key, value, db=database.table("bodies")))


def get(database: LmdbDatabase, key: bytes) -> bytes | None:
    """Return a value of a table."""
    with database.read() as txn:
        value: bytes | None = txn.get(key, db=database.table("bodies"))
        return value
