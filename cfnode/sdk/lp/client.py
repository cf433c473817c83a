"""Clients of a liquidity provider's node: `LiquidityProvider` blocks, `AsyncLiquidityProvider` awaits.

Both drive the same calls (`calls.py`), whose methods are in `methods.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType

from cfnode.sdk.driving import AwaitingDriver, BlockingDriver, Driver
from cfnode.sdk.errors import SdkError
from cfnode.sdk.lp.answers import BlockFills
from cfnode.sdk.lp.following import FILL_POLL_S, FillCursor, failures_in_a_minute
from cfnode.sdk.lp.methods import AwaitedProviderMethods, BlockingProviderMethods
from cfnode.sdk.lp.session import WaitFor, provider_session

__all__ = ["AsyncLiquidityProvider", "LiquidityProvider"]

CANCEL_SECONDS = 60.0
"""Limit of the cancellation on exit of an async client that is itself being cancelled."""


class _ProviderClient(Driver):
    """The common part of both clients: their options."""

    def __init__(
        self,
        url: str,
        account: str | None = None,
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
        wait_for: WaitFor = "InBlock",
        cancel_on_exit: bool = False,
    ) -> None:
        """Take the HTTP address of the node, and the address of its liquidity provider key.

        All calls need `account` but those of pools and the order book. `token`, or the one in `token_file`,
        is the bearer token that the node requires. `timeout` (seconds) limits each exchange, `wait_for` is
        when a change of orders answers. With `cancel_on_exit` the client as a context manager cancels all
        orders when its block ends, also by an error. Raises ValidationError.
        """
        self.cancel_on_exit = cancel_on_exit
        super().__init__(provider_session(url, account, token, token_file, timeout, wait_for))


class LiquidityProvider(_ProviderClient, BlockingDriver, BlockingProviderMethods):
    """The blocking client of a liquidity provider's node.

    It is a context manager, and threads may share it:

        from cfnode.sdk.lp import LiquidityProvider, rounded

        with LiquidityProvider("http://127.0.0.1:9944") as lp:
            book = lp.get_book("ETH")
            print(rounded(book.range_price), "USDC for 1 ETH")
    """

    def fills(self, since: int | None = None, *, seconds: float = FILL_POLL_S) -> Iterator[BlockFills]:
        """Yield the account's fills of each finalized block that has any, each once, without a gap.

        `since` is the first block (default: the next one to be finalized). Blocks are read every `seconds`.
        If the node becomes unreachable, the request is repeated for a minute (at least five times), and the
        missed blocks are read then. Raises TransportError after that, RpcCallError if the node no longer has
        the state of a block.
        """
        cursor = FillCursor(since, failures_in_a_minute(seconds))
        while True:
            try:
                if cursor.next is None:
                    cursor.next = self.get_finalized_block() + 1
                blocks = cursor.receive(self.get_fills_since(cursor.next))
            except SdkError as error:
                blocks = cursor.receive(error)
            yield from (block for block in blocks if block.fills)
            if not blocks:
                time.sleep(seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel all orders with `cancel_on_exit`, then close the connections."""
        try:
            if self.cancel_on_exit:
                self.cancel_all()
        except SdkError as failure:
            if error is None:
                raise
            error.add_note(f"the orders were not cancelled: {failure.message}")
        finally:
            super().__exit__(kind, error, trace)


class AsyncLiquidityProvider(_ProviderClient, AwaitingDriver, AwaitedProviderMethods):
    """The async client, for trio and asyncio.

    Use it as an async context manager, or `await lp.close()`:

        import trio

        from cfnode.sdk.lp import AsyncLiquidityProvider


        async def main() -> None:
            async with AsyncLiquidityProvider("http://127.0.0.1:9944") as lp:
                print(await lp.get_pools())


        trio.run(main)
    """

    async def fills(
        self, since: int | None = None, *, seconds: float = FILL_POLL_S
    ) -> AsyncIterator[BlockFills]:
        """Yield the account's fills of each finalized block that has any, each once, without a gap.

        `since`, `seconds` and the errors are those of `LiquidityProvider.fills`.
        """
        import anyio

        cursor = FillCursor(since, failures_in_a_minute(seconds))
        while True:
            try:
                if cursor.next is None:
                    cursor.next = await self.get_finalized_block() + 1
                blocks = cursor.receive(await self.get_fills_since(cursor.next))
            except SdkError as error:
                blocks = cursor.receive(error)
            for block in blocks:
                if block.fills:
                    yield block
            if not blocks:
                await anyio.sleep(seconds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel all orders with `cancel_on_exit`, even in a cancelled task; then close the connections."""
        import anyio

        try:
            if self.cancel_on_exit:
                with anyio.move_on_after(CANCEL_SECONDS, shield=True):
                    await self.cancel_all()
        except SdkError as failure:
            if error is None:
                raise
            error.add_note(f"the orders were not cancelled: {failure.message}")
        finally:
            await super().__aexit__(kind, error, trace)
