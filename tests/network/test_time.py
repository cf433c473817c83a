"""Time limits on a connection (mock clock), and budgets against useless frames."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from itertools import pairwise

import pytest
import trio
import trio.testing

from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.core.p2p.yamux import GoneAway, YamuxSession
from cfnode.core.p2p.yamux.budget import FRAMES_PER_TURN, MAX_FRAME_CREDIT
from cfnode.core.p2p.yamux.frames import ACK, DATA, FIN, FRAME_HEADER, RST, SYN, WINDOW
from cfnode.core.p2p.yamux.session import MAX_INBOUND
from cfnode.network.buffers import Buffers
from cfnode.network.connection import PeerConnection
from cfnode.network.exchange import (
    ServedProtocol,
    ask,
    propose,
)
from cfnode.network.interface import RequestFailed, RequestLimits
from cfnode.network.substream import Substream
from tests.support.network.connections import both, connection, ignore, ours_and_raw, secured_pair
from tests.support.network.requests import echo, serving
from tests.support.waiting import LIMIT_S


async def test_a_peer_that_does_not_answer_pings_is_disconnected(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Disconnect a peer that does not answer a ping within 20 s, without blame."""
    async with ours_and_raw() as (ours, _, _):
        began = trio.current_time()
        await ours.ended.wait()
        assert ours.end_reason == "no answer to a ping for 20 s"
        assert not ours.at_fault
        assert trio.current_time() - began == pytest.approx(40, abs=2)


async def test_a_peer_that_answers_pings_stays(autojump_clock: trio.testing.MockClock) -> None:
    """Keep a peer that answers pings."""
    async with both(ignore) as (caller, called):
        await trio.sleep(3600)
        assert not caller.end_reason
        assert not called.end_reason


async def test_a_closed_connection_sends_goaway_to_the_peer(autojump_clock: trio.testing.MockClock) -> None:
    """Send GoAway when a connection is closed, and give its reason to the requests that fail."""
    async with ours_and_raw() as (ours, stream, raw):
        ours.close("enough")
        session, events = YamuxSession(dialer=True), []
        while data := bytes(await stream.receive_some(65536)):
            for plaintext in raw.channel.receive_data(data):
                events += session.receive_data(plaintext)
        assert events == [GoneAway(0)]
        assert ours.end_reason == "enough"
    async with both(ignore) as (caller, called):
        called.close("we shut down")
        await caller.ended.wait()
        assert caller.end_reason == "the peer sent GoAway (code 0)"
        with pytest.raises(RequestFailed, match="sent GoAway"):
            await ask(caller, "/echo", b"", RequestLimits(), 1)


@pytest.mark.parametrize("turns", range(12))
async def test_a_connection_that_is_ending_refuses_tasks_and_substreams(turns: int) -> None:
    """Refuse tasks and substreams on a connection that is ending, at every moment of its end."""
    (left, there), (_, _) = await secured_pair()
    ending = connection(left, there, ignore, inbound=False)
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ending.run, there.first)
            await ending.ready.wait()
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                for _ in range(turns):  # one number hits the moment between its last task and its end
                    await trio.lowlevel.checkpoint()
                ending.start(trio.sleep_forever, "a task")
                ending.close("at the last moment")
        assert ending.ended.is_set()
        assert not ending.start(trio.sleep_forever, "a task")


