"""What may a test do to a development chain from outside?

Make blocks and forks, hold and give finality, jump in time, and apply calls of the development runtime's own
pallet: fund an account, see a deposit, move a price, let a transfer fail.
None of this exists on a chain that lives elsewhere.
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
from cfnode.devchain.rotation import Rotation, RotationStopped, follow
from cfnode.devchain.snapshots import Announced, Snapshots
from cfnode.devchain.voter import Voter
from cfnode.node.chain import Chain
from cfnode.node.chain_errors import ChainRefusal
from cfnode.node.outcome import Inclusion
from cfnode.node.pool import TransactionPool
from cfnode.node.submission import Call, Submission

PALLET = "Dev"
MAX_ANNOUNCED = 1_000


class NotPlayed(ChainRefusal):
    """The development runtime has no such chain, asset or amount; the text says what it has."""


class DevControl:
    """The hands on a development chain; what `dev_*` methods call."""

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        author: Author,
        finality: Voter,
        snapshots: Snapshots,
    ) -> None:
        self._chain = chain
        self._pool = pool
        self._author = author
        self._finality = finality
        self.snapshots = snapshots
        self.announced = snapshots.announced

    async def new_block(
        self,
        parent: bytes | None = None,
        transactions: Sequence[bytes] | None = None,
        finalize: bool = False,
    ) -> NewBlock:
        """Make one block now, on any block that can still win; see `Author.new_block`."""
        new = await self._author.new_block(parent, transactions, finalize)
        if self._author.seal == "manual":
            # So the final block, where the era of the broker's transactions begins, does not depend on time.
            await self._finality.follow()
        return new

    async def finalize(self, block_hash: bytes | None = None) -> bytes:
        """Make a block (default: the best one) and all before it final; returns its hash."""
        target = block_hash or self._chain.best.hash
        await self._finality.finalize(target)
        return target

    async def hold_finality(self, hold: bool = True) -> None:
        """Stop automatic finality, or let it go on and catch up."""
        if hold:
            self._finality.hold()
        else:
            await self._finality.release()

    def silence(self, authorities: Iterable[int]) -> None:
        """From now on exactly these authorities (indices) sign no votes."""
        self._finality.silence(authorities)

    def jump(self, milliseconds: int) -> int:
        """Let the chain's clock jump; returns the time (Unix ms) of the next block. Raises ClockError."""
        return self._author.jump(milliseconds)

    async def apply(self, name: str, **fields: Any) -> Inclusion:
        """Apply a call of the development pallet; returns when it is in a block of the best chain.

        On a chain that makes blocks only when asked, this makes one. Raises PoolError, SubmissionError, or
        NotPlayed if the runtime has no such chain, asset or amount.
        """
        metadata = (await self._chain.runtime_at(self._chain.best.hash)).metadata
        try:
            call = metadata.call_codec.encode(Call(PALLET, name, fields).value)
        except ScaleError as error:
            raise NotPlayed(f"the development chain does not play this: {error}") from None
        watch = await self._pool.submit_and_watch(bare_extrinsic(call), SOURCE_LOCAL)
        with Submission(self._chain, watch) as submission:
            if self._author.seal == "manual":
                await self.new_block()
            return await submission.in_block()

    async def settle_redemption(self, account: bytes, expired: bool = False) -> Inclusion:
        """The FLIP that an account redeems has been paid out, or its time is over."""
        return await self.apply("settle_redemption", account_id=account, expired=expired)

    async def as_governance(self, call: Any) -> Inclusion:
        """Dispatch a runtime call (a value of the SCALE codec) as governance would."""
        return await self.apply("as_governance", call=call)

    async def upgrade(self, release: str) -> Inclusion:
        """Replace the runtime by another release, as the chain itself would: from the next block on."""
        # Imported late: it is large, and other nodes load this module too.
        from cfnode.devchain.runtime.runtime import code_of

        code = await trio.to_thread.run_sync(code_of, release)
        return await self.apply("as_root", call=("System", ("set_code", {"code": code})))

    async def fund_account(self, account: bytes, amount: int) -> Inclusion:
        """Give an account (32 bytes) FLIP, in atoms; the account is made if it is missing."""
        return await self.apply("fund_account", account_id=account, amount=amount)

    async def witness_deposit(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> Inclusion:
        """A deposit has reached its chain's safety margin; `asset` by variant name, its smallest unit.

        The transaction's hash (32 bytes) is made up if none is given.
        """
        included = await self.apply(
            "witness_deposit", deposit_address=address, asset=asset, amount=amount, transaction=transaction
        )
        self.announced.pop(address, None)
        return included

    async def announce_deposit(
        self, address: EncodedAddress, asset: str, amount: int, transaction: bytes | None = None
    ) -> Inclusion:
        """A deposit has been seen that its chain has not yet confirmed; `witness_deposit` is to follow."""
        included = await self.apply(
            "prewitness_deposit", deposit_address=address, asset=asset, amount=amount, transaction=transaction
        )
        self.announced[address] = Announced(amount, transaction)
        while len(self.announced) > MAX_ANNOUNCED:
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
        """A user has sent a transaction to the vault: `details` is a value of `VaultSwapDetails<str>`.

        On Bitcoin `amount` is what is paid, and `sender` where a refund goes.
        """
        fields = {"details": details, "sender": sender, "amount": amount, "transaction": transaction}
        return await self.apply("send_to_vault", **fields, final=final)

    async def set_boost_depth(self, asset: str, amount: int, *, lending: bool = False) -> Inclusion:
        """Put this much, in the smallest unit, into the boost pool of an asset, or into its lending pool."""
        name = "set_lending_depth" if lending else "set_boost_depth"
        return await self.apply(name, asset=asset, amount=amount)

    async def set_pool(self, asset: str, price: int | None, depth: int | None) -> Inclusion:
        """Fill a pool anew: price of a whole unit, and USDC in it, both in microdollars; None keeps one."""
        return await self.apply("set_pool", asset=asset, price=price, depth=depth)

    async def read_oracle(self, feed: str, price: int | None, is_stale: bool = False) -> Inclusion:
        """The oracle says what a whole unit costs, in microdollars; None: it says nothing any more."""
        return await self.apply("read_oracle", feed=feed, price=price, is_stale=is_stale)

    async def fail_receiver(self, address: EncodedAddress, asset: str, fails: bool = True) -> Inclusion:
        """From now on transfers of an asset to an address fail on their chain, or do not."""
        return await self.apply("fail_receiver", address=address, asset=asset, fails=fails)

    async def abort_next_broadcast(self, chain: str) -> Inclusion:
        """Nobody will be able to send the next transaction to a chain."""
        return await self.apply("abort_next_broadcast", chain=chain)

    async def hold_broadcasts(self, chain: str, hold: bool = True) -> Inclusion:
        """From now on no transaction reaches a chain; or again, and those that were held back do, too."""
        return await self.apply("hold_broadcasts", chain=chain, held=hold)

    async def fail_broadcast(self, chain: str, broadcast_id: int | None = None) -> Inclusion:
        """The authority that was asked to send a broadcast (default: the newest) says that it could not."""
        return await self.apply("fail_broadcast", chain=chain, broadcast_id=broadcast_id)

    def hold_signatures(self, hold: bool = True) -> None:
        """Let the authorities sign nothing for other chains from now on, or sign again."""
        self._author.signs = not hold

    async def next_epoch(self) -> BlockRef:
        """Begin the next epoch; the first block of it."""
        await self.apply("end_epoch")
        return await self._add_block()

    async def rotate(self) -> Rotation:
        """Carry a rotation of keys out, up to the new epoch.

        Raises SubmissionError while one is in progress, NotPlayed if it does not go on.
        """
        if not self._author.signs:
            raise NotPlayed(
                "a new key has to sign, and signatures are held back: dev_holdSignatures false first"
            )
        began = await self.as_governance(("Validator", "force_rotation"))
        try:
            return await follow(self._chain, began.block, self._add_block)
        except RotationStopped as error:
            raise NotPlayed(str(error)) from None

    async def _add_block(self) -> BlockRef:
        return (await self.new_block()).block
