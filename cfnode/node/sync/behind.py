"""How far behind is the node? By what peers have proved, not by what they claim.

What proves it: blocks or headers that are linked to our tree. A claim only leads to asking (`catch_up.py`).
"""

from __future__ import annotations

from cfnode.node.chain import Chain

__all__ = ["BEHIND", "Behind"]

BEHIND = 5
"""Blocks behind what is proved from which on the node is syncing, as in Substrate."""


class Behind:
    """What has been proved of the way ahead, and who could not help with it."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.proven = 0
        """The highest block whose header leads to our tree."""
        self.unhelpful: dict[str, str] = {}
        """Why a peer did not give the next blocks."""
        self.without: set[str] = set()
        """The peers that prove to be ahead, and do not have the next block any more."""

    @property
    def far(self) -> bool:
        """Is the node far behind?"""
        return self.proven >= self._chain.best.number + BEHIND

    def prove(self, number: int) -> None:
        """A header at this number leads to our tree."""
        self.proven = max(self.proven, number)

    def refute(self) -> None:
        """What was taken for proved turned out to be no block."""
        self.proven = self._chain.best.number

    def moved(self) -> None:
        """Blocks have been imported: what was missing is no longer the same."""
        self.without.clear()

    def cannot(self, peer: str, reason: str, *, without: bool = False) -> None:
        """A peer did not give the next blocks; `without`: it proves to be ahead and does not have them."""
        self.unhelpful.pop(peer, None)
        self.unhelpful[peer] = reason
        if without:
            self.without.add(peer)

    def helps(self, peer: str) -> None:
        """A peer gives the next blocks."""
        self.unhelpful.pop(peer, None)
        self.without.discard(peer)

    def forget(self, peer: str) -> None:
        """The peer is gone."""
        self.helps(peer)
