"""The fixture that begins a scenario and, when it has been played, looks at what it has come to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.rpc.conftest import MakeServed, first_block
from tests.rpc.scenarios.books import sums
from tests.rpc.scenarios.story import Story
from tests.rpc.scenarios.transcript import Transcript

BEGINNING = 1_700_000_000_000
"""The chain's clock starts at the same time in each run, so that heights and expiries are the same."""


@pytest.fixture
async def story(make_served: MakeServed, request: pytest.FixtureRequest) -> AsyncIterator[Story]:
    served = await first_block(await make_served(seal="instant", start_time=BEGINNING))
    await served.call("broker_register_account")
    chain = served.node.chain
    metadata = (await chain.runtime_at(chain.best.hash)).metadata
    told = Story(served, metadata, Transcript(request.node.name))
    yield told
    await told.look()
    if not told.closed:
        pytest.fail("the scenario did not come to its end, where it says whose the money is", pytrace=False)
    assert sums(await told.sheet()) == {}
    told.transcript.compare()
