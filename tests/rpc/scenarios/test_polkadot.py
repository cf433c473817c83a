"""The second reader of each scenario's events is there, and would say so if it read something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.polkadot import Reader
from tests.rpc.conftest import Served
from tests.rpc.scenarios.conftest import agree
from tests.rpc.scenarios.story import Story
from tests.rpc.scenarios.transcript import Transcript


async def test_polkadot_api_notices_what_is_read_otherwise(
    instant: Served, node_modules: Path, polkadot: Reader
) -> None:
    """Notice an event that polkadot-api reads otherwise."""
    await instant.call("broker_register_account")
    chain = instant.node.chain
    story = Story(instant, (await chain.runtime_at(chain.best.hash)).metadata, Transcript("none"))
    story.read_to = 0
    await story.new_events()
    await agree(polkadot, story)
    data, events = story.events.pop()
    name, fields = events[-1]
    story.events.append((data, [*events[:-1], (name, {"other": fields})]))
    with pytest.raises(AssertionError, match=name):
        await agree(polkadot, story)
