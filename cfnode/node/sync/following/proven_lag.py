"""Distance of the node behind the chain, by what peers have proved, not by what they claim.

The proof is a block or a header that is linked to our tree, or the votes for a later final block. A claim is
only a reason to ask (`catch_up.py`).
"""

from __future__ import annotations

from typing import Protocol

from cfnode.node.chain.chain import NodeChain

__all__ = ["SYNCING_LAG", "NewestFinal", "SyncLag"]

SYNCING_LAG = 5
"""Blocks behind the highest proved one from which on the node is syncing, as in Substrate."""


class NewestFinal(Protocol):
    """The request of finality proofs that begin at our own final block (`warping/lag_proof.py`)."""

    async def newest_final(self) -> int:
        """Return the number of the newest final block that a peer proves; ours if none proves a later one."""
        ...


class SyncLag:
    """The highest proved block, and the peers that could not provide the blocks up to it."""

    def __init__(self, chain: NodeChain) -> None:
        self._chain = chain
        self.proven = 0
        """The number of the highest block whose header leads to our tree, or that a finality proof names."""
        self.unhelpful: dict[str, str] = {}
        """The reasons why peers did not provide the next blocks."""
        self.pruned_peers: set[str] = set()
        """The peers that are provably ahead and no longer have the next block."""
        self.peers_without_next: set[str] = set()
        """The peers that claim to be ahead and answered without the next block, since the last import."""

    @property
    def is_far(self) -> bool:
        """Whether the node is far behind."""
        return self.proven >= self._chain.best.number + SYNCING_LAG

    def add_proven(self, number: int) -> None:
        """Record that a block at this number is proved."""
        self.proven = max(self.proven, number)

    def reset_proven(self) -> None:
        """Forget the highest proved block, since a block that counted as proved is bad."""
        self.proven = self._chain.best.number

    def imported(self) -> None:
        """Forget which peers lack the next block, since blocks have been imported."""
        self.pruned_peers.clear()
        self.peers_without_next.clear()

    def lacks_next(self, peer: str, *, is_ahead: bool) -> None:
        """Record that a peer answered without the next block. `is_ahead`: its headers prove that it is."""
        self.peers_without_next.add(peer)
        (self.pruned_peers.add if is_ahead else self.pruned_peers.discard)(peer)

    def peer_failed(self, peer: str, reason: str) -> None:
        """Record why a peer did not provide the next blocks."""
        self.unhelpful.pop(peer, None)
        self.unhelpful[peer] = reason

    def peer_helped(self, peer: str) -> None:
        """Record that a peer provides the next blocks."""
        self.forget(peer)

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        self.unhelpful.pop(peer, None)
        self.pruned_peers.discard(peer)
        self.peers_without_next.discard(peer)
