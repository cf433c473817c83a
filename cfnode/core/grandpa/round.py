"""The votes of one GRANDPA round, and the blocks that they decide on.

Prevotes agree on a chain, precommits make a block of it final. In the terms of finality-grandpa:

- The *ghost* of a stage is the highest block that has more than two thirds of the weight, by votes for it or
  for blocks above it.
- *Final* is the highest block, up to the prevote ghost, that the precommits reach.
- The *estimate* is the highest block, up to the prevote ghost, that precommits not yet received could still
  reach.
- A round is *completable* when nothing above its estimate can become final in it: then the next one begins.

An authority with two votes in a stage (an equivocator) counts for every block; third votes are not counted.
Only votes for the base and for blocks that descend from it count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cfnode.core.block import BlockRef
from cfnode.core.grandpa.authorities import PRECOMMIT, PREVOTE, AuthoritySet
from cfnode.core.grandpa.ballots import CatchUp, Vote
from cfnode.core.grandpa.messages import Commit, CommitMessage, Precommit
from cfnode.core.grandpa.plausible import MAX_SPREAD

__all__ = ["Round", "RoundState"]

Parent = Callable[[bytes], "bytes | None"]
"""From a block hash to its parent's, None where the block is not known."""


@dataclass(frozen=True, slots=True)
class RoundState:
    """The blocks on which the votes received so far decide."""

    prevote_ghost: BlockRef | None = None
    finalized: BlockRef | None = None
    estimate: BlockRef | None = None
    completable: bool = False


