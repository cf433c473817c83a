"""A runtime's metadata is fetched once for all requests that need it at once, and so is its fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from cfnode.ledger.errors import NodeError
from cfnode.swap_service.live_network.best_block import NodeReader
from cfnode.swap_service.live_network.link import NodeLink

BLOCK = "0x" + "11" * 32


class SlowLink:
    """The link to a node that fails to answer the question for its metadata, after 25 seconds."""

    origin = "http://node.example"

    def __init__(self) -> None:
        self.metadata_calls = 0

    async def batch(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """Return the answers."""
        known = {"chain_getBlockHash": BLOCK, "state_getRuntimeVersion": {"specVersion": 7}}
        if "state_call" not in dict(calls):
            return [known[method] for method, _ in calls]
        self.metadata_calls += 1
        await trio.sleep(25)
        raise NodeError("the node does not answer")


async def test_five_requests_wait_once_for_metadata_that_a_node_does_not_send(
    autojump_clock: MockClock,
) -> None:
    """Ask once for metadata that five requests need at once; all five get the node's fault, after 25 s."""
    link, failed_at = SlowLink(), list[float]()
    reader = NodeReader(cast(NodeLink, link))

    async def request() -> None:
        with pytest.raises(NodeError, match="does not answer"):
            await reader.best()
        failed_at.append(trio.current_time() - began)

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(request)
    assert failed_at == pytest.approx([25] * 5)
    assert link.metadata_calls == 1
