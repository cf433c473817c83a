"""An interval ends by the clock, however often news interrupts the waiting."""

from __future__ import annotations

from functools import partial

import trio
from trio.testing import MockClock

from cfnode.node.asking.interval import Interval


async def test_an_interval_elapses_on_time_however_often_it_is_interrupted(autojump_clock: MockClock) -> None:
    """End an interval on time although news interrupts the waiting."""
    interval, over = Interval(6), list[float]()
    for _ in range(200):
        await interval.wait(partial(trio.sleep, 0.1))
        if interval.has_elapsed():
            over.append(trio.current_time())
    assert len(over) == 3


async def test_an_interval_elapses_without_interruptions(autojump_clock: MockClock) -> None:
    """End an interval on time without an interruption, and only once."""
    interval, began = Interval(6), trio.current_time()
    await interval.wait(trio.sleep_forever)
    assert interval.has_elapsed()
    assert not interval.has_elapsed()
    assert trio.current_time() - began == 6
