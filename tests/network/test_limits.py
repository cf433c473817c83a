"""Limits of time and memory for one peer, and for all peers together."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress

import pytest
import trio
import trio.testing

from cfnode.core.p2p import kademlia
from cfnode.core.p2p.errors import FloodError, RemoteError
from cfnode.core.p2p.identify import PROTOCOL as IDENTIFY
from cfnode.core.p2p.multistream import Dialer
from cfnode.core.p2p.noise import NoiseHandshake
from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.core.p2p.yamux.budget import FRAMES_PER_TURN, MAX_FRAME_CREDIT
from cfnode.core.p2p.yamux.frames import ACK, PING
from cfnode.core.p2p.yamux.frames import FRAME_HEADER as FRAME
from cfnode.core.peer_id import peer_id
from cfnode.flow.rate import Rate
from cfnode.network import buffers
from cfnode.network.buffers import Buffers
from cfnode.network.connection import PeerConnection
from cfnode.network.exchange import (
    MAX_UNREAD,
    PINGS_AT_ONCE,
    PINGS_PER_SECOND,
    ServedProtocol,
    accept_protocol,
    answer_pings,
    ask,
    propose,
)
from cfnode.network.exchange import PING as PING_PROTOCOL
from cfnode.network.identify import IDENTIFY_RATE
from cfnode.network.interface import RequestFailed, RequestLimits
from cfnode.network.service import KAD_RATE
from cfnode.network.substream import Substream
from cfnode.network.upgrade import upgrade
from tests.network.conftest import address_of, key, running, service
from tests.support.network.connections import both, ignore
from tests.support.network.hostile import ended, frames, secured, victim
from tests.support.network.requests import echo, serving
from tests.support.network.websockets import both_ends
from tests.support.waiting import until

# Sums over all connections


async def test_the_peer_with_most_unread_data_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Disconnect the peer with most unread data when the sum of all exceeds its limit."""
    monkeypatch.setattr(buffers, "MAX_UNREQUESTED_BYTES", 600_000)
    closed: list[object] = []

    def close_holder(holder: object) -> None:
        assert isinstance(holder, PeerConnection)
        if not holder.end_reason:
            closed.append(holder)
            holder.close("too much unread data")

    sums = Buffers(close_holder)
    async with (
        both(ignore, sums) as (modest, kept),
        both(ignore, sums) as (greedy, dropped),
        modest.substream() as one,
        greedy.substream() as two,
        greedy.substream() as three,
    ):
        await one.send_all(bytes(200_000))
        await trio.testing.wait_all_tasks_blocked()
        assert sums.unrequested == sums.total == 200_000
        await two.send_all(bytes(250_000))
        await three.send_all(bytes(250_000))
        await dropped.ended.wait()
        assert closed == [dropped]
        assert not kept.end_reason
        assert sums.unrequested == 200_000


