"""An interval ends by the clock, however often news interrupts the waiting."""

from __future__ import annotations

from functools import partial

import trio
from trio.testing import MockClock

from cfnode.node.sync.interval import Interval


async def test_it_is_over_once_in_so_many_seconds_whatever_news_comes(autojump_clock: MockClock) -> None:
    interval, over = Interval(6), list[float]()
    for _ in range(200):
        await interval.rest(partial(trio.sleep, 0.1))
        if interval.is_over():
            over.append(trio.current_time())
    assert len(over) == 3


async def test_it_ends_without_news(autojump_clock: MockClock) -> None:
    interval, began = Interval(6), trio.current_time()
    await interval.rest(trio.sleep_forever)
    assert interval.is_over()
    assert not interval.is_over()
    assert trio.current_time() - began == 6
