"""Linking announced blocks to our tree by their headers, before any body is fetched.

1. The headers of the block and of its ancestors are fetched from the peer that announced it, many at a time,
   down to a block of our tree. Often the announcement itself holds the only header that is needed.
2. The headers are verified: numbers and parent hashes, slots in order, and the seals as long as the
   authorities are known (up to the first header that announces new ones; the others are verified at import).
3. Valid headers are *linked*: their bodies may be fetched (`bodies.py`). Only an authority can forge one.

Memory is bounded by peer and in total. A peer whose announced block does not lead to our tree is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cfnode.core.aura import AuraError, authorities_change, slot_of, verify_seal
from cfnode.core.block import BlockRef
from cfnode.core.bounded import BoundedDict
from cfnode.core.grandpa import scheduled_change
from cfnode.core.header import Header
from cfnode.core.wire.blocks import MAX_BLOCKS_PER_ANSWER
from cfnode.node.asking.asker import Asker, PeerAnswer, PeerFailed
from cfnode.node.asking.block_requests import FetchedBlock, FetchedHeader, headers_up_to
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.chain import errors as refused
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.slots import check_digest, check_time
from cfnode.node.sync.following.announced_blocks import AnnouncedBlock
from cfnode.node.sync.following.imports import Imports
from cfnode.node.threads import check_in_thread
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["Linked", "LinkedHeaders", "Unlinked", "verify_headers"]

MAX_FETCHED_ANCESTORS = 4_096
"""Ancestors of an announced block that are fetched, in search of one that we have."""

MAX_LINKED = 4_096
"""Linked headers that wait for their bodies."""

MAX_PARTIAL = 3
"""Answers with fewer headers than requested, for one announced block: a server stops at 128, no earlier."""

MAX_PEER_BYTES = 2 << 20
"""Bytes of headers of one peer that are being linked: the deepest search takes no more."""

MAX_UNKNOWN_PEERS_BYTES = 4 << 20
"""Bytes of headers that are being linked, of all peers that have not delivered yet."""

MAX_LINKED_BYTES = 8 << 20
"""Bytes of headers that are being linked, in total."""

Authorities = tuple[bytes, ...]


@dataclass(slots=True)
class Linked:
    """A header that leads to our tree, and the peers that have its block.

    `authorities`: those that seal its children; None if they are unknown.
    """

    header: Header
    authorities: Authorities | None
    sources: set[str] = field(default_factory=set)


class Unlinked(Exception):
    """A block that does not lead to our tree, or not yet; the peer has been charged if it is at fault."""


def verify_headers(
    headers: Sequence[Header], parent: Header, authorities: Authorities | None, now: int
) -> list[Authorities | None]:
    """Check consecutive headers above a known one; return, for each, the authorities of its children.

    Raise ImportRefused. Signatures take time: call it in a thread.
    """
    authority_sets: list[Authorities | None] = []
    for header in headers:
        if header.number != parent.number + 1:
            raise refused.WrongNumber(f"block #{header.number} names block #{parent.number} as its parent")
        check_digest(header, slot_of(parent) if parent.number else None)
        if authorities is not None:
            _check_seal(header, authorities)
            check_time(header, now)
        if authorities_change(header) is not None or scheduled_change(header) is not None:
            authorities = None
        authority_sets.append(authorities)
        parent = header
    return authority_sets


def _check_seal(header: Header, authorities: Authorities) -> None:
    try:
        verify_seal(header, authorities)
    except AuraError as error:
        raise refused.BadSeal(str(error)) from error


class LinkedHeaders:
    """The linked headers, and the linking of announced blocks."""

    def __init__(self, chain: NodeChain, asker: Asker, imports: Imports) -> None:
        self._chain = chain
        self._asker = asker
        self._imports = imports
        self._linked = BoundedDict[bytes, Linked](MAX_LINKED)
        self._bytes_of: dict[str, int] = {}

    def __contains__(self, block: bytes) -> bool:
        """Return whether the header of the block is linked."""
        return block in self._linked

    @property
    def bytes_held(self) -> int:
        """The number of bytes of headers that are being linked."""
        return sum(self._bytes_of.values())

    def add_source(self, peer: str, block: bytes) -> None:
        """Record that a peer has announced a linked block."""
        self._linked[block].sources.add(peer)

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        for linked in self._linked.values():
            linked.sources.discard(peer)

    def sources(self, block: bytes) -> set[str]:
        """Return the peers that have a linked block; none for a block that is not linked."""
        linked = self._linked.get(block)
        return set() if linked is None else linked.sources

    def ready(self) -> list[bytes]:
        """Return the linked blocks whose parent is in the tree."""
        return [
            block
            for block, linked in self._linked.items()
            if self._chain.descends_from_finalized(linked.header.parent_hash)
        ]

    def segment(self, block: bytes, peer: str, max_blocks: int) -> list[bytes]:
        """Return linked blocks from `block` upwards that the peer has, up to the first fork."""
        children: dict[bytes, list[bytes]] = {}
        for child, linked in self._linked.items():
            if peer in linked.sources:
                children.setdefault(linked.header.parent_hash, []).append(child)
        hashes = [block]
        while len(hashes) < max_blocks and len(next_hashes := children.get(hashes[-1], [])) == 1:
            hashes += next_hashes
        return hashes

    def remove(self, blocks: Sequence[bytes]) -> None:
        """Drop blocks that have been imported."""
        for block in blocks:
            self._linked.pop(block, None)

    def discard(self, block: bytes) -> None:
        """Drop a block whose body is not available, and its descendants: they may be linked again."""
        discarded = {block}
        for child, linked in list(self._linked.items()):  # parents come before their children
            if child in discarded or linked.header.parent_hash in discarded:
                discarded.add(child)
                del self._linked[child]

    def prune(self, finalized: int) -> None:
        """Drop blocks that are final, conflict with finality, or are in the tree."""
        for block, linked in list(self._linked.items()):
            if linked.header.number <= finalized or self._chain.descends_from_finalized(block):
                del self._linked[block]

    async def link(self, peer: str, block: AnnouncedBlock) -> None:
        """Link an announced block to our tree. Raise Unlinked."""
        answers: list[PeerAnswer[list[FetchedHeader]]] = []
        try:
            fetched = await self._down_to_tree(peer, block, answers)
            if fetched:
                await self.add(peer, fetched)
            for answer in answers:
                self._asker.credit(answer)
        except PeerFailed as error:
            raise Unlinked(str(error)) from None
        finally:
            self._bytes_of.pop(peer, None)

    async def add(self, peer: str, fetched: Sequence[FetchedHeader]) -> None:
        """Verify headers above our tree, and link them. Raise Unlinked."""
        authority_sets = await self.check_headers(peer, fetched)
        for fetched_header, authorities in zip(fetched, authority_sets, strict=True):
            self._linked.setdefault(fetched_header.hash, Linked(fetched_header.header, authorities))
            self.add_source(peer, fetched_header.hash)

    async def check_headers(
        self, peer: str, fetched: Sequence[FetchedHeader | FetchedBlock]
    ) -> list[Authorities | None]:
        """Verify headers above our tree; return, for each, the authorities of its children.

        Raise Unlinked.
        """
        parent_hash = fetched[0].header.parent_hash
        linked = self._linked.get(parent_hash)
        parent = self._chain.header(parent_hash) if linked is None else linked.header
        if parent is None:
            raise Unlinked(f"the parent of block #{fetched[0].header.number} has been pruned")
        authorities = await self._authorities(parent_hash) if linked is None else linked.authorities
        try:
            headers = [fetched_header.header for fetched_header in fetched]
            now = self._chain.slot_now()
            return await check_in_thread(verify_headers, headers, parent, authorities, now)
        except refused.FutureSlot as error:
            number = fetched[-1].header.number
            self._imports.warn_of_clock(f"Block #{number} of {peer} is postponed", error)
            raise Unlinked(str(error)) from None
        except (refused.ImportRefused, AuraError) as error:
            self._imports.mark_bad(fetched[-1].hash)
            raise self._charged(
                peer, PeerFailure.BAD_BLOCK, f"block #{fetched[-1].header.number}: {error}"
            ) from None

    async def _authorities(self, block: bytes) -> Authorities | None:
        try:
            return await self._chain.queries.aura_authorities(block)
        except (
            RuntimeCallError,
            UnknownBlock,
            StateDiscarded,
        ):  # no fault of any peer: the import will verify the seal
            return None

    async def _down_to_tree(
        self, peer: str, block: AnnouncedBlock, answers: list[PeerAnswer[list[FetchedHeader]]]
    ) -> list[FetchedHeader]:
        """Return the headers from the block's lowest missing ancestor up to it; none if we have the block.

        Raise PeerFailed or Unlinked.
        """
        finalized = self._chain.finalized
        fetched = [] if block.header is None else [FetchedHeader(block.header, block.hash)]
        missing, number, partial = block.hash, block.number, 0
        if block.header is not None:
            missing, number = block.header.parent_hash, block.number - 1
        while not (missing in self._linked or self._chain.descends_from_finalized(missing)):
            self._check_depth(peer, block, number, finalized)
            best = self._chain.best if len(fetched) <= 1 and number > self._chain.best.number else None
            distance = number - (best or self._chain.finalized).number
            count = max(1, min(distance, MAX_BLOCKS_PER_ANSWER))
            answer = await self._asker.ask_one(peer, headers_up_to(missing, count))
            if answer.value[-1].header.number != number:
                reason = f"block #{block.number} has another number"
                raise self._charged(peer, PeerFailure.BAD_BLOCK, reason)
            answers.append(answer)
            self._count_bytes(peer, answer.size)
            partial += len(answer.value) < count
            if partial > MAX_PARTIAL:
                raise self._charged(peer, PeerFailure.MALFORMED, f"{partial} answers with few headers each")
            fetched = [*answer.value, *fetched]
            missing, number = fetched[0].header.parent_hash, fetched[0].header.number - 1
        return fetched

    def _check_depth(self, peer: str, block: AnnouncedBlock, number: int, finalized: BlockRef) -> None:
        """Raise Unlinked if the ancestor at this number cannot be above our tree.

        `finalized`: our final block when the search began.
        """
        is_passed = block.number <= self._chain.finalized.number or self._chain.finalized != finalized
        if number <= self._chain.finalized.number and is_passed:
            raise Unlinked("finality has passed it")
        if number <= finalized.number or block.number - number >= MAX_FETCHED_ANCESTORS:
            reason = f"block #{block.number} does not descend from our final block #{finalized.number}"
            raise self._charged(peer, PeerFailure.UNFOUNDED_CLAIM, reason)

    def _count_bytes(self, peer: str, size: int) -> None:
        self._bytes_of[peer] = self._bytes_of.get(peer, 0) + size
        if self._bytes_of[peer] > MAX_PEER_BYTES:
            raise self._charged(peer, PeerFailure.MALFORMED, f"more than {MAX_PEER_BYTES} bytes of headers")
        record = self._asker.peer_set.record
        of_unknown = sum(count for other, count in self._bytes_of.items() if not record(other).in_credit)
        is_full = self.bytes_held > MAX_LINKED_BYTES
        if is_full or (of_unknown > MAX_UNKNOWN_PEERS_BYTES and not record(peer).in_credit):
            raise Unlinked("too many headers are being linked")

    def _charged(self, peer: str, failure: PeerFailure, reason: str) -> Unlinked:
        """Return the error to raise, after charging the peer."""
        self._asker.fail(peer, failure, reason)
        return Unlinked(reason)
