"""How does an async test play on a development chain?

Under trio or asyncio; `blocking.py` has the same methods.
"""

from __future__ import annotations

from typing import Any, TypeVar

from cfnode.sdk import AsyncSwapSDK
from cfnode.sdk.calls import Call
from cfnode.testing import plays
from cfnode.testing.address import AtNode
from cfnode.testing.plays import FUNDS, MAX_BLOCKS, Asset, Event

__all__ = ["AsyncBroker", "AsyncClock", "AsyncDevChain"]

T = TypeVar("T")


class AsyncDevChain(AtNode[AsyncSwapSDK]):
    """`DevChain` for trio and asyncio; use it as an async context manager."""

    def __init__(self, url: str) -> None:
        super().__init__(url, AsyncSwapSDK)
        self.broker = AsyncBroker(self)
        self.clock = AsyncClock(self)

    async def do(self, call: Call[T]) -> T:
        """The result of a call of the SDK."""
        return await self.sdk.call(call)

    async def rpc(self, method: str, *params: Any) -> Any:
        """The result of a JSON-RPC call."""
        return await self.do(plays.call(method, *params))

    async def new_block(self, count: int = 1) -> str:
        """Add so many blocks; the hash of the last one."""
        return await self.do(plays.new_blocks(count))

    async def finalize(self) -> str:
        """Let the best block be final; its hash."""
        block: str = await self.rpc("dev_finalize")
        return block

    async def events(self, block: str | None = None) -> list[Event]:
        """The events of a block (default: the best one)."""
        found: list[Event] = await self.rpc("dev_events", block)
        return found

    async def advance_to(self, pallet: str, name: str, *, max_blocks: int = MAX_BLOCKS) -> Event:
        """Add blocks until one has such an event; the best block is looked at first. Raises NotReached."""
        return await self.do(plays.advance_to(pallet, name, max_blocks))

    async def deposit(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """See a deposit that its chain has confirmed; the block's hash. `transaction`: 32 bytes of hex."""
        return await self.do(plays.deposit("dev_deposit", address, asset, amount, transaction))

    async def announce(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """See a deposit that its chain has not confirmed yet: it may be boosted; the block's hash."""
        return await self.do(plays.deposit("dev_announceDeposit", address, asset, amount, transaction))

    async def fund(self, account: str, amount: int = FUNDS) -> str:
        """Give an account FLIP; the block's hash."""
        return await self.do(plays.fund(account, amount))

    async def fail_receiver(self, address: str, asset: Asset, fails: bool = True) -> str:
        """Let transfers of an asset to an address fail from now on, or not; the block's hash."""
        return await self.do(plays.fail_receiver(address, asset, fails))

    async def set_price(self, asset: Asset, microdollars: int) -> str:
        """Set what a whole unit of an asset costs in its pool; the block's hash."""
        return await self.do(plays.set_price(asset, microdollars))

    async def snapshot(self) -> str:
        """Remember the chain as it is; what `revert` takes."""
        number: str = await self.rpc("dev_snapshot")
        return number

    async def revert(self, snapshot: str) -> str:
        """Let the chain be what it was; the hash of its best block. A snapshot is good for one revert."""
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
    """What the broker does whose key the node has."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def register(self) -> str:
        """Register the account as a broker; the transaction's hash. The fixture has done it."""
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
        opening = plays.open_channel(source, destination, address, refund_address, commission_bps, more)
        return await self._chain.do(opening)


class AsyncClock:
    """The chain's own time, which only blocks and jumps move."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def now(self) -> int:
        """The time of the best block, Unix milliseconds; 0 for the genesis block."""
        return await self._chain.do(plays.now())

    async def jump(self, seconds: float) -> int:
        """Add a block at least so much later than the last one; its time, Unix milliseconds."""
        return await self._chain.do(plays.jump(seconds))
