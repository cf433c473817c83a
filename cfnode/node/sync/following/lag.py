"""How far behind is the node? By what peers have proved, not by what they claim.

The proof is a block or a header that is linked to our tree. A claim is only a reason to ask (`catch_up.py`).
"""

from __future__ import annotations

from cfnode.node.chain.chain import Chain

__all__ = ["SYNCING_LAG", "SyncLag"]

SYNCING_LAG = 5
"""Blocks behind the highest proved one from which on the node is syncing, as in Substrate."""


class SyncLag:
    """The highest proved block, and the peers that could not provide the blocks up to it."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.proven = 0
        """The highest block whose header leads to our tree."""
        self.unhelpful: dict[str, str] = {}
        """Why a peer did not provide the next blocks."""
        self.pruned_peers: set[str] = set()
        """The peers that are provably ahead and no longer have the next block."""

    @property
    def is_far(self) -> bool:
        """Is the node far behind?"""
        return self.proven >= self._chain.best.number + SYNCING_LAG

    def add_proven(self, number: int) -> None:
        """A header at this number leads to our tree."""
        self.proven = max(self.proven, number)

    def reset_proven(self) -> None:
        """A block that counted as proved turned out to be bad."""
        self.proven = self._chain.best.number

    def imported(self) -> None:
        """Blocks have been imported: the next block is another one now."""
        self.pruned_peers.clear()

    def peer_failed(self, peer: str, reason: str) -> None:
        """A peer did not provide the next blocks."""
        self.unhelpful.pop(peer, None)
        self.unhelpful[peer] = reason

    def peer_helped(self, peer: str) -> None:
        """A peer provides the next blocks."""
        self.unhelpful.pop(peer, None)
        self.pruned_peers.discard(peer)

    def forget(self, peer: str) -> None:
        """A peer has disconnected."""
        self.unhelpful.pop(peer, None)
        self.pruned_peers.discard(peer)
