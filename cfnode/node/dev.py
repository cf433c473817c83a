"""What may a test do to a development chain from outside?

Make blocks and forks, hold and give finality, jump in time, and apply calls of the development runtime's own
pallet, such as funding an account.
None of this exists on a chain that lives elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cfnode.core.extrinsic import bare_extrinsic
from cfnode.core.validity import SOURCE_LOCAL
from cfnode.node.author import Author, NewBlock
from cfnode.node.chain import Chain
from cfnode.node.finality import DevFinality
from cfnode.node.outcome import Inclusion
from cfnode.node.pool import TransactionPool
from cfnode.node.submission import Call, Submission

PALLET = "Dev"


class DevControl:
    """The hands on a development chain; what `dev_*` methods call."""

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        author: Author,
        finality: DevFinality,
    ) -> None:
        self._chain = chain
        self._pool = pool
        self._author = author
        self._finality = finality

    async def new_block(
        self,
        parent: bytes | None = None,
        transactions: Sequence[bytes] | None = None,
        finalize: bool = False,
    ) -> NewBlock:
        """Make one block now, on any block that can still win; see `Author.new_block`."""
        return await self._author.new_block(parent, transactions, finalize)

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

        On a chain that makes blocks only when asked, this makes one. Raises PoolError or SubmissionError.
        """
        metadata = (await self._chain.runtime_at(self._chain.best.hash)).metadata
        call = metadata.call_codec.encode(Call(PALLET, name, fields).value)
        watch = await self._pool.submit_and_watch(bare_extrinsic(call), SOURCE_LOCAL)
        with Submission(self._chain, watch) as submission:
            if self._author.seal == "manual":
                await self._author.new_block()
            return await submission.in_block()

    async def as_governance(self, call: Any) -> Inclusion:
        """Dispatch a runtime call (a value of the SCALE codec) as governance would."""
        return await self.apply("as_governance", call=call)

    async def fund_account(self, account: bytes, amount: int) -> Inclusion:
        """Give an account (32 bytes) FLIP, in atoms; the account is made if it is missing."""
        return await self.apply("fund_account", account_id=account, amount=amount)
