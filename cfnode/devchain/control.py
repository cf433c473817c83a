"""The controls by which a test steers a development chain.

A test makes blocks and forks, holds and releases finality, jumps in time, and applies calls of the
development runtime's own pallet: fund an account, witness a deposit, set a price, make a transfer fail.
None of this exists on any other chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import trio

from cfnode.core.addresses import EncodedAddress
from cfnode.core.block import BlockRef
from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.scale import ScaleError
from cfnode.core.validity import SOURCE_LOCAL
from cfnode.devchain.author import Author, NewBlock
from cfnode.devchain.rotation import RotationResult, RotationStopped, follow
from cfnode.devchain.snapshots import SnapshotDeposit, Snapshots
from cfnode.devchain.voter import Voter
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import ChainRefusal
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.signing.outcome import Inclusion
from cfnode.node.signing.submission import Submission, SubmittedCall

PALLET = "Dev"
MAX_ANNOUNCED_BLOCKS = 1_000


class DevCallRefused(ChainRefusal):
    """A chain, asset or amount that the development runtime does not support, or a stopped rotation.

    The text says what it supports, or what is missing.
    """


class DevControl:
    """The controls of a development chain, which the `dev_*` methods call."""

    def __init__(
        self,
        chain: NodeChain,
        pool: TransactionPool,
        author: Author,
        voter: Voter,
        snapshots: Snapshots,
    ) -> None:
        self._chain = chain
        self._pool = pool
        self._author = author
        self._voter = voter
        self.snapshots = snapshots
        self.announced = snapshots.announced

    async def new_block(
        self,
        parent: bytes | None = None,
        transactions: Sequence[bytes] | None = None,
        finalize: bool = False,
    ) -> NewBlock:
        """Make one block now, on any block of the tree; see `Author.new_block`."""
        new_block = await self._author.new_block(parent, transactions, finalize)
        if self._author.seal == "manual":
            # The era of the broker's transactions begins at the final block, which must not depend on time.
            await self._voter.follow()
        return new_block

    async def finalize(self, block_hash: bytes | None = None) -> bytes:
        """Finalize a block (default: the best one) and its ancestors; returns its hash."""
        target = block_hash or self._chain.best.hash
        await self._voter.finalize(target)
        return target

    async def hold_finality(self, hold: bool = True) -> None:
        """Hold automatic finality, or resume it and catch up."""
        if hold:
            self._voter.hold()
        else:
            await self._voter.release()

    def silence(self, authorities: Iterable[int]) -> None:
        """Silence exactly these authorities (indices) from now on."""
        self._voter.silence(authorities)

    def jump(self, milliseconds: int) -> int:
        """Move the chain's clock forward; returns the time (Unix ms) of the next block. Raises ClockError."""
        return self._author.jump(milliseconds)

    async def apply(self, name: str, **fields: Any) -> Inclusion:
        """Apply a call of the development pallet; returns when a block of the best chain includes it.

        On a chain with manual blocks, this makes one. Raises PoolError, SubmissionError, or DevCallRefused if
        the runtime does not support the chain, asset or amount.
        """
        metadata = (await self._chain.runtime_at(self._chain.best.hash)).metadata
        try:
            call = metadata.call_codec.encode(SubmittedCall(PALLET, name, fields).value)
        except ScaleError as error:
            raise DevCallRefused(f"the development chain does not support this: {error}") from None
        watch = await self._pool.submit_and_watch(bare_extrinsic(call), SOURCE_LOCAL)
        with Submission(self._chain, watch) as submission:
            if self._author.seal == "manual":
                await self.new_block()
            return await submission.in_block()

    async def settle_redemption(self, account: bytes, expired: bool = False) -> Inclusion:
        """Confirm that the FLIP of a redemption was paid out, or expire the redemption."""
        return await self.apply("settle_redemption", account_id=account, expired=expired)

    async def as_governance(self, call: Any) -> Inclusion:
        """Dispatch a runtime call (a value of the SCALE codec) as governance."""
        return await self.apply("as_governance", call=call)

    async def upgrade(self, release: str) -> Inclusion:
        """Replace the runtime by another release, which runs from the next block on."""
        # Imported late: it is large, and other nodes load this module too.
        from cfnode.devchain.runtime.runtime import code_of

        code = await trio.to_thread.run_sync(code_of, release)
        return await self.apply("as_root", call=("System", ("set_code", {"code": code})))

    async def fund_account(self, account: bytes, amount: int) -> Inclusion:
        """Fund an account (32 bytes) with FLIP, in atoms; a missing account is created."""
        return await self.apply("fund_account", account_id=account, amount=amount)

    async def witness_deposit(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> Inclusion:
        """Witness a deposit at its chain's safety margin.

        `asset`: a variant's name; `amount`: in its smallest unit. Without a transaction hash (32 bytes), one
        is generated.
        """
        included = await self.apply(
            "witness_deposit", deposit_address=address, asset=asset, amount=amount, transaction=transaction
        )
        self.announced.pop(address, None)
        return included

    async def announce_deposit(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> Inclusion:
        """Prewitness a deposit that its chain has not yet confirmed; `witness_deposit` is to follow."""
        included = await self.apply(
            "prewitness_deposit", deposit_address=address, asset=asset, amount=amount, transaction=transaction
        )
        self.announced[address] = SnapshotDeposit(amount, transaction)
        while len(self.announced) > MAX_ANNOUNCED_BLOCKS:
            del self.announced[next(iter(self.announced))]
        return included

    async def send_to_vault(
        self,
        details: tuple[str, Any],
        sender: EncodedAddress | None = None,
        amount: int | None = None,
        transaction: bytes | None = None,
        *,
        final: bool = True,
    ) -> Inclusion:
        """Witness a user's transaction to the vault: `details` is a value of `VaultSwapDetails<str>`.

        On Bitcoin `amount` is the amount paid, and `sender` the refund address.
        """
        fields = {"details": details, "sender": sender, "amount": amount, "transaction": transaction}
        return await self.apply("send_to_vault", **fields, is_final=final)

    async def set_boost_depth(self, asset: str, amount: int, *, lending: bool = False) -> Inclusion:
        """Set the amount in an asset's boost pool, or in its lending pool, in the smallest unit."""
        name = "set_lending_depth" if lending else "set_boost_depth"
        return await self.apply(name, asset=asset, amount=amount)

    async def set_pool(self, asset: str, price: int | None, depth: int | None) -> Inclusion:
        """Refill a pool: price of a whole unit, and USDC in it, both in microdollars; None keeps a value."""
        return await self.apply("set_pool", asset=asset, price=price, depth=depth)

    async def set_oracle_price(self, feed: str, price: int | None, is_stale: bool = False) -> Inclusion:
        """Set the oracle's price of a whole unit, in microdollars; None removes it."""
        return await self.apply("read_oracle", feed=feed, price=price, is_stale=is_stale)

    async def fail_receiver(self, address: EncodedAddress, asset: str, fails: bool = True) -> Inclusion:
        """Make transfers of an asset to an address fail on their chain from now on, or succeed again."""
        return await self.apply("fail_receiver", address=address, asset=asset, fails=fails)

    async def abort_next_broadcast(self, chain: str) -> Inclusion:
        """Abort the next broadcast to a chain."""
        return await self.apply("abort_next_broadcast", chain=chain)

    async def hold_broadcasts(self, chain: str, hold: bool = True) -> Inclusion:
        """Hold all transactions to a chain from now on, or release them, including those held back."""
        return await self.apply("hold_broadcasts", chain=chain, held=hold)

    async def fail_broadcast(self, chain: str, broadcast_id: int | None = None) -> Inclusion:
        """Report a failure of the authority that sends a broadcast (default: the newest)."""
        return await self.apply("fail_broadcast", chain=chain, broadcast_id=broadcast_id)

    def hold_signatures(self, hold: bool = True) -> None:
        """Hold the authorities' signatures for other chains from now on, or release them."""
        self._author.signs = not hold

    async def next_epoch(self) -> BlockRef:
        """Begin the next epoch; returns its first block."""
        await self.apply("end_epoch")
        return await self._add_block()

    async def rotate(self) -> RotationResult:
        """Rotate the keys, up to the new epoch.

        Raises SubmissionError while a rotation is in progress, DevCallRefused if it stops.
        """
        if not self._author.signs:
            raise DevCallRefused(
                "a new key has to sign, but signatures are held: call dev_holdSignatures false first"
            )
        inclusion = await self.as_governance(("Validator", "force_rotation"))
        try:
            return await follow(self._chain, inclusion.block, self._add_block)
        except RotationStopped as error:
            raise DevCallRefused(str(error)) from None

    async def _add_block(self) -> BlockRef:
        return (await self.new_block()).block
