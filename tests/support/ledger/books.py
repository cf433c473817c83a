"""Books that follow a chain to its finalized head."""

from __future__ import annotations

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source


async def followed(database: Database, source: Source) -> Database:
    """Books up to the finalized head, which the chain confirms."""
    outcome = await Follower(source, Books(database)).run(once=True)
    assert outcome is not None
    assert outcome.differences == ()
    return database
