"""Block production of a development chain: when each block is made, by which authority, with which contents.

The authority of a slot seals its block (Substrate, Aura). Usually one process has the keys of all
authorities; otherwise it leaves the slots between its own to other processes. Blocks are made at a steady
pace, or at once when a transaction is ready, or only on request. A block is built with Substrate's own entry
points: inherents first (time, slot, and funds for new development accounts), then the transactions of the
pool.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import trio

from cfnode.core.aura import SLOT_MS, author_index, pre_runtime_item, sealed
from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Keypair
from cfnode.core.scale import encode_compact
from cfnode.core.state import LAST_SEEN_SLOT
from cfnode.devchain.build_log import log_prepared
from cfnode.devchain.clock import ChainClock, SlotInTheFuture
from cfnode.devchain.voter import Voter
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import ChainRefusal, FinalityRefused, ImportRefused
from cfnode.node.chain.events import BestChanged
from cfnode.node.pool.pool import TransactionPool
from cfnode.runtime.calls import RuntimeCallError
from cfnode.runtime.executor import Executor
from cfnode.store import StateDiscarded, UnknownBlock

log = logging.getLogger("cfnode.aura")

ACCOUNT_FUNDS_ATOMS = 1_000 * 10**18
"""FLIP atoms that a new development account gets in its first block."""
POOL_PATIENCE_S = 1.0
"""Seconds that a block waits for the pool to process its parent."""
SLOT_BYTES = 8
"""Bytes of a slot in the state: a u64."""
MAX_SLOTS_TRIED = 10_000
"""Slots in which an author looks for its next one."""
MAX_OFFERED_BYTES = 8 * 1024 * 1024
"""Bytes of candidates for one block: more than any block takes (6.25 MiB on this chain)."""
BLOCK_RETRY_S = 1.0
"""Seconds before the next attempt, after a block could not be made."""

MANUAL_DEADLINE_S = 10.0
"""Seconds in which the candidates of a requested block are tried, while a client waits."""

MAX_SLOTS_LEFT_OUT = 14_400
"""Slots between two blocks of a runtime that reports each missed slot: a day, which takes it half a second.

A runtime that punishes missed slots takes 5 s. A call of 19 s would be ended, at each attempt.
"""

Seal = Literal["slots", "instant", "manual"]


class AuthorError(ChainRefusal):
    """A block that cannot be made; the text says why."""


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A new block.

    `offered`: the number of transactions that the pool had ready for it in time; `taken`: of those in the
    block; `refused`: hashes of those that the runtime rejected, with reasons.
    """

    block: BlockRef
    slot: int
    offered: int
    taken: int
    refused: tuple[tuple[bytes, str], ...]


