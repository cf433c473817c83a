"""Healing: fetching the trie nodes and values that a nearly complete state still lacks.

Protocol `light/2` returns the proof of any keys, and each missing node lies on the path of a known key. An
entry is verified by its hash alone, so anything else in an answer does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.trie import MissingSubtrie
from cfnode.core.wire.light import SUFFIX, LightResponse, RemoteRead
from cfnode.network.interface import PeerRequestRefused
from cfnode.node.asking.asker import AllPeersFailed, Asker, PeerFailed
from cfnode.node.asking.progress import SyncProgress, with_reasons
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import PeerFailure

__all__ = ["FetchedEntry", "Healer", "TargetLost"]

MAX_HEALED_ENTRIES = 128
"""Missing entries of one request: their values have to fit in one answer."""

HEALING_RETRY_S = 5.0
"""Seconds between two attempts while no peer is connected."""

ERROR_PREFIX = "an invalid proof"

FetchedEntry = tuple[MissingSubtrie, bytes]
"""A missing node or value, and its encoding."""


class TargetLost(Exception):
    """The loss of a target: no peer provides its state any more, and a newer block has to be found."""


class Healer:
    """The requests for missing nodes and values of the state of one block."""

    def __init__(self, asker: Asker, header: Header, progress: SyncProgress) -> None:
        self._asker = asker
        self._peer_set = asker.peer_set
        self._header = header
        self._hash = header.hash
        self._progress = progress
        self._useless: dict[str, str] = {}

    async def fetch(self, missing: Sequence[MissingSubtrie]) -> list[FetchedEntry]:
        """Return all missing entries. Raise TargetLost."""
        fetched: list[FetchedEntry] = []
        for child, remaining in _batches(missing):
            while remaining:
                entries = await self._ask_any(child, remaining)
                fetched += [
                    (missing_node, entries[missing_node.hash])
                    for missing_node in remaining
                    if missing_node.hash in entries
                ]
                remaining = [missing_node for missing_node in remaining if missing_node.hash not in entries]
        return fetched

    async def _ask_any(self, child: bytes, missing: Sequence[MissingSubtrie]) -> dict[bytes, bytes]:
        """Return the entries that the first helpful peer sends, by hash. Raise TargetLost."""
        while True:
            try:
                return await self._asker.race(lambda peer: self._ask(peer, child, missing), self._left)
            except AllPeersFailed:
                if len(self._peer_set):
                    reason = f"no peer proves the state of block #{self._header.number}"
                    raise TargetLost(with_reasons(reason, self._useless)) from None
            await self._peer_set.wait_changed(HEALING_RETRY_S)

    def _left(self) -> list[str]:
        """Return the peers that can still be asked, the best first."""
        return [peer for peer in self._peer_set.candidates() if peer not in self._useless]

    async def _ask(self, peer: str, child: bytes, missing: Sequence[MissingSubtrie]) -> dict[bytes, bytes]:
        """Return the entries that a peer sends, by hash. Raise PeerFailed if it sends none.

        A peer that omits any is not asked again.
        """
        keys = tuple(dict.fromkeys(missing_node.key for missing_node in missing))
        self._progress.waiting_for = f"{len(keys)} keys of the state of #{self._header.number} by {peer}"
        request = RemoteRead(self._hash, keys, child).encode()
        question = Question(SUFFIX, request, _by_hash, error_prefix=ERROR_PREFIX, may_lack=True)
        try:
            entries = (await self._asker.ask_one(peer, question)).value
        except PeerFailed as error:
            self._useless[peer] = str(error)
            raise
        omitted = sum(missing_node.hash not in entries for missing_node in missing)
        if omitted:
            self._useless[peer] = reason = f"it omits {omitted} of {len(missing)} entries"
            self._asker.fail(peer, PeerFailure.BAD_PROOF, f"{ERROR_PREFIX}: {reason}")
        if omitted == len(missing):
            raise PeerFailed(self._useless[peer])
        return entries


def _by_hash(answer: bytes) -> dict[bytes, bytes]:
    """Return the entries of an answer by their hashes, which verify them.

    Raise RequestRefused or WireError.
    """
    proof = LightResponse.decode(answer).proof
    if proof is None:
        raise PeerRequestRefused("it has no proof")
    return {blake2_256(entry): entry for entry in proof}


def _batches(missing: Sequence[MissingSubtrie]) -> Iterator[tuple[bytes, list[MissingSubtrie]]]:
    """Yield child trie and missing entries, in batches of one child trie up to `MAX_HEALED_ENTRIES`."""
    for child, group in groupby(sorted(missing, key=lambda entry: entry.child), lambda entry: entry.child):
        of_child = list(group)
        for begin in range(0, len(of_child), MAX_HEALED_ENTRIES):
            yield child, of_child[begin : begin + MAX_HEALED_ENTRIES]
