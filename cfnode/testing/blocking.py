"""Blocking control of a development chain in tests.

`asynchronous.py` has the methods as coroutines.
"""

from __future__ import annotations

from typing import Any, TypeVar

from cfnode.sdk import SwapSDK
from cfnode.sdk.calls import Call
from cfnode.testing import dev_calls
from cfnode.testing.address import AtNode
from cfnode.testing.asynchronous import AsyncDevChain
from cfnode.testing.dev_calls import FUNDS, MAX_BLOCKS, Asset, Event

__all__ = ["Broker", "Clock", "DevChain"]

T = TypeVar("T")


class DevChain(AtNode[SwapSDK]):
    """A development chain at a node's address, as a context manager or with `close()`.

    `broker` (Broker) opens channels, `clock` (Clock) moves the chain's time, `sdk` is a client of
    its swap service. Amounts are in the smallest unit of their asset. Methods raise RpcCallError if the node
    refuses.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, SwapSDK)
        self.broker = Broker(self)
        self.clock = Clock(self)

    def aio(self) -> AsyncDevChain:
        """Return an async client of this chain, for trio and asyncio: `async with chain.aio() as chain:`."""
        return AsyncDevChain(self.url)

    def do(self, call: Call[T]) -> T:
        """Run a call of the SDK; return its result."""
        return self.sdk.call(call)

    def rpc(self, method: str, *params: Any) -> Any:
        """Make a JSON-RPC call; return its result."""
        return self.do(dev_calls.call(method, *params))

    def new_block(self, count: int = 1) -> str:
        """Add `count` blocks; return the hash of the last one."""
        return self.do(dev_calls.new_blocks(count))

    def finalize(self) -> str:
        """Finalize the best block; return its hash."""
        block: str = self.rpc("dev_finalize")
        return block

    def events(self, block: str | None = None) -> list[Event]:
        """Return the events of a block (default: the best one)."""
        found: list[Event] = self.rpc("dev_events", block)
        return found

    def advance_to(self, pallet: str, name: str, *, max_blocks: int = MAX_BLOCKS) -> Event:
        """Add blocks until one has an event of this pallet and name; return the event.

        The search begins with the best block. Raises NotReached.
        """
        return self.do(dev_calls.advance_to(pallet, name, max_blocks))

    def deposit(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """Witness a confirmed deposit; return the block's hash. `transaction`: 32 bytes of hex."""
        return self.do(dev_calls.deposit("dev_deposit", address, asset, amount, transaction))

    def announce(self, address: str, asset: Asset, amount: int, transaction: str | None = None) -> str:
        """Announce an unconfirmed deposit, which may be boosted; return the block's hash."""
        return self.do(dev_calls.deposit("dev_announceDeposit", address, asset, amount, transaction))

    def fund(self, account: str, amount: int = FUNDS) -> str:
        """Fund an account with FLIP, in atoms; return the block's hash."""
        return self.do(dev_calls.fund(account, amount))

    def fail_receiver(self, address: str, asset: Asset, fails: bool = True) -> str:
        """Make transfers of an asset to an address fail, or succeed again; return the block's hash."""
        return self.do(dev_calls.fail_receiver(address, asset, fails))

    def set_price(self, asset: Asset, microdollars: int) -> str:
        """Set the pool price of a whole unit of an asset; return the block's hash."""
        return self.do(dev_calls.set_price(asset, microdollars))

    def snapshot(self) -> str:
        """Take a snapshot of the chain; return its number, for `revert`."""
        number: str = self.rpc("dev_snapshot")
        return number

    def revert(self, snapshot: str) -> str:
        """Restore a snapshot, which is valid for one revert; return the hash of the best block."""
        block: str = self.rpc("dev_revert", snapshot)
        return block

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()

    def __enter__(self) -> DevChain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Broker:
    """The broker of the key in the node's keystore."""

    def __init__(self, chain: DevChain) -> None:
        self._chain = chain

    def register(self) -> str:
        """Register the account as a broker; return the transaction's hash.

        The chain of the fixture has the registration already.
        """
        tx_hash: str = self._chain.rpc("broker_register_account")
        return tx_hash

    def open_channel(
        self,
        source: Asset,
        destination: Asset,
        address: str,
        *,
        refund_address: str,
        commission_bps: int = 0,
        **more: Any,
    ) -> dict[str, Any]:
        """Open a deposit channel; return `address`, `channel_id`, `issued_block` and more.

        `more`: `boost_fee`, `channel_metadata`, `affiliate_fees`, `dca_parameters`, and `refund_parameters`
        in place of a refund without retries and without a minimum price.
        """
        opening = dev_calls.open_channel(source, destination, address, refund_address, commission_bps, more)
        return self._chain.do(opening)


class Clock:
    """The chain's own clock, which only blocks and jumps move."""

    def __init__(self, chain: DevChain) -> None:
        self._chain = chain

    def now(self) -> int:
        """Return the time of the best block, Unix milliseconds; 0 for the genesis block."""
        return self._chain.do(dev_calls.now())

    def jump(self, seconds: float) -> int:
        """Add a block at least `seconds` later than the last one; return its time, Unix milliseconds."""
        return self._chain.do(dev_calls.jump(seconds))
