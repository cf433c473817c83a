"""Counters of connections, requests and notifications."""

from __future__ import annotations

import pytest

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.interface import ProtocolOpened, Received, RequestFailed, RequestLimits, RequestTimedOut
from cfnode.network.transport import DialError
from tests.network.conftest import GENESIS, address_of, running, service
from tests.support.network.notifications import Node, next_of
from tests.support.network.requests import shout
from tests.support.waiting import until

SYNC = f"/{GENESIS.hex()}/sync/2"


async def test_requests_are_counted_on_both_sides_with_their_outcome() -> None:
    """Count requests on both sides by outcome."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout)
    client.serve_requests("sync/2", None, RequestLimits(response=10))
    client.serve_requests("state/2", None)
    async with running(server, client):
        peer = await client.connect(address_of(server))
        assert await client.request(peer, "sync/2", b"hello") == b"HELLO"
        for request in (b"refuse", b"x" * 11):
            with pytest.raises(RequestFailed):
                await client.request(peer, "sync/2", request)
        with pytest.raises(RequestTimedOut):
            await client.request(peer, "sync/2", b"hello", seconds=1e-9)
        asked, served = client.traffic.requests[SYNC], server.traffic.requests[SYNC]
        await until(lambda: served.refused == 1 and sum(served.answered.counts) >= 2)
        assert sum(asked.succeeded.counts) == 1
        assert 0 < asked.succeeded.total < 60
        assert asked.failed == {"timeout": 1, "refused": 1, "protocol-error": 1}
        assert sum(client.traffic.requests[SYNC.replace("sync", "state")].succeeded.counts) == 0


async def test_notifications_are_counted_by_size_and_direction() -> None:
    """Count notifications by size and direction, and protocols as opened and closed."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        await two.service.connect(address_of(one.service))
        assert isinstance(await next_of(one.announces), ProtocolOpened)
        await next_of(two.announces)
        for size in (1, 64, 65, 5_000):
            assert two.announces.send(one.id, b"x" * size)
            assert await next_of(one.announces) == Received(two.id, b"x" * size)
        received, sent = one.announces.traffic.received, two.announces.traffic.sent
        await until(lambda: sum(sent.counts) == 4)
        assert received.limits[:3] == (64, 256, 1024)
        assert received.counts == sent.counts == [2, 1, 0, 0, 1, 0, 0, 0, 0]
        assert received.total == sent.total == 5_130
        assert sum(one.announces.traffic.sent.counts) == 0
        assert (one.announces.traffic.opened, one.announces.traffic.closed) == (1, 0)
        two.service.disconnect(one.id, "a reason of ours")
        await until(lambda: one.announces.traffic.closed == two.announces.traffic.closed == 1)


async def test_connections_are_counted_with_the_reason_of_their_end() -> None:
    """Count connections by the reason of their end, and failed dials by kind."""
    one, two = service(1), service(2)
    async with running(one, two):
        await two.connect(address_of(one))
        with pytest.raises(DialError):
            await two.connect(address_of(one).with_peer(service(3).peer_id))
        with pytest.raises(DialError):
            await two.connect(Multiaddr.parse("/ip4/127.0.0.1/tcp/1"))
        two.disconnect(one.peer_id, "a reason of ours")
        ours, theirs = two.traffic.connections, one.traffic.connections
        await until(lambda: ours.closed["out", "closed-here"] == theirs.closed["in", "transport-error"] == 1)
        assert (ours.opened, theirs.opened) == ({"in": 0, "out": 1}, {"in": 1, "out": 0})
        assert sum(ours.closed.values()) == sum(theirs.closed.values()) == 1
        assert ours.failed_dials == {"transport-error": 2, "denied": 0}
        await until(lambda: theirs.failed_incoming["transport-error"] == 1)
        assert theirs.incoming == 2
