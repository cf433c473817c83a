"""Does an announced block lead to our chain? Headers first: no body is fetched before its header is linked.

1. The headers of the block and of its ancestors are fetched from the peer that announced it, many at a time,
   down to a block of our tree. Often the announcement itself holds the only one that is needed.
2. The row is judged: numbers and parent hashes, slots in order, and the seals for as long as the authorities
   are known (up to the first header that announces new ones; the rest is judged when it is imported).
3. What holds is *linked*: its bodies may be fetched (`bodies.py`). Nobody but an authority can make it up.

Everything is bounded by peer and altogether. A peer that announced what does not lead here pays for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import trio

from cfnode.core.aura import AuraError, authorities_change, slot_of, verify_seal
from cfnode.core.block import BlockRef
from cfnode.core.grandpa import scheduled_change
from cfnode.core.header import Header
from cfnode.core.wire.blocks import MAX_BLOCKS
from cfnode.node import chain_errors as refused
from cfnode.node.chain import Chain
from cfnode.node.slots import check_digest, check_time
from cfnode.node.sync.asker import Answer, Asker, Unanswered
from cfnode.node.sync.blocks import FetchedBlock, FetchedHeader, headers_up_to
from cfnode.node.sync.imports import Imports
from cfnode.node.sync.reputation import Failure
from cfnode.node.sync.wanted import Announced
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["Linked", "Links", "Unlinked", "judge"]

MAX_DEPTH = 4_096
"""Ancestors of an announced block that are fetched, looking for one that we have."""

MAX_LINKED = 4_096
"""Linked headers that wait for their bodies."""

MAX_PARTIAL = 3
"""Answers with fewer headers than were asked for, in one row: a server stops at 128, and no earlier."""

MAX_PEER_BYTES = 2 << 20
"""Bytes of headers of one peer under way: as deep a row as is fetched takes no more."""

MAX_STRANGERS_BYTES = 4 << 20
"""Bytes of headers under way of all peers that have not delivered yet."""

MAX_BYTES = 8 << 20
"""Bytes of headers under way altogether."""

Authorities = tuple[bytes, ...]


@dataclass(slots=True)
class Linked:
    """A header that leads to our tree, and the peers that have its block. `authorities`: those that seal its
    children; None where they are not known."""

    header: Header
    authorities: Authorities | None
    sources: set[str] = field(default_factory=set)


class Unlinked(Exception):
    """The block does not lead to our tree, or not now; the peer has had its price."""


def judge(
    headers: Sequence[Header], parent: Header, authorities: Authorities | None, now: int
) -> list[Authorities | None]:
    """Check a row of headers above a known one; for each, the authorities of what follows it. Raises
    ImportRefused. Signatures take time: call it in a thread."""
    following: list[Authorities | None] = []
    for header in headers:
        if header.number != parent.number + 1:
            raise refused.WrongNumber(f"block #{header.number} names block #{parent.number} as its parent")
        check_digest(header, slot_of(parent) if parent.number else None)
        if authorities is not None:
            _check_seal(header, authorities)
            check_time(header, now)
        if authorities_change(header) is not None or scheduled_change(header) is not None:
            authorities = None
        following.append(authorities)
        parent = header
    return following


def _check_seal(header: Header, authorities: Authorities) -> None:
    try:
        verify_seal(header, authorities)
    except AuraError as error:
        raise refused.BadSeal(str(error)) from error


class Links:
    """The linked headers, and how announced blocks come among them."""

    def __init__(self, chain: Chain, asker: Asker, imports: Imports) -> None:
        self._chain = chain
        self._asker = asker
        self._imports = imports
        self._linked: OrderedDict[bytes, Linked] = OrderedDict()
        self._held: dict[str, int] = {}

    def __contains__(self, block: bytes) -> bool:
        return block in self._linked

    @property
    def bytes_held(self) -> int:
        """Bytes of headers under way."""
        return sum(self._held.values())

    def has(self, peer: str, block: bytes) -> None:
        """A peer has announced a linked block."""
        self._linked[block].sources.add(peer)

    def forget(self, peer: str) -> None:
        """The peer is gone."""
        for linked in self._linked.values():
            linked.sources.discard(peer)

    def sources(self, block: bytes) -> set[str]:
        """The peers that have a linked block; none once it is linked no more."""
        linked = self._linked.get(block)
        return set() if linked is None else linked.sources

    def ready(self) -> list[bytes]:
        """The linked blocks whose parent has its state."""
        return [
            block
            for block, linked in self._linked.items()
            if self._chain.descends_from_finalized(linked.header.parent_hash)
        ]

    def row(self, block: bytes, peer: str, most: int) -> list[bytes]:
        """Linked blocks from `block` upwards that the peer has, as far as there is one way."""
        children: dict[bytes, list[bytes]] = {}
        for child, linked in self._linked.items():
            if peer in linked.sources:
                children.setdefault(linked.header.parent_hash, []).append(child)
        found = [block]
        while len(found) < most and len(above := children.get(found[-1], [])) == 1:
            found += above
        return found

    def remove(self, blocks: Sequence[bytes]) -> None:
        """They have been imported."""
        for block in blocks:
            self._linked.pop(block, None)

    def cut(self, block: bytes) -> None:
        """The block does not come, so nothing above it can: it may be linked anew."""
        gone = {block}
        for child, linked in list(self._linked.items()):  # parents stand before their children
            if child in gone or linked.header.parent_hash in gone:
                gone.add(child)
                del self._linked[child]

    def prune(self, finalized: int) -> None:
        """Drop what is final, has lost against finality, or is in the tree."""
        for block, linked in list(self._linked.items()):
            if linked.header.number <= finalized or self._chain.descends_from_finalized(block):
                del self._linked[block]

    async def link(self, peer: str, block: Announced) -> None:
        """Link an announced block to our tree. Raises Unlinked, when the peer has had its price."""
        answers: list[Answer[list[FetchedHeader]]] = []
        try:
            rows = await self._down_to_tree(peer, block, answers)
            if rows:
                await self.check(peer, rows)
            for answer in answers:
                self._asker.credit(answer)
        except Unanswered as error:
            raise Unlinked(str(error)) from None
        finally:
            self._held.pop(peer, None)

    async def check(self, peer: str, rows: Sequence[FetchedHeader]) -> None:
        """Judge a row above our tree, and keep it. Raises Unlinked."""
        following = await self.judged(peer, rows)
        for row, after in zip(rows, following, strict=True):
            self._linked.setdefault(row.hash, Linked(row.header, after))
            self.has(peer, row.hash)
        while len(self._linked) > MAX_LINKED:
            self._linked.popitem(last=False)

    async def judged(
        self, peer: str, rows: Sequence[FetchedHeader | FetchedBlock]
    ) -> list[Authorities | None]:
        """Judge a row above our tree: for each, the authorities of what follows it. Raises Unlinked."""
        below = rows[0].header.parent_hash
        linked = self._linked.get(below)
        parent = self._chain.header(below) if linked is None else linked.header
        if parent is None:
            raise Unlinked(f"the parent of block #{rows[0].header.number} is gone")
        authorities = await self._authorities(below) if linked is None else linked.authorities
        try:
            headers = [row.header for row in rows]
            now = self._chain.slot_now()
            return await trio.to_thread.run_sync(judge, headers, parent, authorities, now)
        except refused.FutureSlot as error:
            number = rows[-1].header.number
            self._imports.warn_of_clock(f"Block #{number} of {peer} is left for later", error)
            raise Unlinked(str(error)) from None
        except (refused.ImportRefused, AuraError) as error:
            self._imports.mark_bad(rows[-1].hash)
            raise self._failure(
                peer, Failure.BAD_BLOCK, f"block #{rows[-1].header.number}: {error}"
            ) from None

    async def _authorities(self, block: bytes) -> Authorities | None:
        try:
            return await self._chain.queries.aura_authorities(block)
        except (
            RuntimeCallError,
            UnknownBlock,
            StateDiscarded,
        ):  # no fault of any peer: the import will judge
            return None

    async def _down_to_tree(
        self, peer: str, block: Announced, answers: list[Answer[list[FetchedHeader]]]
    ) -> list[FetchedHeader]:
        """The headers from the block's lowest ancestor that we lack up to it; none where it is here."""
        finalized = self._chain.finalized
        rows = [] if block.header is None else [FetchedHeader(block.header, block.hash)]
        missing, number, partial = block.hash, block.number, 0
        if block.header is not None:
            missing, number = block.header.parent_hash, block.number - 1
        while not (missing in self._linked or self._chain.descends_from_finalized(missing)):
            self._check_depth(peer, block, number, finalized)
            below = self._chain.best if len(rows) <= 1 and number > self._chain.best.number else None
            wanted = number - (below or self._chain.finalized).number
            count = max(1, min(wanted, MAX_BLOCKS))
            answer = await self._asker.ask_one(peer, headers_up_to(missing, count))
            if answer.value[-1].header.number != number:
                reason = f"block #{block.number} does not have this number"
                raise self._failure(peer, Failure.BAD_BLOCK, reason)
            answers.append(answer)
            self._hold(peer, answer.size)
            partial += len(answer.value) < count
            if partial > MAX_PARTIAL:
                raise self._failure(peer, Failure.MALFORMED, f"{partial} answers with few headers each")
            rows = [*answer.value, *rows]
            missing, number = rows[0].header.parent_hash, rows[0].header.number - 1
        return rows

    def _check_depth(self, peer: str, block: Announced, number: int, finalized: BlockRef) -> None:
        """May the ancestor at this number lie above our tree? `finalized`: ours, at the beginning."""
        passed = block.number <= self._chain.finalized.number or self._chain.finalized != finalized
        if number <= self._chain.finalized.number and passed:
            raise Unlinked("finality has passed it")
        if number <= finalized.number or block.number - number >= MAX_DEPTH:
            reason = f"block #{block.number} does not descend from our final block #{finalized.number}"
            raise self._failure(peer, Failure.UNFOUNDED, reason)

    def _hold(self, peer: str, size: int) -> None:
        self._held[peer] = self._held.get(peer, 0) + size
        if self._held[peer] > MAX_PEER_BYTES:
            raise self._failure(peer, Failure.MALFORMED, f"more than {MAX_PEER_BYTES} bytes of headers")
        record = self._asker.book.record
        strangers = sum(held for other, held in self._held.items() if not record(other).in_credit)
        most = self.bytes_held > MAX_BYTES
        if most or (strangers > MAX_STRANGERS_BYTES and not record(peer).in_credit):
            raise Unlinked("too many headers are under way")

    def _failure(self, peer: str, failure: Failure, reason: str) -> Unlinked:
        """The error to raise, when the peer has had its price."""
        self._asker.fail(peer, failure, reason)
        return Unlinked(reason)
