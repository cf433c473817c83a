"""How does one get what a nearly whole state still lacks?

Node by node: protocol `light/2` gives the proof of any keys, and what is missing lies on the way of a known
one. Each entry counts by its hash alone, so it does not matter who sends what else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import groupby

import trio

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.trie import Hole
from cfnode.core.wire import WireError
from cfnode.core.wire.light import SUFFIX, LightResponse, RemoteRead
from cfnode.network.model import Network, RequestFailed
from cfnode.node.sync import repute
from cfnode.node.sync.book import PeerBook
from cfnode.node.sync.progress import Progress, told

__all__ = ["Filled", "HoleFiller", "TargetLost"]

log = logging.getLogger("cfnode.sync")

AT_ONCE = 128
"""Holes of one request: their values have to fit in one answer."""

AGAIN_S = 5.0

Filled = tuple[Hole, bytes]
"""A hole, and the node or value with its hash."""


class TargetLost(Exception):
    """No peer gives the state of this block any more: a newer one has to be found."""


class HoleFiller:
    """Asks peers for what is missing of the state of one block."""

    def __init__(self, network: Network, book: PeerBook, header: Header, progress: Progress) -> None:
        self._network = network
        self._book = book
        self._header = header
        self._hash = header.hash
        self._progress = progress
        self._useless: dict[str, str] = {}

    async def fill(self, holes: Sequence[Hole]) -> list[Filled]:
        """All of them, each with its entry. Raises TargetLost."""
        found: list[Filled] = []
        for child, batch in _batches(holes):
            missing = batch
            while missing:
                entries = await self._ask(await self._peer(), child, missing)
                found += [(hole, entries[hole.hash]) for hole in missing if hole.hash in entries]
                missing = [hole for hole in missing if hole.hash not in entries]
        return found

    async def _peer(self) -> str:
        while True:
            for peer in self._book.candidates():
                if peer not in self._useless:
                    return peer
            if len(self._book):
                raise TargetLost(
                    told(f"no peer proves the state of block #{self._header.number}", self._useless)
                )
            await self._book.changed(AGAIN_S)

    async def _ask(self, peer: str, child: bytes, holes: Sequence[Hole]) -> dict[bytes, bytes]:
        """What a peer sends, by hash; one that leaves out anything is asked no more."""
        keys = tuple(dict.fromkeys(hole.key for hole in holes))
        self._progress.waiting_for = f"{len(keys)} keys of the state of #{self._header.number} by {peer}"
        try:
            with self._book.timed(peer):
                answer = await self._network.request(
                    peer, SUFFIX, RemoteRead(self._hash, keys, child).encode()
                )
            proof = LightResponse.decode(answer).proof
        except RequestFailed as error:
            repute.replace_slow(self._network, self._book, peer, error)
            self._useless[peer] = str(error)
            return {}
        except WireError as error:
            self._drop(peer, str(error))
            return {}
        entries = await trio.to_thread.run_sync(_by_hash, proof or ())
        left_out = sum(hole.hash not in entries for hole in holes)
        if proof is None:
            self._useless[peer] = "it cannot tell"
        elif left_out:
            self._drop(peer, f"it leaves out {left_out} of {len(holes)} entries")
        return entries

    def _drop(self, peer: str, reason: str) -> None:
        self._useless[peer] = reason
        repute.drop(
            self._network, self._book, peer, repute.BAD_PROOF, f"a proof that does not hold: {reason}"
        )


def _by_hash(entries: Sequence[bytes]) -> dict[bytes, bytes]:
    return {blake2_256(entry): entry for entry in entries}


def _batches(holes: Sequence[Hole]) -> Iterator[tuple[bytes, list[Hole]]]:
    """The holes of one child trie each, not too many at once."""
    for child, group in groupby(sorted(holes, key=lambda hole: hole.child), lambda hole: hole.child):
        of_child = list(group)
        for begin in range(0, len(of_child), AT_ONCE):
            yield child, of_child[begin : begin + AT_ONCE]
