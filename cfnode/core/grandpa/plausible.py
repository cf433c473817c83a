"""Cheap checks of a commit from an unknown peer, before it is verified.

These checks run before any header is read or any signature is verified, in the order of cost; each follows
from the rules of `verify`, or from the behaviour of honest voters. A commit that fails here can never be
accepted.
"""

from __future__ import annotations

from cfnode.core.grandpa.authorities import AuthoritySet
from cfnode.core.grandpa.messages import CommitMessage
from cfnode.core.grandpa.verify import FinalityError

__all__ = ["MAX_ROUND", "MAX_SPREAD", "check_plausible"]

MAX_ROUND = 1 << 32
"""A round takes seconds: a set that had so many would be older than any chain."""

MAX_SPREAD = 1_024
"""Blocks between the lowest and the highest vote: all their headers are read. Honest votes of a round are
close together: no further apart than the final block and the best one."""


def check_plausible(message: CommitMessage, authorities: AuthoritySet, finalized: int) -> None:
    """Raise FinalityError for a commit that no honest peer sends.

    `finalized` is the number of our last final block.
    """
    votes, target = message.commit.precommits, message.commit.target_number
    if not 0 < message.round < MAX_ROUND:
        raise FinalityError(f"commit of round {message.round}, which no set reaches")
    if len(votes) > 2 * len(authorities.weights):
        raise FinalityError(f"commit with {len(votes)} votes of {len(authorities.weights)} authorities")
    voters = {vote.authority for vote in votes}
    if not voters <= authorities.weights.keys():
        raise FinalityError(f"commit with votes of keys outside set {authorities.set_id}")
    weight = sum(authorities.weights[voter] for voter in voters)
    if weight < authorities.threshold:
        raise FinalityError(f"commit with a weight of {weight}, {authorities.threshold} is needed")
    numbers = [vote.target_number for vote in votes]
    if not finalized <= min(numbers) <= target <= max(numbers) <= min(numbers) + MAX_SPREAD:
        raise FinalityError(f"commit for #{target} with votes for #{min(numbers)} to #{max(numbers)}")
