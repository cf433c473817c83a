"""Requests between two nodes over TCP."""

from __future__ import annotations

import pytest
import trio

from cfnode.network.interface import RequestFailed, RequestLimits
from cfnode.network.transport import DialError
from tests.network.conftest import address_of, key, running, service
from tests.support.network.requests import shout
from tests.support.waiting import until

LIMITS = RequestLimits(request=1 << 20, response=32 << 20, timeout=10.0)


async def test_a_request_is_answered_and_the_answer_can_be_large() -> None:
    """Answer a request, an empty one and one with a large answer."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout, LIMITS)
    client.serve_requests("sync/2", None, LIMITS)
    async with running(server, client):
        peer = await client.connect(address_of(server))
        assert peer == server.peer_id
        assert await client.request(peer, "sync/2", b"hello") == b"HELLO"
        assert await client.request(peer, "sync/2", b"") == b""
        large = b"x" * (1 << 20)
        assert await client.request(peer, "sync/2", large) == b"X" * (1 << 20)
        assert client.bytes_sent > 1 << 20 < client.bytes_received


async def test_many_requests_at_once_get_their_own_answers() -> None:
    """Give fifty concurrent requests their own answers."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout, RequestLimits(concurrent=100))
    client.serve_requests("sync/2", None)
    answers: dict[int, bytes] = {}

    async def one(number: int) -> None:
        answers[number] = await client.request(server.peer_id, "sync/2", b"n%d" % number)

    async with running(server, client):
        await client.connect(address_of(server))
        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(one, number)
    assert answers == {number: b"N%d" % number for number in range(50)}


async def test_a_failing_request_does_not_end_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Keep the connection when a request fails on either side, and log a fault of our own."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout, RequestLimits(request=10))
    client.serve_requests("sync/2", None)
    client.serve_requests("state/2", None)
    async with running(server, client):
        peer = await client.connect(address_of(server))
        for request, reason in ((b"refuse", "reset"), (b"fail", "reset"), (b"x" * 11, "reset")):
            with pytest.raises(RequestFailed, match=reason):
                await client.request(peer, "sync/2", request)
        with pytest.raises(RequestFailed, match="refused"):
            await client.request(peer, "state/2", b"")
        assert await client.request(peer, "sync/2", b"hello") == b"HELLO"
    assert "a fault of ours" in caplog.text


async def test_an_answer_over_our_limit_is_not_read() -> None:
    """Read no answer over our limit."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout, LIMITS)
    client.serve_requests("sync/2", None, RequestLimits(response=10))
    async with running(server, client):
        peer = await client.connect(address_of(server))
        with pytest.raises(RequestFailed, match="11 bytes, 10 are allowed"):
            await client.request(peer, "sync/2", b"x" * 11)


async def test_a_request_to_a_silent_peer_times_out() -> None:
    """Time out a request to a silent peer, and fail one to a peer that is not connected."""

    async def silent(peer: str, data: bytes) -> bytes | None:
        await trio.sleep_forever()

    server, client = service(1), service(2)
    server.serve_requests("sync/2", silent)
    client.serve_requests("sync/2", None)
    async with running(server, client):
        peer = await client.connect(address_of(server))
        with pytest.raises(RequestFailed, match=r"within 0\.05 s"):
            await client.request(peer, "sync/2", b"", seconds=0.05)
        with pytest.raises(RequestFailed, match="not connected"):
            await client.request(key(9).public.hex(), "sync/2", b"")


async def test_pending_requests_fail_when_the_peer_disconnects() -> None:
    """Fail pending requests when the peer disconnects."""

    async def never(peer: str, data: bytes) -> bytes | None:
        server.disconnect(peer, "enough")
        await trio.sleep_forever()

    server, client = service(1), service(2)
    server.serve_requests("sync/2", never)
    client.serve_requests("sync/2", None)
    async with running(server, client):
        peer = await client.connect(address_of(server))
        with pytest.raises(RequestFailed, match="sent GoAway"):
            await client.request(peer, "sync/2", b"")
        await until(lambda: not client.peers and not server.peers)


async def test_the_error_names_a_node_with_another_id_than_its_address() -> None:
    """Name both ids in the error for a node with another id, and refuse to dial this node itself."""
    server, client = service(1), service(2)
    async with running(server, client):
        with pytest.raises(
            DialError, match=f"id is {server.peer_id}, but its address names {service(3).peer_id}"
        ):
            await client.connect(server.listening[0].with_peer(service(3).peer_id))
        with pytest.raises(DialError, match="this node itself"):
            await client.connect(address_of(client))
        assert not client.peers


async def test_both_sides_have_the_identify_message_of_the_other() -> None:
    """Exchange identify messages on both sides."""
    server, client = service(1), service(2)
    async with running(server, client):
        await client.connect(address_of(server))
        await until(lambda: server.peers[client.peer_id].agent and client.peers[server.peer_id].agent)
        assert client.peers[server.peer_id].agent == "node 1"
        assert server.peers[client.peer_id].inbound
        assert "/8b8c140b" in sorted(client.peers[server.peer_id].protocols)[0]


async def test_of_two_connections_with_a_peer_the_newer_stays() -> None:
    """Keep the newer of two connections with a peer."""
    server, client = service(1), service(2)
    server.serve_requests("sync/2", shout)
    client.serve_requests("sync/2", None)
    async with running(server, client):
        for _ in range(2):
            await client.connect(address_of(server))
        assert len(client.peers) == len(server.peers) == 1
        assert await client.request(server.peer_id, "sync/2", b"still") == b"STILL"
