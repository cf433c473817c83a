"""Webhooks of a day: what they note, and what is left to deliver."""

from __future__ import annotations

from sqlalchemy import select

from cfnode.ledger.database import Database
from cfnode.ledger.follower import Source
from cfnode.ledger.service_tables import deliveries
from cfnode.ledger.webhooks import registry
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.ledger.books import followed

NOWHERE = "http://127.0.0.1:9/"


async def noted(database: Database, day: Day, *urls: str) -> list[str]:
    """Return books of the day with webhooks from the start; the ids of these."""
    database.migrate()
    endpoints = [registry.add(database, url)[0] for url in urls]
    await followed(database, Source(day.url, first=1))
    return endpoints


def changes(database: Database) -> list[tuple[int, str]]:
    """Return the changes of swaps in the books: swap and state."""
    changed = rows(database, "changes")
    return [(row["request"], row["state"]) for row in changed if row["type"] == "swap.state"]


def by_swap(database: Database) -> dict[int, list[str]]:
    """Return the states of each swap, in their order."""
    states: dict[int, list[str]] = {}
    for request, state in changes(database):
        states.setdefault(request, []).append(state)
    return states


def left(database: Database, webhook: str) -> int:
    """Return how many deliveries of a webhook are left."""
    with database.reading() as connection:
        query = select(deliveries.c.change).where(
            deliveries.c.webhook == webhook, deliveries.c.state == "pending"
        )
        return len(connection.execute(query).all())
