"""Order book and balances at each new best block, by a subscription, under trio and asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

from cfnode.sdk.errors import SdkError
from cfnode.sdk.lp.answers import Balances, OrderBook
from cfnode.sdk.lp.client import AsyncLiquidityProvider
from cfnode.sdk.lp.feeds import fed, subscribed
from cfnode.sdk.lp.following import FILL_POLL_S, Patience, failures_in_a_minute
from cfnode.sdk.names import AssetName

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

__all__ = ["live_balances", "live_book"]

T = TypeVar("T", OrderBook, Balances)


def live_book(
    client: AsyncLiquidityProvider,
    asset: AssetName,
    levels: int = 20,
    quote: AssetName = "USDC",
    *,
    seconds: float = FILL_POLL_S,
    on_lost: Callable[[SdkError], None] | None = None,
) -> AbstractAsyncContextManager[AsyncIterator[OrderBook]]:
    """Return an async context manager with an iterator over `get_book` at each new best block.

    A reader that is slower than the chain gets the book of the newest block. A lost connection is opened
    again each `seconds` for a minute (at least five times), and each loss is reported to `on_lost`. Raises
    the errors of `get_book`.
    """
    return _live(client, lambda: client.get_book(asset, levels, quote), seconds, on_lost)


def live_balances(
    client: AsyncLiquidityProvider,
    *,
    seconds: float = FILL_POLL_S,
    on_lost: Callable[[SdkError], None] | None = None,
) -> AbstractAsyncContextManager[AsyncIterator[Balances]]:
    """Return an async context manager with an iterator over `get_balances` at each new best block.

    It yields the first balances, then those that differ from the ones before. A lost connection is opened
    again each `seconds` for a minute (at least five times), and each loss is reported to `on_lost`. Raises
    the errors of `get_balances`.
    """
    return _live(client, client.get_balances, seconds, on_lost)


def _live(
    client: AsyncLiquidityProvider,
    read: Callable[[], Awaitable[T]],
    seconds: float,
    on_lost: Callable[[SdkError], None] | None,
) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    async def run(sender: MemoryObjectSendStream[T]) -> None:
        import anyio

        patience, last = Patience(failures_in_a_minute(seconds)), None
        while True:
            try:
                async with subscribed(client, "chain_subscribeNewHeads") as heads:
                    async for _ in heads:
                        state = await read()
                        patience.succeed()
                        if state != last:
                            await sender.send(state)
                        last = state
            except SdkError as error:
                patience.fail(error)
                if on_lost is not None:
                    on_lost(error)
                await anyio.sleep(seconds)

    return fed(run)
