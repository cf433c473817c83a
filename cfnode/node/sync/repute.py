"""What does a peer lose by what? Substrate's own numbers (network sync, block and state request handlers)."""

from __future__ import annotations

import logging

from cfnode.network.model import Network, RequestFailed, TooSlow
from cfnode.node.sync.book import PeerBook

__all__ = [
    "BAD_ANNOUNCE",
    "BAD_BLOCK",
    "BAD_GOSSIP",
    "BAD_MESSAGE",
    "BAD_PROOF",
    "FATAL",
    "FLOOD",
    "REPEATED",
    "SILENT",
    "drop",
    "refused",
    "replace",
    "replace_slow",
]

log = logging.getLogger("cfnode.sync")

FATAL = -(1 << 31)
"""Another chain, or the same request a third time: nothing more to talk about."""

BAD_BLOCK = BAD_PROOF = -(1 << 29)
"""A block or a proof that does not hold: three of them are too many."""

BAD_MESSAGE = BAD_ANNOUNCE = -(1 << 12)
"""Bytes that are no message, or an announcement of what cannot be."""

SILENT = REPEATED = -(1 << 10)
"""No answer to a request, or a cheap request once more."""

FLOOD = -(1 << 24)
"""A message beyond the rate at which anybody has something to say: a hundred of them are too many."""

BAD_GOSSIP = -5_000
"""A commit that proves nothing."""


def refused(network: Network, book: PeerBook, peer: str, error: RequestFailed) -> None:
    """A peer did not help: it is parted with if it was silent, else it makes way if others are known."""
    replace_slow(network, book, peer, error)
    book.lapse(peer)
    network.make_way(peer, str(error))


def replace_slow(network: Network, book: PeerBook, peer: str, error: RequestFailed) -> None:
    """Part with a peer that let the time for an answer pass: its place goes to another one."""
    if isinstance(error, TooSlow):
        replace(network, book, peer, str(error))


def replace(network: Network, book: PeerBook, peer: str, reason: str) -> None:
    """Part with a peer that is too slow."""
    network.report(peer, SILENT, reason)
    network.disconnect(peer, "too slow")
    book.forget(peer)


def drop(network: Network, book: PeerBook, peer: str, change: int, reason: str) -> None:
    """End it with a peer that lied, aloud; another one has to help."""
    log.warning("Peer %s is dropped: %s", peer, reason)
    network.report(peer, change, reason)
    network.disconnect(peer, reason)
    book.forget(peer)