async def request_without_reading(
    caller: PeerConnection, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Send a request, and never read its answer."""
    async with caller.substream() as substream:
        await propose(substream, "/echo", framed(b"x"))
        task_status.started()
        await trio.sleep_forever()


async def test_unread_answers_are_bounded_over_all_peers(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Bound unread answers over all peers, and free their memory when their time is up."""
    monkeypatch.setattr(buffers, "MAX_UNREAD_ANSWER_BYTES", 1_200_000)
    sums = Buffers()

    async def large(peer: str, data: bytes) -> bytes | None:
        return bytes(500_000)

    async with (
        both(serving(ServedProtocol(large, RequestLimits())), sums) as (caller, _),
        trio.open_nursery() as nursery,
    ):
        for _ in range(2):
            await nursery.start(request_without_reading, caller)
        await trio.testing.wait_all_tasks_blocked()
        assert sums.answers == 2 * len(framed(bytes(500_000)))
        with pytest.raises(RequestFailed):
            await ask(caller, "/echo", b"x", RequestLimits(), 5)
        await trio.sleep(30)  # the time in which an answer has to be read is over
        assert sums.answers == 0
        assert len(await ask(caller, "/echo", b"x", RequestLimits(), 5)) == 500_000
        nursery.cancel_scope.cancel()


async def test_a_peer_with_unread_answers_is_disconnected_for_one_with_few_requests(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Disconnect the peer with unread answers for one that asks for little."""
    monkeypatch.setattr(buffers, "MAX_UNREAD_ANSWER_BYTES", 1_200_000)
    sums = Buffers(lambda holder: holder.close("unread") if isinstance(holder, PeerConnection) else None)

    async def large(peer: str, data: bytes) -> bytes | None:
        return bytes(500_000)

    served = ServedProtocol(large, RequestLimits())
    async with (
        both(serving(served), sums) as (greedy, dropped),
        both(serving(served), sums) as (modest, kept),
        trio.open_nursery() as nursery,
    ):
        for _ in range(2):
            await nursery.start(request_without_reading, greedy)
        await trio.testing.wait_all_tasks_blocked()
        assert len(await ask(modest, "/echo", b"x", RequestLimits(), 5)) == 500_000
        assert dropped.end_reason == "unread"
        assert not kept.end_reason
        nursery.cancel_scope.cancel()


async def test_incomplete_requests_take_no_slot(autojump_clock: trio.testing.MockClock) -> None:
    """Three peers send a length and a byte as often as allowed; an honest one is answered each time."""
    served, sums = ServedProtocol(echo, RequestLimits()), Buffers()
    async with AsyncExitStack() as stack:
        honest, _ = await stack.enter_async_context(both(serving(served), sums))
        for number in (11, 12, 13):
            liar = both(serving(served), sums, number=number)
            caller, _ = await stack.enter_async_context(liar)
            for _ in range(MAX_UNREAD + 5):
                substream = await stack.enter_async_context(caller.substream())
                await propose(substream, "/echo", framed(bytes(1000))[:3])
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(served._unfinished.values()) == [100, 100, 100]
        for _ in range(20):
            assert await ask(honest, "/echo", b"x", RequestLimits(), 1) == b"x" * 1000


async def test_requests_that_arrive_slowly_are_all_answered(autojump_clock: trio.testing.MockClock) -> None:
    """A hundred begin together, and each sends its last bytes a second later."""
    served, answers = ServedProtocol(echo, RequestLimits(concurrent=200)), list[bytes]()

    async def slowly(caller: PeerConnection) -> None:
        async with caller.substream() as substream:
            whole, frames = framed(b"x"), Frames(2_000)
            frames.feed(await propose(substream, "/echo", whole[:1]))
            await trio.sleep(1)
            await substream.send_all(whole[1:])
            substream.finish()
            answers.append(await substream.receive_frame(frames) or b"")

    async with both(serving(served)) as (caller, _), trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(slowly, caller)
    assert answers == [b"x" * 1000] * 100


async def test_pings_are_answered_no_faster_than_their_rate(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Answer pings no faster than their rate."""

    async def serve(connection: PeerConnection, substream: Substream) -> None:
        _, first = await accept_protocol(substream, {PING_PROTOCOL})
        await answer_pings(substream, first, Rate(PINGS_PER_SECOND, PINGS_AT_ONCE))

    async with both(serve) as (caller, _), caller.substream() as substream:
        await propose(substream, PING_PROTOCOL)
        began, echoed = trio.current_time(), 0
        await substream.send_all(bytes(32) * 200)
        while echoed < 200 * 32:
            echoed += len(await substream.receive())
        assert trio.current_time() - began == pytest.approx((200 - PINGS_AT_ONCE) / PINGS_PER_SECOND, abs=0.1)


async def test_a_handshake_that_does_not_end_is_cut_off(autojump_clock: trio.testing.MockClock) -> None:
    """Empty messages inside the secured channel, before yamux is agreed on."""
    left, right = trio.testing.memory_stream_pair()

    async def never_end() -> None:
        outer = Dialer(["/noise"])
        await left.send_all(outer.bytes_to_send())
        while outer.chosen is None:
            outer.receive_data(bytes(await left.receive_some(4096)))
        shake = NoiseHandshake(key(1), dialer=True, static=bytes(31) + b"\1", ephemeral=bytes(31) + b"\2")
        while not shake.finished:
            await left.send_all(shake.bytes_to_send())
            shake.receive_data(bytes(await left.receive_some(4096)))
        await left.send_all(shake.bytes_to_send())
        channel = shake.channel()
        for _ in range(1000):
            await left.send_all(b"".join(channel.seal(b"") for _ in range(100)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(never_end)
        with pytest.raises(RemoteError, match="not secured within 65536 bytes"):
            await upgrade(right, key(2), dialer=False)
        nursery.cancel_scope.cancel()


# Floods over real connections


async def test_a_flood_of_frames_costs_a_third_of_a_ban_and_the_log_warns_of_a_reserved_node(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Charge a flood of frames a third of a ban, and warn only where the node is reserved."""
    flood = FRAME.pack(0, PING, ACK, 0, 1) * 4000
    for reserved in (False, True):
        node = victim()
        if reserved:
            node._reserved.add(peer_id(key(66).public))
        async with running(node):
            for _ in range(3):
                stream, peer = await secured(node)
                await frames(peer.channel, stream, flood)
                await ended(stream)
                await until(lambda node=node: not node.peers)
            assert node._peer_store.banned(peer_id(key(66).public), trio.current_time()) is not reserved
            assert node.bans == (0 if reserved else 1)
            warned = [record for record in caplog.records if "reserved node" in record.getMessage()]
            assert len(warned) == reserved


async def test_identify_and_kademlia_requests_beyond_their_rates_are_refused() -> None:
    """Refuse identify and Kademlia requests beyond their rates."""
    node, asking = victim(), service(2)
    async with running(node, asking):
        await asking.connect(address_of(node))
        await until(lambda: asking._connections.peers[node.peer_id].about)
        connection = asking._connections.peers[node.peer_id].connection
        answers = dict.fromkeys((IDENTIFY, asking._settings.protocol("kad")), 0)
        for name in answers:
            request = None if name == IDENTIFY else kademlia.query(bytes(32))
            with suppress(RequestFailed):
                for _ in range(100):
                    await ask(connection, name, request, RequestLimits(window=256 << 10), 5)
                    answers[name] += 1
        assert list(answers.values()) == [
            pytest.approx(IDENTIFY_RATE[1] - 1, abs=1), pytest.approx(KAD_RATE[1], abs=10)
        ]  # fmt: skip


@pytest.mark.parametrize("frame", [b"\x02\x81\0\0\0\0x", b"\x8a\x80\0\0\0\0"], ids=["a byte", "a pong"])
async def test_tiny_websocket_frames_let_other_tasks_run_and_end_the_connection(frame: bytes) -> None:
    """Let other tasks run between tiny WebSocket frames, and end the connection that floods with them."""
    _, wire, listener = await both_ends()
    first, rounds, reading = frame, 0, True
    if first[0] == 2:
        await wire.send_all(first)  # the message has begun, pieces of it follow
        await listener.receive_some()
        frame = b"\x00" + frame[1:]
    await wire.send_all(frame * 9_000)

    async def read() -> None:
        nonlocal reading
        with pytest.raises(FloodError, match="carry nothing"):
            while True:
                await listener.receive_some()
        reading = False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        while reading:
            rounds += 1
            await trio.lowlevel.checkpoint()
    assert rounds >= MAX_FRAME_CREDIT // FRAMES_PER_TURN
