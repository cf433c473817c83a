"""Single rows of a database."""

from __future__ import annotations

from cfnode.store.database import Database


def put(database: Database, key: bytes, value: bytes) -> None:
    database.write(lambda txn: txn.put(key, value, db=database.table("bodies")))


def get(database: Database, key: bytes) -> bytes | None:
    with database.read() as txn:
        value: bytes | None = txn.get(key, db=database.table("bodies"))
        return value
