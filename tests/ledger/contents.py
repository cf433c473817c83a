"""Contents of the books' tables: all rows, in the order of their keys."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from cfnode.ledger import schema
from cfnode.ledger.database import Database

__all__ = ["dump", "rows"]


def rows(database: Database, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    table = schema.metadata.tables[name]
    with database.reading() as connection:
        selected = connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
        return [dict(row) for row in selected]


def dump(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Return all tables of facts, without the times at which a gap was noted."""
    tables = {name: rows(database, name) for name in schema.metadata.tables if name != "checks"}
    tables["ledger"] = sorted(
        (row for row in tables["ledger"] if row["name"] != "checked"), key=lambda row: str(row["name"])
    )
    tables["gaps"] = [{"first": gap["first"], "last": gap["last"]} for gap in tables["gaps"]]
    return tables
