"""What does a peer lose by which failure?

`REACTIONS` is the whole table: what is added to its reputation, how many penalties it gets in our own book
(who is asked first, `book.py`), and what becomes of the connection. Reputations are Substrate's own numbers
(network sync, block and state request handlers).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from cfnode.network.model import Network
from cfnode.node.sync.peer_set import PeerSet

__all__ = [
    "BAD_ANNOUNCE",
    "BAD_BLOCK",
    "BAD_GOSSIP",
    "BAD_JUSTIFICATION",
    "BAD_MESSAGE",
    "BAD_PROOF",
    "FATAL",
    "REACTIONS",
    "REPEATED",
    "SILENT",
    "Consequence",
    "Failure",
    "Reaction",
    "react",
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

BAD_GOSSIP = -5_000
"""A commit that proves nothing."""

BAD_JUSTIFICATION = -(1 << 16)
"""A block with a justification that does not hold. The block itself may be true."""

MAX_SILENCES = 3
"""Times in a row that a peer may let the time for an answer pass, over all its connections; from then on it
loses as much by each as by a false proof."""

MAX_BAD_JUSTIFICATIONS = 8
"""Justifications that do not hold, likewise: checking one takes the time of all its signatures."""

MAX_UNFOUNDED = 8
"""Announcements or claims without ground, likewise: a peer on a dead fork has heard of finality by then."""


class Failure(Enum):
    """How a peer can fail to help."""

    SILENCE = "it let the time for an answer pass"
    REFUSAL = "it refuses, or does not have what is asked for"
    DRIP = "it answers slowly"
    LITTLE = "it gives little where much was asked for"
    UNFOUNDED = "it announced or claimed what it does not have"
    BAD_PROOF = "its proof does not hold"
    BAD_BLOCK = "its block is bad, or its headers do not lead to our chain"
    BAD_JUSTIFICATION = "its block is true, the justification that came with it is not"
    MALFORMED = "its answer cannot be read, or never ends"


class Consequence(Enum):
    """What becomes of the connection."""

    KEPT = "others are asked first"
    MAKES_WAY = "if all places are taken and another node is known, that one gets its place"
    REPLACED = "the connection ends, its place goes to another one"
    DROPPED = "the connection ends, with a warning in the log"


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a failure costs."""

    reputation: int
    penalties: int
    consequence: Consequence


REACTIONS = {
    Failure.SILENCE: Reaction(SILENT, 2, Consequence.REPLACED),
    Failure.REFUSAL: Reaction(0, 1, Consequence.MAKES_WAY),
    Failure.DRIP: Reaction(0, 1, Consequence.KEPT),
    Failure.LITTLE: Reaction(0, 1, Consequence.KEPT),
    Failure.UNFOUNDED: Reaction(BAD_ANNOUNCE, 1, Consequence.KEPT),
    Failure.BAD_PROOF: Reaction(BAD_PROOF, 8, Consequence.DROPPED),
    Failure.BAD_BLOCK: Reaction(BAD_BLOCK, 8, Consequence.DROPPED),
    Failure.BAD_JUSTIFICATION: Reaction(BAD_JUSTIFICATION, 2, Consequence.KEPT),
    Failure.MALFORMED: Reaction(BAD_MESSAGE, 8, Consequence.DROPPED),
}


MAX_STRIKES = {
    Failure.SILENCE: MAX_SILENCES,
    Failure.UNFOUNDED: MAX_UNFOUNDED,
    Failure.BAD_JUSTIFICATION: MAX_BAD_JUSTIFICATIONS,
}


def react(network: Network, book: PeerSet, peer: str, failure: Failure, reason: str) -> None:
    """Have a failure cost the peer what the table says."""
    reaction = REACTIONS[failure]
    book.penalize(peer, reaction.penalties)
    change = reaction.reputation
    if book.strikes(peer, failure.name) >= MAX_STRIKES.get(failure, float("inf")):
        change, reason = BAD_PROOF, f"{reason}, once too often"
    if change:
        network.report(peer, change, reason)
    match reaction.consequence:
        case Consequence.KEPT:
            log.debug("%s is asked after others: %s", peer, reason)
        case Consequence.MAKES_WAY:
            network.evict(peer, reason)
        case Consequence.REPLACED:
            network.disconnect(peer, "too slow")
            book.forget(peer)
        case Consequence.DROPPED:
            log.warning("Peer %s is dropped: %s", peer, reason)
            network.disconnect(peer, reason)
            book.forget(peer)
