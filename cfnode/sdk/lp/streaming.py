"""Fills of an account by the node's subscription, under trio and asyncio.

Blocks that were missed are read afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cfnode.sdk.errors import SdkError
from cfnode.sdk.lp.answers import BlockFills, block_fills, reading
from cfnode.sdk.lp.client import AsyncLiquidityProvider
from cfnode.sdk.lp.feeds import fed, subscribed
from cfnode.sdk.lp.following import FILL_POLL_S, FillCursor, failures_in_a_minute
from cfnode.sdk.lp.session import account_of

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

__all__ = ["live_fills"]


@asynccontextmanager
async def live_fills(
    client: AsyncLiquidityProvider, since: int | None = None, *, seconds: float = FILL_POLL_S
) -> AsyncIterator[AsyncIterator[BlockFills]]:
    """Yield an iterator over the account's fills of each finalized block that has any.

    Each block is yielded once, without a gap. `since` is the first one (default: that at which the
    subscription begins). A lost connection is opened again each `seconds` for a minute (at least five times),
    and the missed blocks are read then. Raises the errors of `LiquidityProvider.fills`.
    """

    def run(sender: MemoryObjectSendStream[BlockFills]) -> Coroutine[Any, Any, None]:
        return _Feed(client, FillCursor(since, failures_in_a_minute(seconds)), sender).run(seconds)

    async with fed(run) as blocks:
        yield blocks


class _Feed:
    """The task that reads fills; the receiver takes one block after the other."""

    def __init__(
        self, client: AsyncLiquidityProvider, cursor: FillCursor, sender: MemoryObjectSendStream[BlockFills]
    ) -> None:
        self._client, self._cursor, self._sender = client, cursor, sender

    async def run(self, seconds: float) -> None:
        import anyio

        while True:
            try:
                async with subscribed(self._client, "lp_subscribe_order_fills") as notes:
                    await self._catch_up()
                    async for note in notes:
                        await self._take(note)
            except SdkError as error:
                self._cursor.receive(error)
                await anyio.sleep(seconds)

    async def _take(self, note: Any) -> None:
        session, cursor = self._client.session, self._cursor
        block = reading(session, block_fills, account_of(session), note)
        if cursor.next is None:
            cursor.next = block.block_number
        if block.block_number > cursor.next:
            await self._catch_up()
        elif block.block_number == cursor.next:
            await self._pass_on((block,))

    async def _catch_up(self) -> None:
        """Read up to the last finalized block."""
        if self._cursor.next is None:
            return
        while blocks := await self._client.get_fills_since(self._cursor.next):
            await self._pass_on(blocks)

    async def _pass_on(self, blocks: tuple[BlockFills, ...]) -> None:
        for block in self._cursor.receive(blocks):
            if block.fills:
                await self._sender.send(block)
