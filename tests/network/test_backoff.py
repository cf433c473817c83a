"""A peer that refuses a protocol, or ends it at once, is not asked again at once (mock clock)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from cfnode.core.p2p.protobuf import framed
from cfnode.network import backoff
from cfnode.network.backoff import FIRST_WAIT, MAX_WAIT, MAX_WAIT_ISOLATED, MIN_UPTIME_S, BackOff
from cfnode.network.connection import PeerConnection
from cfnode.network.exchange import propose
from cfnode.network.interface import NotificationLimits
from cfnode.network.notifications import MAX_SHORT_SESSIONS, Notifications
from cfnode.network.substream import Substream, SubstreamEnded
from tests.support.network.connections import both, ignore
from tests.support.network.notifications import NAME, served


def protocol(refusal: Callable[[], str | None] = lambda: None) -> Notifications:
    """Return a notification protocol that may refuse."""
    return Notifications(NAME, lambda: b"hello", NotificationLimits(), lambda peer, handshake: refusal())


async def opened_each_second(ours: Notifications, connection: PeerConnection, seconds: int) -> None:
    """Try to open the protocol each second."""
    for _ in range(seconds):
        ours.open(connection)
        await trio.sleep(1)


def test_each_failure_doubles_the_wait_and_a_lasting_success_resets_it() -> None:
    """Double the wait with each failure, and reset it after a success that lasted."""
    waits = BackOff()
    assert [waits.failed("away", now=0) for _ in range(6)] == [5, 10, 20, 40, MAX_WAIT, MAX_WAIT]
    assert not waits.allows("away", now=MAX_WAIT - 1)
    assert waits.allows("away", now=MAX_WAIT)
    assert waits.ended("away", since=None, now=400) == MAX_WAIT
    assert waits.ended("away", since=401, now=402) == MAX_WAIT
    assert waits.ended("away", since=401, now=401 + MIN_UPTIME_S) == 5
    assert waits.allows("unknown", now=0)


def test_an_isolated_node_waits_ten_seconds_at_most() -> None:
    """Wait ten seconds at most on an isolated node: any peer is better than none."""
    waits = BackOff()
    assert waits.failed("away", now=0) == FIRST_WAIT
    assert not waits.allows("away", now=FIRST_WAIT - 1, isolated=True)
    assert waits.allows("away", now=FIRST_WAIT, isolated=True)
    waits_isolated = [waits.failed("away", now=100, isolated=True) for _ in range(6)]
    assert waits_isolated == [MAX_WAIT_ISOLATED] * 6
    assert not waits.allows("away", now=100 + MAX_WAIT_ISOLATED - 1, isolated=True)
    assert waits.allows("away", now=100 + MAX_WAIT_ISOLATED, isolated=True)
    assert not waits.allows("away", now=100 + MAX_WAIT_ISOLATED)


def test_the_number_of_remembered_waits_is_bounded_and_the_longest_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bound the remembered waits, and keep the longest."""
    monkeypatch.setattr(backoff, "MAX_BACKED_OFF_PEERS", 100)
    waits = BackOff()
    for _ in range(3):
        waits.failed("stubborn", now=0)
    for number in range(200):
        waits.failed(str(number), now=1)
    assert waits.failures("stubborn") == 3
    assert sum(waits.failures(str(number)) for number in range(200)) == 99


async def test_a_peer_that_keeps_refusing_is_asked_less_and_less_often(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Ask a peer that keeps refusing less and less often, up to once a minute."""
    asked: list[float] = []

    def refuse() -> str:
        asked.append(round(trio.current_time() - began))
        return "all slots are taken"

    ours = protocol()
    async with both(served(protocol(refuse))) as (caller, _):
        began = trio.current_time()
        await opened_each_second(ours, caller, 260)
    assert asked == [0, 5, 15, 35, 75, 135, 195, 255]


async def test_a_peer_that_accepts_and_ends_at_once_is_asked_less_and_less_often(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Ask a peer that accepts and ends at once less and less often."""
    times: list[float] = []
    theirs = protocol()

    def close_at_once(connection: PeerConnection) -> None:
        times.append(round(trio.current_time() - began))
        theirs.close(connection.peer_id)

    theirs.on_opened = close_at_once
    ours = protocol()
    async with both(served(theirs), caller_does=served(ours)) as (caller, _), trio.open_nursery() as nursery:
        for side in (ours, theirs):
            nursery.start_soon(read_all, side)
        began = trio.current_time()
        await opened_each_second(ours, caller, 100)
        nursery.cancel_scope.cancel()
    assert times == [0, 5, 15, 35, 75]


async def read_all(events: Notifications) -> None:
    """Read all events."""
    async for _ in events.events:
        pass


async def test_we_answer_a_peer_that_keeps_opening_and_resetting_only_a_few_times(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Answer a peer that opens and resets again and again a few times, then only after a pause."""
    ours = protocol()
    answered = 0

    async def refuse(connection: PeerConnection, substream: Substream) -> None:
        nonlocal answered
        answered += 1

    async with both(served(ours), caller_does=refuse) as (stranger, _):
        for _ in range(100):
            async with stranger.substream() as substream:
                await propose(substream, NAME, framed(b"again"))
                try:
                    while await substream.receive():
                        pass
                except SubstreamEnded:
                    pass
            await trio.sleep(0.01)
        assert answered == MAX_SHORT_SESSIONS
        await trio.sleep(MAX_WAIT)
        async with stranger.substream() as substream:
            await propose(substream, NAME, framed(b"after the pause"))
            await trio.sleep(1)
        assert answered == MAX_SHORT_SESSIONS + 1


async def test_a_lost_connection_does_not_count_as_a_failure_of_its_protocols(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Count a lost connection as no failure of its protocols."""
    ours = protocol()
    async with both(ignore) as (caller, called):
        ours.open(caller)
        await trio.sleep(1)
        called.close("we shut down")
        await caller.ended.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert not ours.has_link(caller.peer_id)
        assert ours._pauses.allows(caller.peer_id, trio.current_time())
