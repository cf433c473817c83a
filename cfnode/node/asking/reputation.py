"""The cost of each failure of a peer: reputation, penalties, and what happens to the connection.

`REACTIONS` is the whole table: the change of the peer's reputation, the penalties in its record (which decide
the order of asking, `peer_set.py`), and what happens to the connection. Reputations are Substrate's own
numbers (network sync, block and state request handlers).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum

from cfnode.network.interface import PeerNetwork
from cfnode.node.asking.peer_set import PeerSet

__all__ = [
    "BAD_ANNOUNCE",
    "BAD_BLOCK",
    "BAD_GOSSIP",
    "BAD_JUSTIFICATION",
    "BAD_MESSAGE",
    "BAD_PROOF",
    "FATAL",
    "NO_ANSWER",
    "REACTIONS",
    "REPEATED",
    "Consequence",
    "PeerFailure",
    "Reaction",
    "apply_failure",
]

log = logging.getLogger("cfnode.sync")

FATAL = -(1 << 31)
"""Another chain, or a request sent for the third time: the peer is banned at once."""

BAD_BLOCK = BAD_PROOF = -(1 << 29)
"""An invalid block or proof: three of them ban the peer."""

BAD_MESSAGE = BAD_ANNOUNCE = -(1 << 12)
"""A malformed message, or an announcement of an impossible block."""

NO_ANSWER = REPEATED = -(1 << 10)
"""No answer to a request, or a cheap request once more."""

BAD_GOSSIP = -5_000
"""A commit that proves nothing."""

BAD_JUSTIFICATION = -(1 << 16)
"""A block with an invalid justification. The block itself may be valid."""

MAX_TIMEOUTS = 3
"""Timeouts of a peer in a row, over all its connections; from this one on, each costs as much as an invalid
proof."""

MAX_BAD_JUSTIFICATIONS = 8
"""Invalid justifications of a peer in a row; from this one on, each costs as much as an invalid proof:
checking one takes the time of all its signatures."""

MAX_UNFOUNDED_CLAIMS = 8
"""Unfounded announcements and claims of a peer in a row; from this one on, each costs as much as an invalid
proof: by then, finality has reached a peer on a dead fork."""


class PeerFailure(Enum):
    """A way in which a peer can fail to help."""

    TIMEOUT = "it does not answer in time"
    REFUSAL = "it refuses, or lacks the requested data"
    SLOW = "it answers slowly"
    TOO_LITTLE = "it returns much less than requested"
    UNFOUNDED_CLAIM = "it does not have a block that it announced or claimed"
    BAD_PROOF = "its proof is invalid"
    BAD_BLOCK = "its block is bad, or its headers do not lead to our chain"
    BAD_JUSTIFICATION = "its block is valid, the justification that came with it is not"
    MALFORMED = "its answer is malformed, or never ends"


class Consequence(Enum):
    """A consequence of a failure for the connection."""

    KEPT = "other peers are asked first"
    EVICTABLE = "if all slots are taken and another node is known, that node gets the slot"
    REPLACED = "the connection is closed, and the slot goes to another peer"
    DROPPED = "the connection is closed, with a warning in the log"


@dataclass(frozen=True, slots=True)
class Reaction:
    """The cost of a failure: change of reputation, penalties, and what happens to the connection."""

    reputation: int
    penalties: int
    consequence: Consequence


REACTIONS = {
    PeerFailure.TIMEOUT: Reaction(NO_ANSWER, 2, Consequence.REPLACED),
    PeerFailure.REFUSAL: Reaction(0, 1, Consequence.EVICTABLE),
    PeerFailure.SLOW: Reaction(0, 1, Consequence.KEPT),
    PeerFailure.TOO_LITTLE: Reaction(0, 1, Consequence.KEPT),
    PeerFailure.UNFOUNDED_CLAIM: Reaction(BAD_ANNOUNCE, 1, Consequence.KEPT),
    PeerFailure.BAD_PROOF: Reaction(BAD_PROOF, 8, Consequence.DROPPED),
    PeerFailure.BAD_BLOCK: Reaction(BAD_BLOCK, 8, Consequence.DROPPED),
    PeerFailure.BAD_JUSTIFICATION: Reaction(BAD_JUSTIFICATION, 2, Consequence.KEPT),
    PeerFailure.MALFORMED: Reaction(BAD_MESSAGE, 8, Consequence.DROPPED),
}


MAX_STRIKES = {
    PeerFailure.TIMEOUT: MAX_TIMEOUTS,
    PeerFailure.UNFOUNDED_CLAIM: MAX_UNFOUNDED_CLAIMS,
    PeerFailure.BAD_JUSTIFICATION: MAX_BAD_JUSTIFICATIONS,
}


def apply_failure(
    network: PeerNetwork, peer_set: PeerSet, peer: str, failure: PeerFailure, reason: str
) -> None:
    """Charge a peer for a failure, by the table `REACTIONS`."""
    reaction = REACTIONS[failure]
    peer_set.penalize(peer, reaction.penalties)
    change = reaction.reputation
    strikes, max_strikes = peer_set.strikes(peer, failure.name), MAX_STRIKES.get(failure)
    if max_strikes is not None and strikes >= max_strikes:
        change, reason = BAD_PROOF, f"{reason}, strike {strikes} of {max_strikes}"
    if change:
        network.report(peer, change, reason)
    match reaction.consequence:
        case Consequence.KEPT:
            log.debug("%s is asked after others: %s", peer, reason)
        case Consequence.EVICTABLE:
            network.evict(peer, reason)
        case Consequence.REPLACED:
            network.disconnect(peer, "too slow")
            peer_set.forget(peer)
        case Consequence.DROPPED:
            log.warning("Peer %s is dropped: %s", peer, reason)
            network.disconnect(peer, reason)
            peer_set.forget(peer)
