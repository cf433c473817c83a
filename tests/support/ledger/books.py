"""Books that follow a chain to its finalized head, and the URL of a database for another process."""

from __future__ import annotations

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source


def url_of(database: Database) -> str:
    """Return the whole URL, by which another process opens a database; its `name` lacks the query."""
    url = database._engine.url
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False)


async def followed(database: Database, source: Source) -> Database:
    """Return books up to the finalized head, which the chain confirms."""
    outcome = await Follower(source, Books(database)).run(once=True)
    assert outcome is not None
    assert outcome.differences == ()
    return database
