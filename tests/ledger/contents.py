"""Contents of the books' tables: all rows, in the order of their keys."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from cfnode.ledger import schema
from cfnode.ledger.database import Database

__all__ = ["dump", "rows"]


def rows(database: Database, name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    table = schema.metadata.tables[name]
    with database.reading() as connection:
        found = connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
        return [dict(each) for each in found]


def dump(database: Database) -> dict[str, list[dict[str, Any]]]:
    """All tables of facts, without the times at which a gap was noted."""
    found = {name: rows(database, name) for name in schema.metadata.tables if name != "checks"}
    found["ledger"] = sorted(
        (each for each in found["ledger"] if each["name"] != "checked"), key=lambda each: str(each["name"])
    )
    found["gaps"] = [{"first": gap["first"], "last": gap["last"]} for gap in found["gaps"]]
    return found
