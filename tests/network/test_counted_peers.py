"""Counting the peers costs as much for each peer, however many there are."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from cfnode.network.notifications import _Link
from tests.network.conftest import address_of, running
from tests.support.network.notifications import Node
from tests.support.waiting import until

PEERS = 8


async def test_counting_and_listing_peers_look_at_each_peer_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Count and list peers with a few looks at each: a look at all for each would grow as the square."""
    hub, others = Node(1), [Node(number) for number in range(2, 2 + PEERS)]
    looks = 0

    def announced(link: _Link) -> bool:
        nonlocal looks
        looks += 1
        return link.since is not None

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(hub.service, *(other.service for other in others)))
        for other in others:
            await other.service.connect(address_of(hub.service))
        await until(lambda: len(hub.grandpa.peers) == PEERS)
        with monkeypatch.context() as patched:
            patched.setattr(_Link, "announced", property(announced))
            assert hub.service.peer_count == PEERS
            assert looks == PEERS
            looks = 0
            listed = hub.service.peers
            assert looks <= 3 * PEERS
        assert all(peer.is_peer and peer.handshake for peer in listed.values())
