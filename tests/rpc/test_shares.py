"""Connections: what one address may have, who makes way, and what happens without file descriptors."""

from __future__ import annotations

import errno
import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from cfnode.core.ip_addresses import party_of
from cfnode.flow.accept import MIN_WARNING_INTERVAL_S, accept_connections
from cfnode.node.config import RpcConfig
from cfnode.node.metrics.port import serve_metrics
from cfnode.rpc.server import exempt_networks
from cfnode.rpc.substrate.system import METHODS
from cfnode.serving import shares
from cfnode.serving.bounded_stream import BoundedStream
from cfnode.serving.shares import MIN_IDLE_S, SHARE, ConnectionShares
from tests.rpc.clients import Http, WebSocket, served
from tests.support.rpc.connections import call, until_closed
from tests.support.rpc.rows import COUNT
from tests.support.waiting import LIMIT_S


@dataclass
class Stand:
    """A connection that is an address, and idle or not."""

    address: str
    is_idle: bool = True
    is_closed: bool = False
    idle_since: float | None = None
    """Of an HTTP connection; None: a WebSocket, or in use."""
    has_unread: bool = False

    @property
    def party(self) -> str:
        """Whose connection it is."""
        return party_of(self.address)

    def abort(self) -> None:
        """Close it."""
        self.is_closed = True


STRANGER, OTHER = "203.0.113.9", "198.51.100.7"


async def test_an_address_has_its_share_and_no_more() -> None:
    """Give an address its share of the connections, counting an IPv6 network as one client."""
    rule, own = ConnectionShares(100, is_external=True), 100 // SHARE
    assert rule.admit(STRANGER, [Stand(STRANGER)] * (own - 1))
    assert not rule.admit(STRANGER, [Stand(STRANGER)] * own)
    assert rule.admit(OTHER, [Stand(STRANGER)] * own)
    assert not rule.admit("2001:db8::1", [Stand("2001:db8::2")] * own), "the network of one client"
    assert rule.admit("2001:db8:0:1::1", [Stand("2001:db8::2")] * own)


async def test_this_machine_has_nearly_all_connections_of_an_external_port_and_all_of_a_local_one() -> None:
    """Give this machine nearly all connections of an external port, and all of a local one."""
    external, local = (ConnectionShares(100, is_external=is_external) for is_external in (True, False))
    for own in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert external.admit(own, [Stand(own)] * 89)
        assert not external.admit(own, [Stand(own)] * 90)
        assert external.admit(STRANGER, [Stand(own)] * 90)
        assert local.admit(own, [Stand(own)] * 99)
        assert not local.admit(own, [Stand(own)] * 100), "there is no place for any address"


@pytest.mark.parametrize("flag", ["rate_limit_whitelist", "trusted_proxies"])
async def test_a_proxy_that_is_whitelisted_or_trusted_may_have_all(flag: Any) -> None:
    """Give a whitelisted or trusted proxy all connections."""
    config = RpcConfig(max_connections=8, **{flag: ("203.0.113.0/24",)})
    rule = ConnectionShares(8, is_external=True, exempt=exempt_networks(config))
    assert rule.admit(STRANGER, [Stand(STRANGER)] * 7)
    assert not rule.admit(OTHER, proxies := [Stand(STRANGER) for _ in range(8)])
    assert not any(proxy.is_closed for proxy in proxies)


