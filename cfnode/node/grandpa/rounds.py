"""The rounds of the present authority set, and what their votes decide.

Votes of the previous, the current and the next round are accepted, at most two of each authority in each
stage, and kept for some rounds. Each authority has its own share, so a flood by one takes nothing from the
others. A vote for a missing block counts as soon as the block is imported. The current round ends when its
votes make it completable and the estimate of the previous one is final (finality-grandpa). For a node that
does not vote, a commit of the round ends it as well. A voter needs all votes of a round to continue, and
requests them (`round_catch_up.py`).
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Protocol

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import PROPOSE, AuthoritySet, CatchUp, CommitMessage, Round, Vote
from cfnode.core.header import Header
from cfnode.node.chain.justifications import Tree

__all__ = ["MAX_VOTES", "RoundBlocks", "Rounds"]

log = logging.getLogger("cfnode.grandpa")

MAX_VOTES = 2
"""Votes of an authority in a stage of a round: one is honest, two prove that it equivocates."""


MAX_OLD = 3
"""Rounds before the current one whose votes are kept, as Substrate does: a voter needs them after a
restart."""


class RoundBlocks(Tree, Protocol):
    """The part of the chain that rounds read."""

    def header(self, block_hash: bytes) -> Header | None:
        """Return the header of a block of the tree, or None."""


class Rounds:
    """The votes of the present set, which `begin` names.

    `commits_end_rounds`: a commit ends its round, since this node does not vote.
    """

    def __init__(self, chain: RoundBlocks) -> None:
        self.commits_end_rounds = True
        self.current = 1
        self.completed: Round | None = None
        """The last round with enough votes here to prove that it is over."""
        self._chain = chain
        self._voters: AuthoritySet | None = None
        self._rounds: dict[int, Round] = {}
        self._votes: dict[int, dict[bytes, Vote]] = {}
        self._vote_counts: Counter[tuple[int, int, bytes]] = Counter()
        self._waiting: dict[bytes, list[Vote]] = {}
        self._proposed: BlockRef | None = None

    @property
    def voters(self) -> AuthoritySet:
        """The present authority set."""
        assert self._voters is not None, "begin() names the voters"
        return self._voters

    @property
    def set_id(self) -> int:
        """The id of the present authority set; -1 before it is known."""
        return -1 if self._voters is None else self._voters.set_id

    @property
    def completed_number(self) -> int | None:
        """The number of the last completed round, 0 without one; None before the set is known."""
        return None if self._voters is None else self.current - 1

    def begin(self, voters: AuthoritySet) -> None:
        """Begin the rounds of an authority set; do nothing if they have begun."""
        if voters != self._voters:
            self.forget()
            self._voters = voters

    def forget(self) -> None:
        """Drop all votes and the set, since the chain starts from another block; `begin` follows."""
        self._voters, self.current, self.completed, self._proposed = None, 1, None, None
        for collection in (self._rounds, self._votes, self._vote_counts, self._waiting):
            collection.clear()

    # --- votes

    def expects(self, number: int, set_id: int) -> bool:
        """Return whether votes of this round are accepted."""
        return set_id == self.set_id and max(1, self.current - 1) <= number <= self.current + 1

    def is_old(self, number: int) -> bool:
        """Return whether this round is too old for its votes to be kept."""
        return number < self.current - MAX_OLD

    def has_vote(self, number: int, data: bytes) -> bool:
        """Return whether this vote has been kept, byte for byte."""
        return data in self._votes.get(number, ())

    def is_full(self, vote: Vote) -> bool:
        """Return whether the authority has used up its votes in this stage."""
        return self._vote_counts[vote.round, vote.stage, vote.authority] >= MAX_VOTES

    def messages(self) -> list[tuple[int, bytes]]:
        """Return all kept votes in their encoded form, each with its round."""
        return [(number, data) for number, votes in self._votes.items() for data in votes]

    def add(self, vote: Vote, data: bytes) -> bool:
        """Add a well-signed vote of a member of the set; return False if it is not kept.

        Call `advance` afterwards.
        """
        votes = self._votes.setdefault(vote.round, {})
        if not self.expects(vote.round, vote.set_id) or data in votes or self.is_full(vote):
            return False
        votes[data] = vote
        self._vote_counts[vote.round, vote.stage, vote.authority] += 1
        self._count(vote)
        return True

    def block_imported(self, block: bytes) -> None:
        """Count the votes that waited for a block, which has been imported."""
        for vote in self._waiting.pop(block, ()):
            self._count(vote)
        self.advance()

    def add_commit(self, commit: CommitMessage) -> None:
        """Count the votes of a commit that has made a block final."""
        if commit.set_id != self.set_id:
            return
        for precommit in commit.commit.precommits:
            if precommit.authority in self.voters.weights and self.expects(commit.round, commit.set_id):
                self._count(Vote.of(precommit, commit.round, commit.set_id))  # counted, but not relayed
        if self.commits_end_rounds and commit.round >= self.current:
            self._enter_round(commit.round + 1)
        self.advance()

    def apply_catch_up(self, answer: CatchUp) -> bool:
        """Apply the well-signed votes of a later round; return False if they do not prove that it is over.

        A node that does not vote only needs the number of the round: enough votes of both stages prove it,
        even where the node never had blocks below its final one, such as the base of the votes.
        """
        if answer.set_id != self.set_id or answer.round < self.current:
            return False
        base = BlockRef(answer.base_hash, answer.base_number)
        if not self._has_block(base):
            base = self._chain.finalized
        completed, votes = Round(answer.round, self.voters, base, self._parent), answer.votes()
        for vote in votes:
            completed.add(vote)
        if not completed.state.completable and not (
            self.commits_end_rounds and self._has_supermajority(answer)
        ):
            return False
        self._rounds[answer.round] = completed
        self._votes[answer.round] = {vote.encode(): vote for vote in votes}
        self._vote_counts.update((vote.round, vote.stage, vote.authority) for vote in votes)
        self._enter_round(answer.round + 1)
        self.advance()
        return True

    def _has_supermajority(self, answer: CatchUp) -> bool:
        """Return whether authorities with enough weight have voted in both stages."""
        weights, needed = self.voters.weights, self.voters.threshold
        stages = ({vote.authority for vote in votes} for votes in (answer.prevotes, answer.precommits))
        return all(sum(weights[authority] for authority in voted) >= needed for voted in stages)

    # --- results

    def advance(self) -> None:
        """Enter the round that the votes have reached."""
        while self._is_over(self.current):
            self._enter_round(self.current + 1)
        before = self.previous_round()
        if before is not None and before is not self.completed and before.state.completable:
            self.completed = before

    def round(self, number: int) -> Round:
        """Return one of the kept rounds; an empty one if it has no votes yet."""
        if number not in self._rounds:
            self._rounds[number] = Round(number, self.voters, self._chain.finalized, self._parent)
        return self._rounds[number]

    def previous_round(self) -> Round | None:
        """Return the round before the current one; None without votes of it."""
        return self._rounds.get(self.current - 1)

    def commit(self) -> CommitMessage | None:
        """Return a commit for a newly final block, once for each block; None without one."""
        for number in sorted(self._rounds, reverse=True):
            target = self._rounds[number].precommit_ghost
            if (
                target is not None
                and target.number > self._chain.finalized.number
                and target != self._proposed
            ):
                self._proposed = target
                return self._rounds[number].commit()
        return None

    def _is_over(self, number: int) -> bool:
        now, before = self._rounds.get(number), self._rounds.get(number - 1)
        if now is None or not now.state.completable:
            return False
        estimate = None if before is None else before.state.estimate
        if before is None or estimate is None:
            return True
        final = [state.finalized.number for state in (before.state, now.state) if state.finalized is not None]
        return estimate.number <= max([*final, self._chain.finalized.number])

    def _enter_round(self, number: int) -> None:
        self.current = number
        for old in [old for old in self._rounds.keys() | self._votes.keys() if self.is_old(old)]:
            self._rounds.pop(old, None)
            self._votes.pop(old, None)
        self._vote_counts = Counter(
            {key: count for key, count in self._vote_counts.items() if not self.is_old(key[0])}
        )
        self._waiting = {
            block: current_votes
            for block, votes in self._waiting.items()
            if (current_votes := [vote for vote in votes if not self.is_old(vote.round)])
        }

    # --- blocks

    def _count(self, vote: Vote) -> None:
        if vote.stage == PROPOSE:
            return  # a hint for voters, which is only relayed
        if not self._has_block(BlockRef(vote.target_hash, vote.target_number)):
            self._waiting.setdefault(vote.target_hash, []).append(vote)
        else:
            self.round(vote.round).add(vote)

    def _has_block(self, block: BlockRef) -> bool:
        """Return whether the block is in the tree, or final."""
        if block.number > self._chain.finalized.number:
            return self._chain.descends_from_finalized(block.hash)
        return self._chain.block_ref(block.hash) == block

    def _parent(self, block: bytes) -> bytes | None:
        parent = self._chain.parent(block)
        header = self._chain.header(block) if parent is None else None
        return parent if header is None else header.parent_hash
