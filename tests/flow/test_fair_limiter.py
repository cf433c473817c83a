"""Turns where few may be served at a time: by client, not by request."""

from __future__ import annotations

import trio
import trio.testing

from cfnode.flow.fairness import CLIENT, FairLimiter
from tests.support.waiting import LIMIT_S


async def test_a_client_that_asks_for_one_thing_waits_for_one_turn() -> None:
    """Let a client with one request wait for one turn, not for all fifty of a greedy one."""
    limiter, order = FairLimiter(1), list[str]()

    async def ask(client: str, task_status: trio.TaskStatus[None]) -> None:
        CLIENT.set(client)
        task_status.started()
        async with limiter:
            order.append(client)

    async with trio.open_nursery() as nursery, limiter:
        for client in ["greedy"] * 50 + ["modest", "other", "modest"]:
            await nursery.start(ask, client)
            await trio.testing.wait_all_tasks_blocked()
    assert order[:6] == ["greedy", "modest", "other", "greedy", "modest", "greedy"]
    assert sorted(order) == sorted(["greedy"] * 50 + ["modest", "other", "modest"])


async def test_slots_are_limited_and_none_is_lost_when_a_waiting_task_is_cancelled() -> None:
    """Keep to the number of slots and lose none when a waiting task is cancelled."""
    limiter = FairLimiter(2)
    inside = most = 0

    async def work() -> None:
        nonlocal inside, most
        async with limiter:
            inside += 1
            most = max(most, inside)
            await trio.lowlevel.checkpoint()
            inside -= 1

    async with trio.open_nursery() as nursery:
        for number in range(30):
            with trio.CancelScope() as scope:
                nursery.start_soon(work)
                if number % 3 == 0:
                    scope.cancel()
                    await work()
    assert most == 2
    async with limiter, limiter:
        with trio.move_on_after(0) as scope:
            await limiter.__aenter__()
        assert scope.cancelled_caught
    async with limiter, limiter:
        pass


async def test_a_place_that_came_too_late_goes_on_to_the_next() -> None:
    """Pass a slot on to the next in line when it reaches a task that has given up."""
    limiter, served = FairLimiter(1), list[str]()

    async def ask(name: str) -> None:
        async with limiter:
            served.append(name)

    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def given_up() -> None:
            with first:
                await ask("given up")

        async with limiter:
            nursery.start_soon(given_up)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, "next")
            await trio.testing.wait_all_tasks_blocked()
            first.cancel()
    assert served[-1] == "next"
    with trio.fail_after(LIMIT_S):
        async with limiter:
            pass
