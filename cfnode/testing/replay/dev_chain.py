"""Development chain of a replay, each of whose blocks has exactly the chosen transactions.

The records of a block become calls of the development pallet, which only a block's author may add, so a block
holds as many as it needs. The account's own calls go through the node, which signs them: they are sent one by
one, so that the nonces are in order, and wait in the pool for the block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from cfnode.core.aura import SLOT_MS
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.foreign import hex_number
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.sdk.errors import RpcCallError
from cfnode.sdk.lp import LiquidityProvider, Market
from cfnode.sdk.lp.market import market_at
from cfnode.sdk.lp.orders import Pool
from cfnode.testing.blocking import DevChain
from cfnode.testing.dev_calls import Event, dev_call
from cfnode.testing.replay.errors import ReplayError

__all__ = ["AddedBlock", "Stage"]

POOL_POLL_S = 0.002
POOL_TIMEOUT_S = 60.0
"""Maximum seconds until a transaction that was sent is in the pool."""


@dataclass(frozen=True, slots=True)
class AddedBlock:
    """A block that was added.

    `events` are its events, `refusals` has the reason why each of its transactions failed (None: it
    succeeded), `results` has the results of the calls that waited for the block.
    """

    block_hash: str
    events: list[Event]
    refusals: list[str | None]
    results: list[Any]


class Stage:
    """A development chain with manual blocks, which are final at once, and its liquidity provider."""

    def __init__(self, url: str, account: str) -> None:
        self.account = account
        self.chain = DevChain(url)
        self.provider = LiquidityProvider(url, account, wait_for="NoWait")
        self._seen = set[str]()
        self._resources = ExitStack()
        for resource in (self.chain, self.provider):
            self._resources.enter_context(resource)
        self._threads = ThreadPoolExecutor(thread_name_prefix="replay")
        self._resources.callback(self._threads.shutdown, wait=False)
        self._metadata: Metadata | None = None
        self._pools: tuple[Pool, ...] = ()

    def __enter__(self) -> Self:
        """Return the stage, whose clients the end of the block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the clients of the chain and of the provider, and let the threads end."""
        self._resources.close()

    @property
    def metadata(self) -> Metadata:
        """The runtime's metadata, read once."""
        if self._metadata is None:
            self._metadata = decode_metadata(bytes.fromhex(self.chain.rpc("state_getMetadata")[2:]))
        return self._metadata

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The chain's pools, read once: none is created during a replay."""
        if not self._pools:
            self._pools = self.provider.get_pools()
        return self._pools

    def market(self, block: str, prices: Mapping[str, int], pools_with_orders: Collection[Pool]) -> Market:
        """Return the market after a block; `prices` in microdollars.

        The account must have no orders in other pools than `pools_with_orders`.
        """
        dollars = {asset: Decimal(price).scaleb(-6) for asset, price in prices.items()}
        pools = self.pools
        return self.provider.call(
            dev_call(lambda session: market_at(session, block, dollars, pools, pools_with_orders))
        )

    def flip(self) -> int:
        """Return the account's own FLIP, which pays the transaction fees, in base units."""
        return hex_number(self.chain.rpc("cf_account_info", self.account)["flip_balance"], 128)

    def begin(self) -> None:
        """Add the first block, which registers the accounts."""
        self.chain.new_block()

    def jump_to(self, slot: int) -> None:
        """Let the next block be in a later slot."""
        skipped = slot - self.chain.clock.now() // SLOT_MS - 1
        if skipped:
            self.chain.rpc("dev_timeTravel", skipped * SLOT_MS)

    def dev_call(self, name: str, **fields: Any) -> str:
        """Return a transaction with a call of the development pallet, for `add_block`."""
        call = self.metadata.call_codec.encode(("Dev", (name, fields)))
        return "0x" + bare_extrinsic(call).hex()

    def send(self, calls: Iterable[tuple[str, Sequence[Any]]]) -> list[str]:
        """Send calls that do not wait for a block; return their transactions. Raises RpcCallError.

        Each is sent after the answer to the one before: the calls of one exchange would be signed in any
        order.
        """
        count = 0
        for method, params in calls:
            self.chain.rpc(method, *params)
            count += 1
        return self._sent(count) if count else []

    def add_block(
        self,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        waiting: Iterable[Callable[[], Any]] = (),
    ) -> AddedBlock:
        """Add a block with the transactions `before`, those of the calls `waiting`, and `after`.

        Each call of `waiting` sends one transaction and returns once it is final. Raises ReplayError if the
        chain rejects a transaction.
        """
        running, sent = list[Future[Any]](), list[str]()
        for call in waiting:
            running.append(self._threads.submit(call))
            sent += self._sent(1, running[-1])
        transactions = [*before, *sent, *after]
        try:
            block = self.chain.rpc("dev_newBlock", None, transactions)
        except RpcCallError as error:
            raise ReplayError(f"the chain made no block: {error.message}") from None
        events = self.chain.events(block)
        return AddedBlock(
            block, events, self._refusals(events, len(transactions)), [future.result() for future in running]
        )

    def _sent(self, count: int, call: Future[Any] | None = None) -> list[str]:
        """Return the next transactions in the pool; raise the error of the call.

        Raises ReplayError if there is none after POOL_TIMEOUT_S.
        """
        deadline = time.monotonic() + POOL_TIMEOUT_S
        while True:
            pending: list[str] = self.chain.rpc("author_pendingExtrinsics")
            unseen = [transaction for transaction in pending if transaction not in self._seen]
            if len(unseen) >= count:
                self._seen.update(unseen)
                return unseen
            if call is not None and call.done():
                call.result()
            if time.monotonic() > deadline:
                raise ReplayError(f"a transaction is not in the pool after {POOL_TIMEOUT_S:g} s")
            time.sleep(POOL_POLL_S)

    def _refusals(self, events: Iterable[Event], count: int) -> list[str | None]:
        """Return the reason why each of the block's last transactions failed; None for a success."""
        outcomes = [
            self._reason(event["fields"]["dispatch_error"]) if event["name"] == "ExtrinsicFailed" else None
            for event in events
            if event["pallet"] == "System" and event["name"] in ("ExtrinsicSuccess", "ExtrinsicFailed")
        ]
        return outcomes[len(outcomes) - count :]

    def _reason(self, error: Any) -> str:
        """Return the name and text of a dispatch error."""
        if not isinstance(error, list) or error[0] != "Module":
            return str(error)
        index, code = error[1]["index"], bytes.fromhex(error[1]["error"][2:])
        _, name, text = self.metadata.error(index, code)
        return f"{name}: {text}" if text else name
