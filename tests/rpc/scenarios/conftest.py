"""The fixture that begins a scenario and, when it has been played, looks at what it has come to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from tests.interop.polkadot import Reader, leaves
from tests.rpc.conftest import MakeServed, first_block
from tests.rpc.scenarios.ledger import the_ledger_agrees
from tests.rpc.scenarios.story import Story
from tests.rpc.scenarios.transcript import Transcript

BEGINNING = 1_700_000_000_000
"""The chain's clock starts at the same time in each run, so that heights and expiries are the same."""


@pytest.fixture
async def story(
    make_served: MakeServed, request: pytest.FixtureRequest, polkadot: Reader | None, tmp_path: Path
) -> AsyncIterator[Story]:
    served = await first_block(await make_served(seal="instant", start_time=BEGINNING))
    await served.call("broker_register_account")
    chain = served.node.chain
    metadata = (await chain.runtime_at(chain.best.hash)).metadata
    played = Story(served, metadata, Transcript(request.node.name))
    yield played
    await played.look()
    if not played.closed:
        pytest.fail("the scenario did not come to its end, where it states whose the money is", pytrace=False)
    assert await played.balances()
    await the_ledger_agrees(played, tmp_path)
    if polkadot is not None:
        await agree(polkadot, played)
    played.transcript.compare()


async def agree(reader: Reader, story: Story) -> None:
    """@polkadot/api decodes each event of the story from the stored bytes, through the node's metadata."""
    metadata = await story.served.call("state_getMetadata")
    blocks = [data for data, _ in story.events]
    with trio.fail_after(120):
        read = await trio.to_thread.run_sync(reader.read, metadata, blocks, abandon_on_cancel=True)
    for (_, ours), theirs in zip(story.events, read, strict=True):
        assert [name for name, _ in ours] == [name for name, _ in theirs]
        for (name, mine), (_, fields) in zip(ours, theirs, strict=True):
            assert leaves(mine) == leaves(fields), name
