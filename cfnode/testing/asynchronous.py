"""Async control of a development chain in tests, under trio or asyncio.

`blocking.py` has the methods that block.
"""

from __future__ import annotations

from typing import Any, TypeVar

from cfnode.sdk import AsyncSwapSDK
from cfnode.sdk.calls import Call
from cfnode.testing import dev_calls
from cfnode.testing.address import AtNode
from cfnode.testing.dev_calls import FUNDS, MAX_BLOCKS, Asset, Event

__all__ = ["AsyncBroker", "AsyncClock", "AsyncDevChain"]

T = TypeVar("T")


class AsyncDevChain(AtNode[AsyncSwapSDK]):
    """`DevChain` for trio and asyncio, as an async context manager."""

    def __init__(self, url: str) -> None:
        super().__init__(url, AsyncSwapSDK)
        self.broker = AsyncBroker(self)
        self.clock = AsyncClock(self)

    async def do(self, call: Call[T]) -> T:
        """The result of a call of the SDK."""
        return await self.sdk.call(call)

    async def rpc(self, method: str, *params: Any) -> Any:
        """The result of a JSON-RPC call."""
        return await self.do(dev_calls.call(method, *params))

    async def new_block(self, count: int = 1) -> str:
        """Add `count` blocks; returns the hash of the last one."""
        return await self.do(dev_calls.new_blocks(count))

    async def finalize(self) -> str:
        """Finalize the best block; returns its hash."""
        block: str = await self.rpc("dev_finalize")
        return block

    async def events(self, block: str | None = None) -> list[Event]:
        """The events of a block (default: the best one)."""
        found: list[Event] = await self.rpc("dev_events", block)
        return found

    async def advance_to(self, pallet: str, name: str, *, max_blocks: int = MAX_BLOCKS) -> Event:
        """Add blocks until one has such an event, starting with the best block. Raises NotReached."""
        return await self.do(dev_calls.advance_to(pallet, name, max_blocks))

    async def deposit(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """Witness a confirmed deposit; returns the block's hash. `transaction`: 32 bytes of hex."""
        return await self.do(dev_calls.deposit("dev_deposit", address, asset, amount, transaction))

    async def announce(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """Announce an unconfirmed deposit, which may be boosted; returns the block's hash."""
        return await self.do(dev_calls.deposit("dev_announceDeposit", address, asset, amount, transaction))

    async def fund(self, account: str, amount: int = FUNDS) -> str:
        """Fund an account with FLIP; returns the block's hash."""
        return await self.do(dev_calls.fund(account, amount))

    async def fail_receiver(self, address: str, asset: Asset, fails: bool = True) -> str:
        """Make transfers of an asset to an address fail, or succeed again; returns the block's hash."""
        return await self.do(dev_calls.fail_receiver(address, asset, fails))

    async def set_price(self, asset: Asset, microdollars: int) -> str:
        """Set the pool price of a whole unit of an asset; returns the block's hash."""
        return await self.do(dev_calls.set_price(asset, microdollars))

    async def snapshot(self) -> str:
        """Take a snapshot of the chain; returns its number, for `revert`."""
        number: str = await self.rpc("dev_snapshot")
        return number

    async def revert(self, snapshot: str) -> str:
        """Restore a snapshot, which is valid for one revert; returns the hash of the best block."""
        block: str = await self.rpc("dev_revert", snapshot)
        return block

    async def close(self) -> None:
        """Close the connections."""
        await self.sdk.close()

    async def __aenter__(self) -> AsyncDevChain:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncBroker:
    """The broker of the key in the node's keystore."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def register(self) -> str:
        """Register the account as a broker; returns the transaction's hash. The fixture has done it."""
        tx_hash: str = await self._chain.rpc("broker_register_account")
        return tx_hash

    async def open_channel(
        self,
        source: Asset,
        destination: Asset,
        address: str,
        *,
        refund_address: str,
        commission_bps: int = 0,
        **more: Any,
    ) -> dict[str, Any]:
        """Open a deposit channel, as `Broker.open_channel` does."""
        opening = dev_calls.open_channel(source, destination, address, refund_address, commission_bps, more)
        return await self._chain.do(opening)


class AsyncClock:
    """The chain's own clock, which only blocks and jumps move."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def now(self) -> int:
        """The time of the best block, Unix milliseconds; 0 for the genesis block."""
        return await self._chain.do(dev_calls.now())

    async def jump(self, seconds: float) -> int:
        """Add a block at least `seconds` later than the last one; returns its time, Unix milliseconds."""
        return await self._chain.do(dev_calls.jump(seconds))
