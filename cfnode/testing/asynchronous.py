"""Async control of a development chain in tests, under trio or asyncio.

`blocking.py` has the methods that block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Never, TypeVar, overload

from cfnode.sdk import AsyncSwapSDK
from cfnode.sdk.amounts import Quantity
from cfnode.sdk.calls import Call
from cfnode.testing import awaiting, channels, dev_calls
from cfnode.testing.address import AtNode
from cfnode.testing.awaiting import Cursor
from cfnode.testing.channels import Channel
from cfnode.testing.dev_calls import DEFAULT_FUNDS_ATOMS, MAX_ADVANCED_BLOCKS, Asset, Event
from cfnode.testing.frames import expected

__all__ = ["AsyncBroker", "AsyncClock", "AsyncDevChain"]

__tracebackhide__ = expected

T = TypeVar("T")


class AsyncDevChain(AtNode[AsyncSwapSDK]):
    """A development chain at a node's address, for trio and asyncio, as an async context manager.

    `broker` (AsyncBroker) opens channels, `clock` (AsyncClock) moves the chain's time, `sdk` is a client of
    its swap service. Amounts are in the smallest unit of their asset. Methods raise RpcCallError if the node
    refuses.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, AsyncSwapSDK)
        self.cursor = Cursor()
        self.broker = AsyncBroker(self)
        self.clock = AsyncClock(self)

    async def do(self, call: Call[T]) -> T:
        """Run a call of the SDK; return its result."""
        return await self.sdk.call(call)

    async def rpc(self, method: str, *params: Any) -> Any:
        """Make a JSON-RPC call; return its result."""
        return await self.do(dev_calls.call(method, *params))

    async def new_block(self, count: int = 1) -> str:
        """Add `count` blocks; return the hash of the last one."""
        return await self.do(dev_calls.new_blocks(count))

    async def finalize(self) -> str:
        """Finalize the best block; return its hash."""
        block: str = await self.rpc("dev_finalize")
        return block

    async def events(self, block: str | None = None) -> list[Event]:
        """Return the events of a block (default: the best one)."""
        events: list[Event] = await self.rpc("dev_events", block)
        return events

    async def advance_to(self, pallet: str, name: str, *, max_blocks: int = MAX_ADVANCED_BLOCKS) -> Event:
        """Return the next event of this pallet and name; add blocks until one has it.

        The search begins behind the event that was last returned, for a fixture's first one behind the blocks
        before the test, else in the best block. Raises UnknownEvent for a mistyped name, or NotReached.
        """
        return await self.do(awaiting.advance_to(self.cursor, pallet, name, max_blocks))

    @overload
    async def deposit(self, address: Channel, *, amount: Quantity, transaction: str | None = None) -> str: ...
    @overload
    async def deposit(
        self, address: str | Channel, asset: Asset, amount: Quantity, transaction: str | None = None
    ) -> str: ...
    async def deposit(
        self,
        address: str | Channel,
        asset: Asset | None = None,
        amount: Quantity | None = None,
        transaction: str | None = None,
    ) -> str:
        """Witness a confirmed deposit; return the block's hash.

        `address` is a channel, whose asset is the default, or its address; `transaction`: 32 bytes of hex.
        """
        return await self.do(channels.deposit("dev_deposit", address, asset, amount, transaction))

    @overload
    async def announce(
        self, address: Channel, *, amount: Quantity, transaction: str | None = None
    ) -> str: ...
    @overload
    async def announce(
        self, address: str | Channel, asset: Asset, amount: Quantity, transaction: str | None = None
    ) -> str: ...
    async def announce(
        self,
        address: str | Channel,
        asset: Asset | None = None,
        amount: Quantity | None = None,
        transaction: str | None = None,
    ) -> str:
        """Announce an unconfirmed deposit into an open channel; return the block's hash.

        It is boosted if the channel has a boost fee and a pool has the liquidity. Arguments are those of
        `deposit`, which confirms it.
        """
        return await self.do(channels.deposit("dev_announceDeposit", address, asset, amount, transaction))

    async def fund(self, account: str, amount: Quantity = DEFAULT_FUNDS_ATOMS) -> str:
        """Fund an account with FLIP; return the block's hash."""
        return await self.do(dev_calls.fund(account, amount))

    async def fail_receiver(self, address: str, asset: Asset, fails: bool = True) -> str:
        """Make transfers of an asset to an address fail, or succeed again; return the block's hash."""
        return await self.do(dev_calls.fail_receiver(address, asset, fails))

    async def set_price(self, asset: Asset, price: str | Decimal) -> str:
        """Set the pool price of a whole unit of an asset, in dollars; return the block's hash.

        `price` is text or a Decimal (`"2800.5"`), to the millionth of a dollar. Raises ValidationError, also
        for an int, which once was millionths of a dollar.
        """
        return await self.do(dev_calls.set_price(asset, price))

    async def set_boost(self, asset: Asset, amount: Quantity, *, lending: bool = False) -> str:
        """Set the amount in the boost (or lending) pool of an asset; return the block's hash."""
        return await self.do(dev_calls.set_boost(asset, amount, lending))

    async def snapshot(self) -> str:
        """Take a snapshot of the chain; return its number, for `revert`."""
        return await self.do(awaiting.snapshot(self.cursor))

    async def revert(self, snapshot: str) -> str:
        """Restore a snapshot, which is valid for one revert; return the hash of the best block."""
        return await self.do(awaiting.revert(self.cursor, snapshot))

    async def close(self) -> None:
        """Close the connections."""
        await self.sdk.close()

    async def __aenter__(self) -> AsyncDevChain:
        """Return the chain's client, which the end of the block closes."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the client; the chain goes on."""
        await self.close()


class AsyncBroker:
    """The broker of the key in the node's keystore."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def register(self) -> str:
        """Register the account as a broker; return the transaction's hash.

        The chain of the fixture has the registration already.
        """
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
        boost_fee: int | None = None,
        channel_metadata: Mapping[str, Any] | None = None,
        affiliate_fees: Sequence[Mapping[str, Any]] | None = None,
        dca_parameters: Mapping[str, Any] | None = None,
        refund_parameters: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> Channel:
        """Open a deposit channel; return it with `id`, `address`, `chain`, `expiry` and the broker's answer.

        `boost_fee` is the maximum in basis points. `refund_parameters` replaces a refund without retries and
        without a minimum price. Raises ValueError for an unknown asset, RpcCallError if the broker refuses.
        """
        more = {
            "boost_fee": boost_fee,
            "channel_metadata": channel_metadata,
            "affiliate_fees": affiliate_fees,
            "dca_parameters": dca_parameters,
            "refund_parameters": refund_parameters,
            **unknown,
        }
        opening = channels.open_channel(source, destination, address, refund_address, commission_bps, more)
        return await self._chain.do(opening)


class AsyncClock:
    """The chain's own clock, which only blocks and jumps move."""

    def __init__(self, chain: AsyncDevChain) -> None:
        self._chain = chain

    async def now(self) -> int:
        """Return the time of the best block, Unix milliseconds; 0 for the genesis block."""
        return await self._chain.do(dev_calls.now())

    async def jump(self, seconds: float) -> int:
        """Add a block at least `seconds` later than the last one; return its time, Unix milliseconds."""
        return await self._chain.do(dev_calls.jump(seconds))
