"""Key with which a service signs what browsers keep: one random key in the books.

All processes that share the books have this key, so a session that one process has begun is valid at each.
"""

from __future__ import annotations

import secrets
from typing import Final

from sqlalchemy import insert, select

from cfnode.ledger import schema
from cfnode.ledger.database import Database

__all__ = ["service_key"]

_NAME: Final = "service_key"


def service_key(database: Database) -> bytes:
    """Return the key of 32 bytes, which the first call creates. Blocks. Raises LedgerError."""
    table = schema.ledger.c
    query = select(table.value).where(table.name == _NAME)
    with database.reading() as connection:
        value = connection.execute(query).scalar()
    if value is None:
        database.make_private()
        with database.writing() as connection:
            value = connection.execute(query).scalar()
            if value is None:
                value = secrets.token_hex(32)
                connection.execute(insert(schema.ledger), {"name": _NAME, "value": value})
    return bytes.fromhex(value)
