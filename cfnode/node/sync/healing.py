"""How does one get what a nearly whole state still lacks?

Node by node: protocol `light/2` gives the proof of any keys, and what is missing lies on the way of a known
one. Each entry counts by its hash alone, so it does not matter who sends what else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.trie import MissingSubtrie
from cfnode.core.wire.light import SUFFIX, LightResponse, RemoteRead
from cfnode.network.model import Network, RequestFailed
from cfnode.node.sync.asker import Asker, NobodyHelps, Unanswered
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.progress import Progress, with_reasons
from cfnode.node.sync.question import Question
from cfnode.node.sync.reputation import Failure

__all__ = ["Filled", "Healer", "TargetLost"]

AT_ONCE = 128
"""Holes of one request: their values have to fit in one answer."""

AGAIN_S = 5.0
"""Seconds between two looks for a peer, where there is none."""

WORDS = "a proof that does not hold"

Filled = tuple[MissingSubtrie, bytes]
"""A hole, and the node or value with its hash."""


class TargetLost(Exception):
    """No peer gives the state of this block any more: a newer one has to be found."""


class Healer:
    """Asks peers for what is missing of the state of one block."""

    def __init__(self, network: Network, book: PeerSet, header: Header, progress: Progress) -> None:
        self._book = book
        self._asker = Asker(network, book)
        self._header = header
        self._hash = header.hash
        self._progress = progress
        self._useless: dict[str, str] = {}

    async def fill(self, holes: Sequence[MissingSubtrie]) -> list[Filled]:
        """All of them, each with its entry. Raises TargetLost."""
        found: list[Filled] = []
        for child, batch in _batches(holes):
            missing = batch
            while missing:
                entries = await self._ask_any(child, missing)
                found += [(hole, entries[hole.hash]) for hole in missing if hole.hash in entries]
                missing = [hole for hole in missing if hole.hash not in entries]
        return found

    async def _ask_any(self, child: bytes, holes: Sequence[MissingSubtrie]) -> dict[bytes, bytes]:
        """What the first peer sends that helps at all. Raises TargetLost."""
        while True:
            try:
                return await self._asker.race(lambda peer: self._ask(peer, child, holes), self._left)
            except NobodyHelps:
                if len(self._book):
                    reason = f"no peer proves the state of block #{self._header.number}"
                    raise TargetLost(with_reasons(reason, self._useless)) from None
            await self._book.changed(AGAIN_S)

    def _left(self) -> list[str]:
        """Whom to ask."""
        return [peer for peer in self._book.candidates() if peer not in self._useless]

    async def _ask(self, peer: str, child: bytes, holes: Sequence[MissingSubtrie]) -> dict[bytes, bytes]:
        """What a peer sends, by hash; one that leaves out anything is asked no more. Raises Unanswered."""
        keys = tuple(dict.fromkeys(hole.key for hole in holes))
        self._progress.waiting_for = f"{len(keys)} keys of the state of #{self._header.number} by {peer}"
        request = RemoteRead(self._hash, keys, child).encode()
        question = Question(SUFFIX, request, _by_hash, words=WORDS, may_lack=True)
        try:
            entries = (await self._asker.ask_one(peer, question)).value
        except Unanswered as error:
            self._useless[peer] = str(error)
            raise
        left_out = sum(hole.hash not in entries for hole in holes)
        if left_out:
            self._useless[peer] = reason = f"it leaves out {left_out} of {len(holes)} entries"
            self._asker.fail(peer, Failure.BAD_PROOF, f"{WORDS}: {reason}")
        if left_out == len(holes):
            raise Unanswered(self._useless[peer])
        return entries


def _by_hash(answer: bytes) -> dict[bytes, bytes]:
    """The entries of an answer; each counts by its hash alone. Raises RequestFailed, WireError."""
    proof = LightResponse.decode(answer).proof
    if proof is None:
        raise RequestFailed("it cannot tell")
    return {blake2_256(entry): entry for entry in proof}


def _batches(holes: Sequence[MissingSubtrie]) -> Iterator[tuple[bytes, list[MissingSubtrie]]]:
    """The holes of one child trie each, not too many at once."""
    for child, group in groupby(sorted(holes, key=lambda hole: hole.child), lambda hole: hole.child):
        of_child = list(group)
        for begin in range(0, len(of_child), AT_ONCE):
            yield child, of_child[begin : begin + AT_ONCE]
