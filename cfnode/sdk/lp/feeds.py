"""Unbuffered feeds from a task to an iterator, and subscriptions at a client's node, under trio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from cfnode.sdk.lp.client import AsyncLiquidityProvider
from cfnode.sdk.subscriptions import sole, subscription

if TYPE_CHECKING:
    import trio

__all__ = ["fed", "subscribed"]

T = TypeVar("T")


@asynccontextmanager
async def fed(run: Callable[[trio.MemorySendChannel[T]], Awaitable[None]]) -> AsyncIterator[AsyncIterator[T]]:
    """Run a task; yield an iterator over the values that it sends.

    The channel holds no value back: `run` waits until the reader takes one. The task ends with the block.
    """
    import trio

    sender, receiver = trio.open_memory_channel[Any](0)
    try:
        async with trio.open_nursery() as nursery, receiver:
            nursery.start_soon(run, sender)
            yield receiver
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise sole(group) from group


def subscribed(
    client: AsyncLiquidityProvider, method: str, params: Sequence[Any] = ()
) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
    """Return a subscription at the client's node, with its token."""
    options = client.session.options
    return subscription(
        client.session.rpc_url,
        method,
        params,
        token=options.rpc_token,
        token_file=options.rpc_token_file,
    )
