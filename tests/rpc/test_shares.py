"""Connections: what one address may have, who makes way, and what happens without file descriptors."""

from __future__ import annotations

import errno
import logging
from dataclasses import dataclass
from functools import partial

import pytest
import trio
import trio.testing

from cfnode.network.accept import MIN_WARNING_INTERVAL_S, accept_connections
from cfnode.node.config import RpcConfig
from cfnode.node.metrics_port import serve_metrics
from cfnode.rpc import shares
from cfnode.rpc.shares import SHARE, Shares
from cfnode.rpc.system import METHODS
from tests.rpc.clients import Http, WebSocket, served
from tests.rpc.test_http import call
from tests.rpc.test_reliability import until_closed
from tests.rpc.test_websocket import COUNT


@dataclass
class Stand:
    """A connection that is an address, and idle or not."""

    address: str
    is_idle: bool = True
    is_closed: bool = False

    def abort(self) -> None:
        """Close it."""
        self.is_closed = True


STRANGER, OTHER = "203.0.113.9", "198.51.100.7"


def test_an_address_has_its_share_and_no_more() -> None:
    rule, own = Shares(RpcConfig(max_connections=100)), 100 // SHARE
    assert rule.admit(STRANGER, [Stand(STRANGER)] * (own - 1))
    assert not rule.admit(STRANGER, [Stand(STRANGER)] * own)
    assert rule.admit(OTHER, [Stand(STRANGER)] * own)
    assert rule.admit("127.0.0.1", [Stand("127.0.0.1")] * 99)
    assert rule.admit("::ffff:127.0.0.1", [Stand("::ffff:127.0.0.1")] * 99)
    assert not rule.admit("127.0.0.1", [Stand("127.0.0.1")] * 100), "there is no place for anybody"


def test_a_proxy_that_is_whitelisted_may_have_all() -> None:
    rule = Shares(RpcConfig(max_connections=8, rate_limit_whitelist=("203.0.113.0/24",)))
    assert rule.admit(STRANGER, [Stand(STRANGER)] * 7)
    assert not rule.admit(OTHER, proxies := [Stand(STRANGER) for _ in range(8)])
    assert not any(each.is_closed for each in proxies)


def test_an_idle_connection_of_the_address_with_most_is_closed_for_a_new_one() -> None:
    rule = Shares(RpcConfig(max_connections=8))
    few = [Stand(f"192.0.2.{number}") for number in range(5)]
    many = [Stand(OTHER, is_idle=False), Stand(OTHER), Stand(OTHER)]
    assert rule.admit(STRANGER, [*few, *many])
    assert [each.is_closed for each in many] == [False, True, False]
    assert not any(each.is_closed for each in few)
    busy = [Stand(OTHER, is_idle=False) for _ in range(3)]
    assert not rule.admit(STRANGER, [*few, *busy])
    single = [Stand(f"192.0.2.{number}") for number in range(8)]
    assert not rule.admit(STRANGER, single), "no client has more than the newcomer would"


async def connect(host: str, port: int) -> trio.SocketStream:
    """A connection from that address of loopback."""
    sock = trio.socket.socket()
    await sock.bind((host, 0))
    await sock.connect(("127.0.0.1", port))
    return trio.SocketStream(sock)


async def test_the_server_keeps_to_shares_and_closes_idle_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Shares, "_is_exempt", lambda self, address: address == "127.0.0.1")
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
            with trio.fail_after(5):
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
        pass

    async def __aexit__(self, *error: object) -> None:
        await trio.lowlevel.checkpoint()


async def test_without_file_descriptors_a_warning_is_logged_once_a_minute_and_accepting_continues(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
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
    async with trio.open_nursery() as nursery:
        port = await nursery.start(partial(serve_metrics, lambda: b"up 1\n", "127.0.0.1", 0))
        async with Http(port) as http:
            assert (await http.request("GET", "/metrics")).body == b"up 1\n"
        nursery.cancel_scope.cancel()
    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream("127.0.0.1", port)