async def test_an_idle_http_connection_takes_no_place_and_the_oldest_makes_way(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Close the oldest idle HTTP connection for a new one, but none whose next request may be on its way."""
    await trio.sleep(100)
    now = trio.current_time()
    rule = ConnectionShares(8, is_external=False)
    busy = [Stand(f"192.0.2.{number}", is_idle=False) for number in range(3)]
    idle = [Stand(f"192.0.2.{number}", idle_since=now - 20 + number) for number in range(10, 15)]
    assert rule.admit(STRANGER, [*busy, *idle])
    assert [connection.is_closed for connection in idle] == [True, False, False, False, False]
    fresh = [Stand(f"192.0.2.{number}", idle_since=now - MIN_IDLE_S / 2) for number in range(20, 25)]
    assert not rule.admit(STRANGER, [*busy, *fresh]), "their next requests may be on the way"
    asking = [Stand(f"192.0.2.{number}", idle_since=now - 9, has_unread=True) for number in range(30, 35)]
    assert not rule.admit(STRANGER, [*busy, *asking]), "their next requests have come"
    several = [Stand(OTHER, idle_since=now - 5), Stand(OTHER, idle_since=now - 6)]
    assert rule.admit(STRANGER, [*busy, *fresh[:2], *several, Stand("192.0.2.99", idle_since=now - 90)])
    assert [connection.is_closed for connection in several] == [False, True], (
        "of the address with most, the oldest"
    )


async def test_an_address_with_its_share_loses_an_idle_connection_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Close an idle connection of an address's own when it has its share."""
    await trio.sleep(100)
    rule = ConnectionShares(8, is_external=False)
    other, own = Stand(OTHER, idle_since=1.0), Stand(STRANGER, idle_since=2.0)
    assert rule.admit(STRANGER, [other, own, Stand(STRANGER)])
    assert (other.is_closed, own.is_closed) == (False, True)
    assert not rule.admit(STRANGER, [other, Stand(STRANGER), Stand(STRANGER)])


async def test_an_idle_connection_of_the_address_with_most_is_closed_for_a_new_one() -> None:
    """Close an idle connection of the address with most for one that has fewer."""
    rule = ConnectionShares(8, is_external=False)
    few = [Stand(f"192.0.2.{number}") for number in range(5)]
    many = [Stand(OTHER, is_idle=False), Stand(OTHER), Stand(OTHER)]
    assert rule.admit(STRANGER, [*few, *many])
    assert [connection.is_closed for connection in many] == [False, True, False]
    assert not any(connection.is_closed for connection in few)
    busy = [Stand(OTHER, is_idle=False) for _ in range(3)]
    assert not rule.admit(STRANGER, [*few, *busy])
    single = [Stand(f"192.0.2.{number}") for number in range(8)]
    assert not rule.admit(STRANGER, single), "no client has more than the newcomer would"


async def connect(host: str, port: int) -> trio.SocketStream:
    """Return a connection from that address of loopback."""
    sock = trio.socket.socket()
    await sock.bind((host, 0))
    await sock.connect(("127.0.0.1", port))
    return trio.SocketStream(sock)


async def test_the_server_keeps_to_shares_and_closes_idle_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keep to shares over real connections, and close one idle connection for a newcomer."""
    monkeypatch.setattr(ConnectionShares, "_is_exempt", lambda self, address: address == "127.0.0.1")
    monkeypatch.setattr(shares, "SHARE", 2)
    health = call("system_health")
    async with served([*METHODS, COUNT], max_connections=6) as port, WebSocket(port) as local:
        assert "result" in await local.call("test_subscribeCount", 0)
        async with trio.open_nursery() as nursery:
            streams = [await connect("127.0.0.2", port) for _ in range(3)]
            clients = [Http(port) for _ in streams]
            for client, stream in zip(clients, streams, strict=True):
                client.stream = stream
                assert (await client.post(health)).status == 200
            over = Http(port)
            over.stream = await connect("127.0.0.2", port)
            assert (await over.post(health)).status == 429
            others = [Http(port) for _ in range(3)]
            for number, other in enumerate(others, 3):
                host = f"127.0.0.{number}"
                other.stream = await connect(host, port)
                assert (await other.post(health)).status == 200
            with trio.fail_after(LIMIT_S):
                closed = [client.stream for client in clients]
                done: list[int] = []
                for number, stream in enumerate(closed):
                    nursery.start_soon(_note_end, stream, number, done)
                await trio.testing.wait_all_tasks_blocked(0.2)
            assert len(done) == 1
            assert "result" in await local.call("system_health")
            nursery.cancel_scope.cancel()


async def _note_end(stream: trio.SocketStream, number: int, done: list[int]) -> None:
    await until_closed(stream)
    done.append(number)


class Exhausted:
    """A listener without file descriptors for its first attempts."""

    def __init__(self, failures: int, stream: object) -> None:
        self.failures, self._stream = failures, stream

    async def accept(self) -> object:
        """Fail, and then give one stream."""
        await trio.lowlevel.checkpoint()
        self.failures -= 1
        if self.failures >= 0:
            raise OSError(errno.EMFILE, "Too many open files")
        if self.failures == -1:
            return self._stream
        await trio.sleep_forever()
        raise AssertionError

    async def __aenter__(self) -> None:
        """Open nothing: the listener is made up."""

    async def __aexit__(self, *error: object) -> None:
        """Close nothing."""
        await trio.lowlevel.checkpoint()


async def test_without_file_descriptors_a_warning_is_logged_once_a_minute_and_accepting_continues(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log once a minute that connections wait for file descriptors, and accept again afterwards."""
    accepted: list[object] = []
    log = logging.getLogger("cfnode.rpc")

    async def take(stream: object) -> None:
        accepted.append(stream)

    attempts = int(2.5 * MIN_WARNING_INTERVAL_S / 0.1)
    async with trio.open_nursery() as nursery:
        listener: list[trio.SocketListener] = [Exhausted(attempts, "stream")]  # type: ignore[list-item]
        nursery.start_soon(accept_connections, take, listener, nursery, log, "JSON-RPC")
        await trio.sleep(3 * MIN_WARNING_INTERVAL_S)
        nursery.cancel_scope.cancel()
    assert accepted == ["stream"]
    words = [record for record in caplog.records if "have to wait" in record.getMessage()]
    assert len(words) == 3
    assert "JSON-RPC connections have to wait: Too many open files. Raise the limit" in words[0].getMessage()
    assert not any(record.exc_info for record in caplog.records)


async def test_the_metrics_port_is_served_by_the_same_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the metrics port by the same loop."""

    async def render() -> bytes:
        return b"up 1\n"

    async with trio.open_nursery() as nursery:
        port = await nursery.start(partial(serve_metrics, render, "127.0.0.1", 0))
        async with Http(port) as http:
            assert (await http.request("GET", "/metrics")).body == b"up 1\n"
        nursery.cancel_scope.cancel()
    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream("127.0.0.1", port)


async def test_idle_clients_keep_no_other_out(mock_clock: trio.testing.MockClock) -> None:
    """Close idle clients for new ones, oldest use first, and none that was used a moment ago."""
    mock_clock.rate = 1  # the server's end takes some time
    health = call("system_health")
    async with served([*METHODS, COUNT], max_connections=4) as port, WebSocket(port) as busy:
        assert "result" in await busy.call("test_subscribeCount", 0)
        idle = [Http(port) for _ in range(3)]
        for client in idle:
            await client.__aenter__()
            assert (await client.post(health)).status == 200
        mock_clock.jump(MIN_IDLE_S + 0.1)
        assert (await idle[0].post(health)).status == 200, "used again: the newest of the three"
        async with Http(port) as one, Http(port) as two, Http(port) as three:
            assert [(await client.post(health)).status for client in (one, two)] == [200, 200]
            with trio.fail_after(5):
                for client in idle[1:]:
                    assert await until_closed(client.stream) == b""
            assert (await three.post(health)).status == 429, "the others were in use a moment ago"
        assert (await idle[0].post(health)).status == 200
        assert "result" in await busy.call("system_health")
        await trio.aclose_forcefully(idle[0].stream)


async def test_a_request_on_the_way_keeps_an_idle_connection_its_place() -> None:
    """Keep the place of an idle connection whose next request has arrived."""
    async with served(METHODS) as port, Http(port) as http:
        assert (await http.post(call("system_health"))).status == 200
        bounded = BoundedStream(http.stream, lambda: None)
        assert not bounded.has_unread
        body = b'{"jsonrpc":"2.0","id":1,"method":"system_health"}'
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        await http.stream.send_all(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        with trio.fail_after(LIMIT_S):
            await trio.lowlevel.wait_readable(http.stream.socket)
        assert bounded.has_unread
        assert (await http.answer()).status == 200
        assert not bounded.has_unread