class Round:
    """The votes of one round of one authority set, above `base`.

    `parent` returns the parents of blocks voted for.
    """

    def __init__(self, number: int, voters: AuthoritySet, base: BlockRef, parent: Parent) -> None:
        self.number, self.voters, self.base = number, voters, base
        self._parent = parent
        self._parents: dict[bytes, bytes] = {}
        self._blocks = {base.hash: base}
        self._votes: dict[int, dict[bytes, list[Vote]]] = {PREVOTE: {}, PRECOMMIT: {}}
        self._state: RoundState | None = None

    def add(self, vote: Vote) -> bool:
        """Count a vote; return whether it counts.

        The caller has checked that a member of the set signed it for this round.
        """
        votes = self._votes.get(vote.stage, {}).get(vote.authority, [])
        if vote.stage not in self._votes or vote in votes or len(votes) > 1 or not self._reach(vote):
            return False
        self._votes[vote.stage].setdefault(vote.authority, []).append(vote)
        self._state = None
        return True

    def voted(self, authority: bytes, stage: int) -> bool:
        """Return whether a vote of an authority in a stage is counted."""
        return authority in self._votes[stage]

    @property
    def state(self) -> RoundState:
        """The decision of the votes, computed once after each new vote."""
        if self._state is None:
            self._state = self._decide()
        return self._state

    @property
    def precommit_ghost(self) -> BlockRef | None:
        """The highest block that the precommits make final."""
        return self._ghost(PRECOMMIT)

    def descends(self, block: BlockRef, base: BlockRef) -> bool:
        """Return whether `base` is an ancestor of `block`, or the same block.

        Both are blocks that votes reach.
        """
        ancestor = block.hash
        while ancestor != base.hash and ancestor in self._parents:
            ancestor = self._parents[ancestor]
        return ancestor == base.hash

    def commit(self) -> CommitMessage | None:
        """Return the votes for the highest block that the precommits make final, or None."""
        target = self.precommit_ghost
        if target is None:
            return None
        precommits: list[Precommit] = []
        for votes in self._votes[PRECOMMIT].values():
            if len(votes) > 1 or self.descends(self._target(votes[0]), target):
                precommits += [vote.signed() for vote in votes]
        commit = Commit(target.hash, target.number, tuple(precommits))
        return CommitMessage(self.number, self.voters.set_id, commit)

    def catch_up(self) -> CatchUp:
        """Return all votes of the round, for a peer that has missed it."""
        prevotes, precommits = (
            tuple(vote.signed() for votes in self._votes[stage].values() for vote in votes)
            for stage in (PREVOTE, PRECOMMIT)
        )
        base = self.base
        return CatchUp(self.voters.set_id, self.number, prevotes, precommits, base.hash, base.number)

    # --- the blocks voted for

    def _target(self, vote: Vote) -> BlockRef:
        return self._blocks[vote.target_hash]

    def _reach(self, vote: Vote) -> bool:
        """Walk from the block of a vote down to the blocks of other votes or to the base.

        Returns whether it arrives there.
        """
        blocks: list[bytes] = []
        ancestor = vote.target_hash
        for _ in range(min(vote.target_number - self.base.number, MAX_SPREAD) + 1):
            if ancestor in self._blocks:
                break
            parent = self._parent(ancestor)
            if parent is None:
                return False
            blocks.append(ancestor)
            ancestor = parent
        if ancestor not in self._blocks or self._blocks[ancestor].number + len(blocks) != vote.target_number:
            return False
        for block in reversed(blocks):
            self._parents[block], self._blocks[block] = (
                ancestor,
                BlockRef(block, self._blocks[ancestor].number + 1),
            )
            ancestor = block
        return True

    # --- weights

    def _cast(self, stage: int) -> int:
        """Return the weight of all authorities whose vote has been received."""
        return sum(self.voters.weights[authority] for authority in self._votes[stage])

    def _equivocators(self, stage: int) -> int:
        weights = self.voters.weights
        return sum(weights[authority] for authority, votes in self._votes[stage].items() if len(votes) > 1)

    def _weights(self, stage: int) -> dict[bytes, int]:
        """Return, by block, the weight of the votes for it and for blocks above it, and of equivocators."""
        weights = dict.fromkeys(self._blocks, 0)
        for authority, votes in self._votes[stage].items():
            if len(votes) == 1:
                weights[votes[0].target_hash] += self.voters.weights[authority]
        for block in sorted(self._parents, key=lambda block: -self._blocks[block].number):
            weights[self._parents[block]] += weights[block]
        equivocators = self._equivocators(stage)
        return {block: weight + equivocators for block, weight in weights.items()}

    def _ghost(self, stage: int) -> BlockRef | None:
        if self._cast(stage) < self.voters.threshold:
            return None
        reached = [block for block, weight in self._weights(stage).items() if weight >= self.voters.threshold]
        return max((self._blocks[block] for block in reached), key=lambda block: block.number, default=None)

    def _highest(self, top: BlockRef, matches: Callable[[bytes], bool]) -> BlockRef | None:
        """Return the first block from `top` downwards for which `matches` is true, or None."""
        block: bytes | None = top.hash
        while block is not None and not matches(block):
            block = self._parents.get(block)
        return None if block is None else self._blocks[block]

    def _decide(self) -> RoundState:
        ghost = self._ghost(PREVOTE)
        if ghost is None:
            return RoundState()
        cast_weight, threshold = self._cast(PRECOMMIT), self.voters.threshold
        if cast_weight < threshold:  # any block could still become final
            return RoundState(ghost, None, ghost)
        weights = self._weights(PRECOMMIT)
        tolerated = max(0, self.voters.total - threshold - self._equivocators(PRECOMMIT))

        def possible(block: bytes) -> bool:
            """Return whether a block could still become final.

            Missing votes could make it so, and second votes of authorities that are counted.
            """
            weight = weights[block]
            return (
                weight + self.voters.total - cast_weight + min(max(0, cast_weight - weight), tolerated)
                >= threshold
            )

        finalized = self._highest(ghost, lambda block: weights[block] >= threshold)
        estimate = self._highest(ghost, possible)
        open_above = any(parent == ghost.hash and possible(block) for block, parent in self._parents.items())
        completable = estimate is not None and (estimate != ghost or not open_above)
        return RoundState(ghost, finalized, estimate, completable)