class Author:
    """The authors of a development chain.

    `keys`: sr25519 key pairs by public key. `funded`: accounts (32 bytes) that get FUNDS if they do not
    exist. `block_time_ms`: real time between two blocks at the steady pace. `opening`: gives the first
    transactions of a block on a parent, before those of the pool. `on_block`: receives of each new block the
    seconds to build it, and its number of extrinsics.
    """

    def __init__(
        self,
        chain: NodeChain,
        executor: Executor,
        pool: TransactionPool,
        clock: ChainClock,
        finality: Voter,
        keys: Mapping[bytes, Keypair],
        *,
        seal: Seal = "slots",
        block_time_ms: int = SLOT_MS,
        funded: Iterable[bytes] = (),
        opening: Callable[[bytes], Awaitable[list[bytes]]] | None = None,
        on_block: Callable[[float, int], None] = lambda seconds, extrinsics: None,
    ) -> None:
        self._chain = chain
        self._executor = executor
        self._pool = pool
        self._clock = clock
        self._finality = finality
        self._keys = dict(keys)
        self._funded = tuple(funded)
        self._opening = opening
        self._on_block = on_block
        self._block_time_ms = block_time_ms
        self.making = trio.Lock()
        """The lock of building and adding a block."""
        self._warned_of_reserve = False
        self.seal = seal
        self.signs = True
        """Whether blocks include the pending signatures of the authorities' aggregate key."""

    async def run(self) -> None:
        """Make blocks at the configured pace until cancelled."""
        if self.seal == "slots":
            await (self._run_real_time() if self._clock.is_real else self._run_steady())
        elif self.seal == "instant":
            await self._run_instant()
        else:
            await trio.sleep_forever()

    async def new_block(
        self,
        parent: bytes | None = None,
        transactions: Sequence[bytes] | None = None,
        finalize: bool = False,
    ) -> NewBlock:
        """Make one block now.

        `parent`: any block of the tree (default: the best one). `transactions`: exactly these, with their
        length prefixes (default: those of the pool). `finalize`: finalize the block at once.
        Raises AuthorError, SlotInTheFuture, ImportRefused or FinalityRefused.
        """
        async with self.making:
            parent_hash, slot = await self._bridge_slots(parent or self._chain.best.hash)
            new_block = await self._make(parent_hash, slot, transactions)
        if finalize:
            await self._finality.finalize(new_block.block.hash)
        return new_block

    def jump(self, milliseconds: int) -> int:
        """Move the chain's clock forward; returns the time (Unix ms) of the next block."""
        return self._clock.jump(milliseconds, self._chain.slot_of(self._chain.best.hash)) * SLOT_MS

    # Paces

    async def _run_real_time(self) -> None:
        while True:
            await self._attempt()
            await trio.sleep(max(0.001, self._clock.until_slot_ms(self._clock.real_slot() + 1) / 1000))

    async def _run_steady(self) -> None:
        due_at = trio.current_time()
        while True:
            head, slots = self._chain.best, await self._slots_to_own()
            due_at = max(due_at + slots * self._block_time_ms / 1000, trio.current_time())
            if slots > 1 and await self._is_overtaken(head, due_at):
                due_at = trio.current_time()
            else:
                await trio.sleep_until(due_at)
                await self._attempt()

    async def _slots_to_own(self) -> int:
        """Return the number of slots from the best block to our next one, past those of other processes."""
        parent = self._chain.best
        try:
            first_slot = self._clock.next_slot(self._chain.slot_of(parent.hash))
            slot, _ = await self._next_own_slot(parent, first_slot)
            return slot - first_slot + 1
        except (AuthorError, SlotInTheFuture, RuntimeCallError, UnknownBlock, StateDiscarded):
            return 1  # the attempt names the reason

    async def _is_overtaken(self, head: BlockRef, due: float) -> bool:
        """Return whether another process makes a block before `due`, on which our next block is built."""
        with trio.move_on_at(due), self._chain.subscribe(only=BestChanged) as events:
            while self._chain.best == head:
                await anext(events)
        return self._chain.best != head

    async def _run_instant(self) -> None:
        await self._seal_at_once()
        while True:
            with self._pool.arrivals() as arrivals:
                await self._seal_while_ready()
                async for _ in arrivals:
                    await self._seal_while_ready()

    async def _seal_while_ready(self) -> None:
        while True:
            await self._pool.ready_at(self._chain.best.hash)
            if not self._pool.status.ready:
                return
            new_block = await self._seal_at_once()
            if new_block is None:
                await trio.sleep(BLOCK_RETRY_S)
            elif new_block.offered and not new_block.taken:
                return  # the waiting transactions cannot be included now

    async def _seal_at_once(self) -> NewBlock | None:
        """Make a block, and finalize it at once unless finality is held."""
        new_block = await self._attempt()
        if new_block is not None and not self._finality.is_held:
            try:
                await self._finality.finalize(new_block.block.hash)
            except (FinalityRefused, RuntimeCallError) as error:
                log.debug("Not final: %s", error)
        return new_block

    async def _attempt(self) -> NewBlock | None:
        while True:
            try:
                new_block = await self.new_block()
            except SlotInTheFuture as error:
                if self._clock.is_real:
                    return None
                await self._wait_for_real_time(error)
            except (AuthorError, ImportRefused, RuntimeCallError) as error:
                log.error("No block was made: %s", error)
                return None
            else:
                return new_block

    async def _wait_for_real_time(self, error: SlotInTheFuture) -> None:
        if not self._warned_of_reserve:
            self._warned_of_reserve = True
            log.warning("Continuing at one block in 6 s: %s", error)
        await trio.sleep(error.wait_ms / 1000)

    # One block

    async def _bridge_slots(self, parent: bytes) -> tuple[bytes, int]:
        """Return the block to build on and the first usable slot.

        If the runtime reports each skipped slot, blocks without transactions are made in between.
        """
        target_slot = self._clock.next_slot(self._chain.slot_of(parent))
        while (last := self._last_reported(parent)) is not None and target_slot - last > MAX_SLOTS_LEFT_OUT:
            parent = (await self._make(parent, last + MAX_SLOTS_LEFT_OUT, [])).block.hash
        return parent, target_slot

    def _last_reported(self, block: bytes) -> int | None:
        """Return the slot up to which the runtime has reported missed slots; None if it reports none."""
        try:
            with self._chain.state(block) as state:
                stored = state.get(LAST_SEEN_SLOT)
        except (UnknownBlock, StateDiscarded):
            return None  # building on this block will raise the error
        if stored is None or len(stored) != SLOT_BYTES:
            return None
        return max(int.from_bytes(stored, "little"), self._chain.slot_of(block) or 0)

    async def _make(self, parent_hash: bytes, slot: int, transactions: Sequence[bytes] | None) -> NewBlock:
        """Make a block in the first slot of ours from `slot` on.

        Raises AuthorError, SlotInTheFuture or ImportRefused.
        """
        parent = self._chain.block_ref(parent_hash)
        if parent is None:
            raise AuthorError(f"the parent 0x{parent_hash.hex()} is unknown")
        on_best = parent == self._chain.best
        offered_transactions = await self._offer(parent, on_best) if transactions is None else []
        candidates = offered_transactions if transactions is None else list(transactions)
        started = trio.current_time()
        try:
            slot, keypair = await self._next_own_slot(parent, slot)
            if transactions is None and self._opening is not None:
                candidates = [*await self._opening(parent.hash), *candidates]
            built = await self._executor.build_block(
                parent.hash, [pre_runtime_item(slot)], self._inherents(slot), candidates, self._deadline_s
            )
        except (RuntimeCallError, UnknownBlock, StateDiscarded) as error:
            raise AuthorError(f"no block on #{parent.number} 0x{parent.hash.hex()}: {error}") from error
        header = sealed(built.header, keypair.sign(built.header.hash))
        log_prepared(built, header, elapsed_s := trio.current_time() - started)
        await self._chain.import_built(header, built.body, built.changes)
        self._on_block(elapsed_s, len(built.body))
        self._clock.use_slot(slot)
        if offered_transactions and on_best:
            self._pool.remove_invalid(tx_hash for tx_hash, _ in built.refused)
        included = {blake2_256(extrinsic) for extrinsic in built.body}
        taken_count = sum(1 for candidate in candidates if blake2_256(candidate) in included)
        refused = tuple(built.refused)
        return NewBlock(
            BlockRef(header.hash, header.number), slot, len(offered_transactions), taken_count, refused
        )

    async def _next_own_slot(self, parent: BlockRef, slot: int) -> tuple[int, Keypair]:
        """Return the first slot from `slot` on whose author is one of ours, and that author's key."""
        authorities = await self._chain.queries.aura_authorities(parent.hash)
        for candidate in range(slot, slot + min(len(authorities), MAX_SLOTS_TRIED)):
            keypair = self._keys.get(authorities[author_index(candidate, len(authorities))])
            if keypair is not None:
                self._clock.check(candidate)
                return candidate, keypair
        raise AuthorError(
            f"this node has none of the {len(authorities)} authorities' keys: insert an aura key"
        )

    async def _offer(self, parent: BlockRef, on_best: bool) -> list[bytes]:
        """Return the pool's transactions for a block; the pool validates them for the best block only."""
        if on_best:
            with trio.move_on_after(POOL_PATIENCE_S):
                await self._pool.ready_at(parent.hash)
            if not self._pool.is_at(parent.hash):
                return []  # transactions for another block may be invalid on this one
        offered_transactions: list[bytes] = []
        size = 0
        for transaction in self._pool.ready():
            size += len(transaction.data)
            if size > MAX_OFFERED_BYTES:
                break
            offered_transactions.append(transaction.data)
        return offered_transactions

    def _inherents(self, slot: int) -> list[tuple[bytes, bytes]]:
        funds = b"".join(account + ACCOUNT_FUNDS_ATOMS.to_bytes(16, "little") for account in self._funded)
        return [
            (b"timstap0", self._clock.timestamp_ms(slot).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
            (b"devfund0", encode_compact(len(self._funded)) + funds),
            *(() if self.signs else [(b"devmute0", b"")]),
        ]

    @property
    def _deadline_s(self) -> float:
        """Seconds in which candidates are tried; manual blocks are bounded by weight and length instead."""
        if self.seal == "manual":
            return MANUAL_DEADLINE_S
        return max(0.5, min(self._block_time_ms, SLOT_MS) / 1000 * 2 / 3)
