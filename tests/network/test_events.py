"""Events of peers reach their consumer in order, at its own pace, and without repeated messages."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from cfnode.flow.rate import Rate
from cfnode.network.events import EventQueue
from cfnode.network.interface import Closed, NotificationEvent, NotificationLimits, ProtocolOpened, Received
from cfnode.network.notifications import Notifications
from tests.network.conftest import address_of, running
from tests.support.network.connections import both
from tests.support.network.notifications import NAME, Node, served
from tests.support.waiting import LIMIT_S, until


async def test_closed_events_keep_their_order_among_events_that_wait_for_room() -> None:
    """Keep the order of events while some wait for room, with a peer's end after its messages."""
    events, received = EventQueue(2), list[NotificationEvent]()
    opened = ProtocolOpened("peer", b"", inbound=True)

    async def peer() -> None:
        assert await events.put(opened, lambda: True)
        for number in range(3):
            await events.put(Received("peer", b"%d" % number), lambda: True)
        events.end("peer")
        assert await events.put(opened, lambda: True)
        events.end("peer")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer)
        await trio.testing.wait_all_tasks_blocked()
        while len(received) < 7:
            received.append(await events.receive())
    assert received == [
        opened, Received("peer", b"0"), Received("peer", b"1"), Received("peer", b"2"), Closed("peer"),
        opened, Closed("peer"),
    ]  # fmt: skip


async def test_an_outdated_event_is_dropped_and_the_next_one_gets_its_room() -> None:
    """Drop an outdated event, and give its room to the next one."""
    events, outdated, results = EventQueue(1), False, list[bool]()

    async def put(name: str, wanted: bool) -> None:
        results.append(await events.put(Received(name, b""), lambda: wanted or not outdated))

    async with trio.open_nursery() as nursery:
        for name, wanted in (("first", True), ("outdated", False), ("last", True)):
            nursery.start_soon(put, name, wanted)
            await trio.testing.wait_all_tasks_blocked()
        outdated = True
        assert [await events.receive(), await events.receive()] == [
            Received("first", b""), Received("last", b"")
        ]  # fmt: skip
    assert results == [True, False, True]
    await events.aclose()
    with pytest.raises(trio.EndOfChannel):
        await events.receive()


async def test_events_of_a_peer_that_reconnects_before_they_are_read_stay_in_order() -> None:
    """Deliver opened and closed in turn for a peer that reconnects before its events are read."""
    one, two = Node(1), Node(2)
    async with running(one.service, two.service):
        for _ in range(3):
            await two.service.connect(address_of(one.service))
            await until(lambda: one.id in two.announces.peers and two.id in one.announces._links)
            for number in range(20):
                two.announces.send(one.id, b"%d" % number)
            await trio.testing.wait_all_tasks_blocked(0.01)
            two.service.disconnect(one.id, "reconnect")
            await until(lambda: not two.service.peers and not one.service.peers)
        await two.service.connect(address_of(one.service))
        received: list[type] = []
        with trio.fail_after(LIMIT_S):
            while one.announces.peers != {two.id} or one.announces.events._queue:
                received.append(type(await one.announces.events.receive()))
        ends = [kind for kind in received if kind is not Received]
        assert ends == [ProtocolOpened, Closed] * (len(ends) // 2) + [ProtocolOpened]
        assert one.announces.peers == {two.id}


def test_a_rate_has_a_burst_and_an_average() -> None:
    """Allow a burst, and an average rate after it."""
    rate = Rate(per_second=2, burst=3)
    assert [rate.take(10) for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    assert rate.take(12) == 0
    assert not Rate(per_second=1, burst=0).allows(0)
    limit = Rate(per_second=1, burst=2)
    assert [limit.allows(now) for now in (0, 0, 0, 0.5, 1, 1, 9, 9, 9)] == [
        True, True, False, False, True, False, True, True, False
    ]  # fmt: skip


def gossip(limits: NotificationLimits) -> Notifications:
    """Return a notification protocol with these limits."""
    return Notifications(NAME, lambda: b"hello", limits, lambda peer, handshake: None)


def test_a_message_that_counts_as_several_waits_as_long_as_those() -> None:
    """Wait for a message that counts as several as long as for those."""
    rate = Rate(per_second=100, burst=10)
    assert rate.take(0, times=256) == pytest.approx(2.46)
    assert rate.take(3, times=1) == 0


async def test_messages_beyond_the_rate_of_a_protocol_wait_in_their_window(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Delay messages beyond the rate of a protocol rather than drop them or the peer."""
    theirs, ours = (
        gossip(NotificationLimits(per_second=100, burst=50)),
        gossip(NotificationLimits(queue=1000)),
    )
    async with both(served(theirs), caller_does=served(ours)) as (caller, called):
        ours.open(caller)
        await theirs.events.receive()
        await ours.events.receive()
        began = trio.current_time()
        for _ in range(250):
            assert ours.send(caller.peer_id, b"")
        for _ in range(250):
            await theirs.events.receive()
        assert trio.current_time() - began == pytest.approx(2, abs=0.1)
        assert not called.end_reason


async def test_repeated_messages_are_dropped_and_too_many_end_the_protocol(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Drop repeated messages, and end the protocol after too many."""
    theirs, ours = gossip(NotificationLimits(repeats=3)), gossip(NotificationLimits())
    floods: list[str] = []
    theirs.on_flood = lambda peer, reason: floods.append(reason)
    async with both(served(theirs), caller_does=served(ours)) as (caller, _):
        ours.open(caller)
        await theirs.events.receive()
        await ours.events.receive()
        for message in (b"a", b"b", b"a", b"a", b"c", b"b"):
            ours.send(caller.peer_id, message)
        received = [await theirs.events.receive() for _ in range(3)]
        assert [event.data for event in received if isinstance(event, Received)] == [b"a", b"b", b"c"]
        assert not floods
        ours.send(caller.peer_id, b"c")
        assert isinstance(await theirs.events.receive(), Closed)
        assert floods == [f"{NAME}: more than 3 repeated messages"]
