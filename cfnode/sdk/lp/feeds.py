"""Unbuffered feeds from a task to an iterator, and subscriptions at a client's node; trio and asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from cfnode.sdk.lp.client import AsyncLiquidityProvider
from cfnode.sdk.subscriptions import sole, subscription

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

__all__ = ["fed", "subscribed"]

T = TypeVar("T")


@asynccontextmanager
async def fed(
    run: Callable[[MemoryObjectSendStream[T]], Coroutine[Any, Any, None]],
) -> AsyncIterator[AsyncIterator[T]]:
    """Run a task; yield an iterator over the values that it sends.

    The channel holds no value back: `run` waits until the reader takes one. The task ends with the block.
    """
    import anyio

    sender, receiver = anyio.create_memory_object_stream[Any](0)
    try:
        async with sender, receiver, anyio.create_task_group() as tasks:
            tasks.start_soon(run, sender)
            yield receiver
            tasks.cancel_scope.cancel()
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