async def test_a_request_that_arrives_byte_by_byte_times_out_after_ten_seconds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Time out a request that arrives byte by byte after ten seconds, and free its memory."""
    sums = Buffers()
    async with both(serving(ServedProtocol(echo, RequestLimits())), sums) as (caller, called):
        async with caller.substream() as substream:
            await propose(substream, "/echo", framed(bytes(1000))[:10])
            began = trio.current_time()
            with pytest.raises(Exception, match="reset"):
                while True:
                    await trio.sleep(1)
                    await substream.send_all(b"\0")
            assert trio.current_time() - began <= 12
        await trio.testing.wait_all_tasks_blocked()
        assert sums.total == 0
        assert await ask(caller, "/echo", b"x", RequestLimits(), 5) == b"x" * 1000
        assert not called.end_reason


async def test_a_message_that_has_begun_has_to_end_in_time_but_may_begin_late(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Time out a message that has begun, but let it begin late."""
    outcomes: list[object] = []

    async def listen(connection: PeerConnection, substream: Substream) -> None:
        frames = Frames(1000)
        outcomes.append(await substream.receive_frame(frames, 60))
        try:
            await substream.receive_frame(frames, 60)
        except trio.TooSlowError:
            outcomes.append(trio.current_time())

    async with both(listen) as (caller, _), caller.substream() as substream:
        await trio.sleep(600)
        await substream.send_all(framed(b"hello"))
        await trio.sleep(600)
        began = trio.current_time()
        for byte in framed(bytes(500))[:100]:
            with trio.move_on_after(2):
                await substream.send_all(bytes([byte]))
            await trio.sleep(1)
            if len(outcomes) == 2:
                break
        assert outcomes == [b"hello", pytest.approx(began + 60, abs=2)]


@pytest.mark.parametrize("flags", [0, ACK, FIN, RST, SYN], ids=["none", "ack", "fin", "reset", "refused"])
async def test_useless_frames_end_the_connection(flags: int, autojump_clock: trio.testing.MockClock) -> None:
    """Frames of released or unknown streams, or of one too many."""
    async with ours_and_raw() as (ours, stream, raw):
        ours._session._inbound = MAX_INBOUND
        await stream.send_all(raw.channel.seal(FRAME_HEADER.pack(0, WINDOW, flags, 1, 0) * 5000))
        await ours.ended.wait()
        assert ours.at_fault
        assert ours.flooded
        assert ours.end_reason == f"over {MAX_FRAME_CREDIT:.0f} frames that carry nothing"


async def test_tiny_noise_messages_end_the_connection_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """End a connection that sends tiny noise messages."""
    async with ours_and_raw() as (ours, stream, raw):
        with suppress(trio.BrokenResourceError):
            for _ in range(10):
                await stream.send_all(b"".join(raw.channel.seal(b"") for _ in range(400)))
        await ours.ended.wait()
        assert ours.flooded
        assert not ours._session._streams


async def test_flooding_connections_take_turns_and_let_other_tasks_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """In each round of the loop they get the time of one or two slices together."""
    shared = trio.Lock()
    async with AsyncExitStack() as stack:
        pairs = [await stack.enter_async_context(ours_and_raw(flood_lock=shared)) for _ in range(8)]
        for ours, stream, raw in pairs:
            ours._session.budget.credit = MAX_FRAME_CREDIT * 3 / 4  # it has flooded us a while
            await stream.send_all(raw.channel.seal(FRAME_HEADER.pack(0, WINDOW, ACK, 1, 0) * 1000))
        spent = [sum(ours._session.budget.spent for ours, _, _ in pairs)]
        while spent[-1] < 8_000:
            await trio.lowlevel.checkpoint()
            spent.append(sum(ours._session.budget.spent for ours, _, _ in pairs))
        assert max(after - before for before, after in pairwise(spent)) <= 2 * (FRAMES_PER_TURN + 1)


async def test_streams_reset_before_any_data_never_get_a_task(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Start no task for a stream that is reset before any data."""
    served: list[int] = []

    async def serve(connection: PeerConnection, substream: Substream) -> None:
        served.append(substream.number)

    def opening(number: int, flags: int) -> bytes:
        return FRAME_HEADER.pack(0, WINDOW, SYN, number, 0) + FRAME_HEADER.pack(0, WINDOW, flags, number, 0)

    async with ours_and_raw(serve) as (ours, stream, raw):
        await stream.send_all(raw.channel.seal(b"".join(opening(2 * n + 1, RST) for n in range(200))))
        await stream.send_all(raw.channel.seal(b"".join(opening(2 * n + 1, FIN) for n in range(200, 300))))
        speaks = FRAME_HEADER.pack(0, WINDOW, SYN, 1001, 0) + FRAME_HEADER.pack(0, DATA, 0, 1001, 1) + b"x"
        await stream.send_all(raw.channel.seal(speaks))
        await trio.testing.wait_all_tasks_blocked()
        assert served == [1001]
        assert not ours._substreams
        assert not ours._silent
        assert ours._session._inbound == 0
