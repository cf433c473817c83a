"""Which peer gets the next slot: peers take turns, weighed by the time that their turns take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
import trio.testing

from cfnode.flow.fairness import MAX_REMEMBERED_CLIENTS, FairSlots


async def work(slots: FairSlots, peer: str, seconds: float, done: list[str]) -> None:
    """Work for some seconds in a peer's slot, or note that it was refused one."""
    async with slots.slot(peer) as has_slot:
        if has_slot:
            await trio.sleep(seconds)
        done.append(peer if has_slot else f"{peer} refused")


async def begun(*tasks: Callable[[], Awaitable[None]]) -> None:
    """Run all tasks, each begun when the one before is blocked."""
    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(task)
            await trio.testing.wait_all_tasks_blocked()


async def test_a_peer_with_few_requests_does_not_wait_for_all_requests_of_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Serve peers in turns: one with few requests does not wait for all those of another."""
    slots, done = FairSlots(1, per_client=9, max_waiting=99), list[str]()
    order = ["greedy", "greedy", "greedy", "greedy", "modest", "late", "modest"]
    await begun(*(lambda peer=peer: work(slots, peer, 1, done) for peer in order))
    assert done == ["greedy", "modest", "late", "greedy", "modest", "greedy", "greedy"]


async def test_a_peer_with_slow_requests_gets_fewer_turns(autojump_clock: trio.testing.MockClock) -> None:
    """Give a peer with slow requests fewer turns, since its turns count by their time."""
    slots, done = FairSlots(1, per_client=9, max_waiting=99), list[str]()
    jobs = [("slow", 10.0)] * 4 + [("quick", 1.0)] * 8
    await begun(*(lambda peer=peer, took=took: work(slots, peer, took, done) for peer, took in jobs))
    assert done[:10] == ["slow", *["quick"] * 8, "slow"]


async def test_one_peer_has_all_slots_only_while_no_other_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Give one peer all slots while no other waits, and not longer."""
    slots, done = FairSlots(4, per_client=9, max_waiting=99), list[str]()
    jobs = [("greedy", 1.0)] * 4 + [("greedy", 5.0)] * 4 + [("modest", 3.0)] * 2
    await begun(*(lambda peer=peer, took=took: work(slots, peer, took, done) for peer, took in jobs))
    assert done == ["greedy"] * 4 + ["modest"] * 2 + ["greedy"] * 4
    assert trio.current_time() < 10


async def test_the_waits_of_one_peer_and_of_all_peers_are_bounded(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Refuse requests over the bounds of waiting ones, of one peer and of all peers."""
    slots, done = FairSlots(1, per_client=3, max_waiting=4), list[str]()
    order = ["a", "a", "a", "a", "b", "b", "b", "c", "d"]
    await begun(*(lambda peer=peer: work(slots, peer, 1, done) for peer in order))
    refused = [outcome for outcome in done if outcome.endswith("refused")]
    assert refused == ["a refused", "b refused", "a refused", "b refused"]
    assert sorted(outcome for outcome in done if outcome not in refused) == ["a", "a", "b", "c", "d"]
    assert slots.waiting == 0


async def test_a_peer_that_leaves_while_it_waits_or_works_leaves_nothing_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Leave nothing behind of peers that leave while they wait or work."""
    slots, done = FairSlots(1, per_client=9, max_waiting=9), list[str]()
    with trio.move_on_after(0.5):
        await begun(*(lambda peer=peer: work(slots, peer, 1, done) for peer in "abc"))
    assert (slots.waiting, slots._held.total(), done) == (0, 0, [])
    await work(slots, "d", 1, done)
    assert done == ["d"]


async def test_the_number_of_remembered_peers_is_bounded(autojump_clock: trio.testing.MockClock) -> None:
    """Forget the oldest peers, so that new names do not fill the memory."""
    slots, done = FairSlots(1, per_client=1, max_waiting=1), list[str]()
    for number in range(3 * MAX_REMEMBERED_CLIENTS):
        await work(slots, str(number), 0, done)
    assert len(done) == 3 * MAX_REMEMBERED_CLIENTS
    assert len(slots._used) <= MAX_REMEMBERED_CLIENTS + 1
