"""The fixture that begins a scenario and, when it has been played, looks at what it has come to.

A ledger follows its node meanwhile, into SQLite; with `--all`, others into PostgreSQL, and for one account.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
import trio

from cfnode.ledger.database import Database, sqlite_url
from tests.interop.polkadot import Reader, leaves
from tests.ledger.postgres import Server, is_installed, running_postgres
from tests.lengths import WHOLE, repeats
from tests.rpc.conftest import MakeServed, first_block
from tests.rpc.scenarios.ledger import running_ledgers, the_ledgers_agree
from tests.rpc.scenarios.story import Story
from tests.rpc.scenarios.transcript import Transcript

BEGINNING = 1_700_000_000_000
"""The chain's clock starts at the same time in each run, so that heights and expiries are the same."""
MIGRATED = "migrated"
"""A database with the tables, of which the scenarios' are copies."""
_NUMBERS = count(1)


@pytest.fixture(scope="session")
def server_of_books() -> Iterator[Server | None]:
    """Yield a PostgreSQL server, with `--all`; None without one, which a test of its own reports."""
    if WHOLE not in os.environ or not is_installed():
        yield None
        return
    with running_postgres() as server:
        database = Database(server.new_database(MIGRATED))
        database.migrate()
        database.close()
        yield server


@pytest.fixture
def databases(tmp_path: Path, server_of_books: Server | None) -> Iterator[dict[str, Database]]:
    """Yield new databases: for books of all accounts and, with `--all`, for `own` books of the broker's."""
    names = ("SQLite", "own")[: repeats(2, 1)]
    made = {name: Database(sqlite_url(tmp_path / f"{name}.sqlite")) for name in names}
    if server_of_books is not None:
        made["PostgreSQL"] = Database(server_of_books.new_database(f"story{next(_NUMBERS)}", MIGRATED))
    yield made
    for database in made.values():
        database.close()


@pytest.fixture
async def story(
    make_served: MakeServed,
    request: pytest.FixtureRequest,
    polkadot: Reader | None,
    databases: dict[str, Database],
) -> AsyncIterator[Story]:
    """Yield the story of a chain whose roles are registered, followed by all books."""
    served = await first_block(await make_served(seal="instant", start_time=BEGINNING))
    await served.call("broker_register_account")
    chain = served.node.chain
    metadata = (await chain.runtime_at(chain.best.hash)).metadata
    played = Story(served, metadata, Transcript(request.node.name))
    async with running_ledgers(served, played.broker, databases) as ledgers:
        yield played
        await played.look()
        if not played.closed:
            pytest.fail(
                "the scenario did not come to its end, where it states whose the money is", pytrace=False
            )
        assert await played.balances()
        await the_ledgers_agree(played, ledgers)
    if polkadot is not None:
        await agree(polkadot, played)
    played.transcript.compare()


async def agree(reader: Reader, story: Story) -> None:
    """Check that @polkadot/api decodes each event of the story from the stored bytes, by the metadata."""
    metadata = await story.served.call("state_getMetadata")
    blocks = [data for data, _ in story.events]
    with trio.fail_after(120):
        read = await trio.to_thread.run_sync(reader.read, metadata, blocks, abandon_on_cancel=True)
    for (_, ours), theirs in zip(story.events, read, strict=True):
        assert [name for name, _ in ours] == [name for name, _ in theirs]
        for (name, mine), (_, fields) in zip(ours, theirs, strict=True):
            assert leaves(mine) == leaves(fields), name
