"""An account of the node that signs calls: submission, inclusion, and preallocated deposit channels.

It holds what does not depend on the calls: which channels are preallocated to the account, and when a call
counts as done. The broker and the liquidity provider are such accounts.
"""

from __future__ import annotations

from enum import Enum

from cfnode.core.assets import ASSETS
from cfnode.flow.shared_work import SharedWork
from cfnode.node.chain.view import ChainView
from cfnode.node.signing.outcome import Inclusion
from cfnode.node.signing.submission import SignedClient, SubmittedCall

__all__ = ["SigningAccount", "WaitFor"]

PREALLOCATED = "CustomRuntimeApi_cf_get_preallocated_deposit_channels"


class WaitFor(Enum):
    """The point at which a call counts as done: `WaitFor` of Chainflip's API."""

    NO_WAIT = "NoWait"
    """Once the call is in the pool: its result is unknown."""
    IN_BLOCK = "InBlock"
    FINALIZED = "Finalized"


class SigningAccount:
    """The account of one key. Its calls raise the errors of SignedClient and Submission."""

    def __init__(self, chain: ChainView, client: SignedClient) -> None:
        self._chain = chain
        self._client = client
        self._allocated: dict[str, tuple[bytes, frozenset[int]]] = {}
        self._asking = SharedWork[tuple[bytes, str], frozenset[int]]()

    @property
    def account(self) -> bytes:
        """The account id, 32 bytes."""
        return self._client.account

    def repeat_signatures(self) -> None:
        """Sign equal transactions with equal bytes, on a development chain."""
        self._client.repeat_signatures()

    async def included(self, call: SubmittedCall, *, dry_run: bool = True) -> Inclusion:
        """Submit a call and wait for the block that includes it."""
        with await self._client.submit(call, dry_run=dry_run) as submission:
            return await submission.in_block()

    async def finalized(self, call: SubmittedCall, *, dry_run: bool = True) -> Inclusion:
        """Submit a call and wait until the block that includes it is final."""
        with await self._client.submit(call, dry_run=dry_run) as submission:
            return await submission.finalized()

    async def sent(self, call: SubmittedCall) -> bytes:
        """Submit a call without a dry run, and do not wait for a block; return the transaction's hash."""
        with await self._client.submit(call, dry_run=False) as submission:
            self._client.tally.count("unknown")
            return submission.tx_hash

    async def opened(
        self, call: SubmittedCall, asset: str, ready: tuple[str, str], *, dry_run: bool = True
    ) -> Inclusion:
        """Submit a call that opens a channel for an asset; return its inclusion.

        `ready`: pallet and name of the event that contains the channel's id.

        Return with the block that includes the call if the channel was preallocated, else only with
        finality: until then, a fork could assign the address to another account.
        """
        with await self._client.submit(call, dry_run=dry_run) as submission:
            preallocated = await self._preallocated(ASSETS[asset].chain)
            inclusion = await submission.in_block()
            if inclusion.event(*ready).get("channel_id") in preallocated:
                return inclusion
            return await submission.finalized()

    async def _preallocated(self, chain: str) -> frozenset[int]:
        """Return the ids of the preallocated channels of this account for `chain`, in the finalized state.

        Concurrent requests at the same block share one runtime call.
        """
        finalized = self._chain.finalized.hash
        block, allocated = self._allocated.get(chain, (b"", frozenset()))
        if block == finalized:
            return allocated
        return await self._asking.once((finalized, chain), lambda: self._allocated_at(finalized, chain))

    async def _allocated_at(self, block: bytes, chain: str) -> frozenset[int]:
        metadata = (await self._chain.runtime_at(block)).metadata
        if not metadata.has_api(PREALLOCATED):
            return frozenset()  # runtimes before 2.2 prepare no addresses
        method = metadata.api_method(PREALLOCATED)
        output = await self._chain.queries.call(block, PREALLOCATED, method.encode_args(self.account, chain))
        allocated: frozenset[int] = frozenset(method.decode(output))
        self._allocated[chain] = block, allocated
        return allocated
