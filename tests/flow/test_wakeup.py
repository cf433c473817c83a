"""A notification wakes all waiting tasks, and is not lost between looking and waiting."""

from __future__ import annotations

import trio
import trio.testing

from cfnode.flow.wakeup import Wakeup
from tests.support.waiting import LIMIT_S


async def test_a_notification_wakes_all_waiting_tasks() -> None:
    """Wake all tasks that wait by one notification."""
    wakeup, woken = Wakeup(), list[int]()

    async def wait(number: int) -> None:
        await wakeup.wait()
        woken.append(number)

    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(wait, number)
            await trio.testing.wait_all_tasks_blocked()
            wakeup.notify()
    assert sorted(woken) == [0, 1, 2]


async def test_a_notification_between_looking_and_waiting_ends_the_wait_at_once() -> None:
    """End a wait at once when the notification came between the look and the wait."""
    wakeup = Wakeup()
    event = wakeup.next
    wakeup.notify()
    with trio.fail_after(LIMIT_S):
        await event.wait()
    assert not wakeup.next.is_set(), "the next wait is for the next notification"
