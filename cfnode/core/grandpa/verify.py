"""Verification of justifications and commits, the only check by which a block becomes final.

The votes may be for the block itself or for blocks above it, and one authority may have voted twice. In
order:

1. At most two votes per authority: more are a waste of signature checks.
2. Every signature is valid (ZIP-215, as on the chain). A single invalid one makes a justification invalid.
3. The *base* is the lowest block voted for. Every vote is for it or for a block above it, proven by walking
   parent by parent. In a justification, the headers walked over are exactly those it lists.
4. A vote counts for its block and all below it. An authority with two different votes counts for every block:
   an equivocator must not be able to stop finality.
5. The highest block with the threshold of weight (the GHOST of the precommits) *is* the target. A commit
   whose votes reach higher than its target is refused as well.

Votes by keys outside the set have no weight, but their signatures and ancestry must be valid. These are the
rules of finality-grandpa's `validate_commit` and of Substrate's justification check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cfnode.core import ed25519
from cfnode.core.grandpa.authorities import AuthoritySet, sign_payload
from cfnode.core.grandpa.messages import Commit, Justification, Precommit
from cfnode.core.header import Header

__all__ = ["FinalityError", "verify_commit", "verify_justification"]

Parent = Callable[[bytes], "bytes | None"]
"""From a block hash to its parent's, None for an unknown block."""

MAX_VOTE_HEIGHT = 10_000
"""How far above the base a vote may be, in blocks."""


class FinalityError(ValueError):
    """The votes do not make the claimed block final."""


def verify_justification(
    justification: Justification, authorities: AuthoritySet, target: tuple[bytes, int] | None = None
) -> None:
    """Check a justification by the authorities; raise FinalityError.

    `target` is the (hash, number) that it must finalize, if given.
    """
    commit = justification.commit
    if target is not None and (commit.target_hash, commit.target_number) != target:
        raise FinalityError(
            f"justification is for block {commit.target_number} 0x{commit.target_hash.hex()},"
            f" not for block {target[1]} 0x{target[0].hex()}"
        )
    parents = _parents(justification.ancestries)
    visited = _verify(commit, justification.round, authorities, parents.get)
    unused = len(parents.keys() - visited)
    if unused:
        raise FinalityError(
            f"justification of block {commit.target_number} has {unused} headers that no vote needs"
        )


def verify_commit(commit: Commit, round_number: int, authorities: AuthoritySet, parent: Parent) -> None:
    """Check a commit of the gossip; raise FinalityError.

    `parent` returns the parent of each block that the votes name or descend from.
    """
    _verify(commit, round_number, authorities, parent)


def _parents(headers: Sequence[Header]) -> dict[bytes, bytes]:
    parents = {header.hash: header.parent_hash for header in headers}
    if len(parents) != len(headers):
        raise FinalityError("justification lists an ancestry header twice")
    return parents


def _verify(commit: Commit, round_number: int, authorities: AuthoritySet, parent: Parent) -> set[bytes]:
    """Check all rules; return the blocks above the base that the votes walk over. Raises FinalityError."""
    votes = commit.precommits
    if not votes:
        raise FinalityError(f"no votes for block {commit.target_number}")
    if len(votes) > 2 * len(authorities.weights):
        raise FinalityError(f"{len(votes)} votes of {len(authorities.weights)} authorities")
    _check_signatures(votes, round_number, authorities.set_id)
    base = min(votes, key=lambda vote: vote.target_number)
    chain = _Ancestry(base.target_hash, parent)
    for vote in votes:
        chain.add(vote.target_hash)
    ghost, height = chain.ghost(*_weigh(votes, authorities), authorities.threshold)
    if (ghost, base.target_number + height) != (commit.target_hash, commit.target_number):
        raise FinalityError(
            f"the votes of set {authorities.set_id} do not finalize block {commit.target_number}"
            f" 0x{commit.target_hash.hex()} but {'none' if ghost is None else '0x' + ghost.hex()}"
        )
    return set(chain.heights) - {base.target_hash}


def _check_signatures(votes: Sequence[Precommit], round_number: int, set_id: int) -> None:
    for vote in votes:
        payload = sign_payload(vote.target_hash, vote.target_number, round_number, set_id)
        if not ed25519.verify(vote.authority, payload, vote.signature):
            raise FinalityError(
                f"bad signature of authority 0x{vote.authority.hex()} in round {round_number} of set {set_id}"
            )


def _weigh(votes: Iterable[Precommit], authorities: AuthoritySet) -> tuple[dict[bytes, int], int]:
    """Return the weight by voted block, and the weight of the equivocators, which counts for every block."""
    first_votes: dict[bytes, Precommit] = {}
    equivocators: set[bytes] = set()
    for vote in votes:
        if vote.authority in authorities.weights and first_votes.setdefault(vote.authority, vote) != vote:
            equivocators.add(vote.authority)
    weights: dict[bytes, int] = {}
    for key, vote in first_votes.items():
        if key not in equivocators:
            weights[vote.target_hash] = weights.get(vote.target_hash, 0) + authorities.weights[key]
    return weights, sum(authorities.weights[key] for key in equivocators)


class _Ancestry:
    """The blocks between the base and the votes: parents, and heights above the base."""

    def __init__(self, base: bytes, parent: Parent) -> None:
        self._parent = parent
        self._parents: dict[bytes, bytes] = {}
        self.heights = {base: 0}

    def add(self, block: bytes) -> None:
        """Walk from a voted block down to a known block or the base; raise FinalityError."""
        blocks: list[bytes] = []
        ancestor: bytes = block
        while ancestor not in self.heights:
            parent = self._parent(ancestor)
            if parent is None or len(blocks) >= MAX_VOTE_HEIGHT:
                raise FinalityError(
                    f"a vote for 0x{block.hex()}, whose descent from the lowest vote is not proven"
                )
            self._parents[ancestor] = parent
            blocks.append(ancestor)
            ancestor = parent
        for descendant in reversed(blocks):
            self.heights[descendant] = self.heights[self._parents[descendant]] + 1

    def ghost(self, weights: dict[bytes, int], everywhere: int, wanted: int) -> tuple[bytes | None, int]:
        """Return the highest block with the wanted weight, and its height above the base, or (None, 0)."""
        total = dict.fromkeys(self.heights, 0) | weights
        for block in sorted(self.heights, key=lambda block: -self.heights[block]):
            if total[block] + everywhere >= wanted:
                return block, self.heights[block]
            if block in self._parents:
                total[self._parents[block]] += total[block]
        return None, 0
