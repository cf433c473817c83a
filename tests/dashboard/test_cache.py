"""Parts of the page are made once for all that ask at the same time, and so are their faults."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from cfnode.dashboard.cache import Cache


async def test_five_browsers_wait_once_for_a_part_that_cannot_be_made(autojump_clock: MockClock) -> None:
    """Make a part once for five browsers that wait for it, and give all five its error."""
    cache, attempts, failed_at = Cache(), 0, list[float]()

    async def make() -> str:
        nonlocal attempts
        attempts += 1
        await trio.sleep(25)
        raise ValueError("the books do not answer")

    async def browser() -> None:
        with pytest.raises(ValueError, match="the books do not answer"):
            await cache.get("now", 7, make)
        failed_at.append(trio.current_time() - began)

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(browser)
    assert failed_at == pytest.approx([25] * 5)
    assert attempts == 1


async def test_a_part_of_an_older_block_that_is_made_late_does_not_replace_the_newer_one(
    autojump_clock: MockClock,
) -> None:
    """Keep the part of block 2 when that of block 1 is finished after it."""
    cache = Cache()

    async def of_block_1() -> str:
        await trio.sleep(3)
        return "of block 1"

    async def of_block_2() -> str:
        return "of block 2"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cache.get, "now", 1, of_block_1)
        await trio.sleep(1)
        assert await cache.get("now", 2, of_block_2) == "of block 2"
    assert await cache.get("now", 2, of_block_1) == "of block 2", "kept, and not made again"
