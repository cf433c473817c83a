"""A GRANDPA voter in rounds, by which authorities in several processes finalize blocks together.

It votes (in the rounds of `node/grandpa/rounds.py`) if the keys of this process alone do not have enough
weight. The prevote is for a block of the best chain, `lag` blocks behind its head, above the estimate of the
previous round, and never past a block that changes the authorities. When enough prevotes agree on a block,
the precommit is for that block. Each vote is delayed, so that the votes of others can arrive; in a
completable round there is no delay (finality-grandpa, voting round). The primary makes no proposal, which
would be only a hint.

Each vote is written to disk before it is cast (`cast_votes.py`). After a restart, an authority continues with
the round of its last votes, and casts the same votes in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import PRECOMMIT, PREVOTE, Round, Vote, sign_payload
from cfnode.core.keys import Keypair
from cfnode.devchain.cast_votes import CastVotes
from cfnode.devchain.voter import Voter
from cfnode.node.chain.chain import NodeChain
from cfnode.node.grandpa.gossip import FinalityGossip

__all__ = ["VOTE_GOSSIP_S", "RoundVoter"]

log = logging.getLogger("cfnode.grandpa")

VOTE_GOSSIP_S = 0.1
"""Seconds that a vote takes to reach the other voters; a prevote waits twice as long, a precommit four times.

The official node has 0.333; blocks of a development chain come faster.
"""

VOTER_POLL_S = 0.5
"""Seconds between two checks of changes without a notification: peers, and the voter's settings."""


class RoundVoter:
    """Voter with the `keys` (ed25519, by public key) that are in the present set and not silent."""

    def __init__(
        self,
        chain: NodeChain,
        voter: Voter,
        keys: Mapping[bytes, Keypair],
        gossip: FinalityGossip,
        lag: int,
        record: Path,
    ) -> None:
        self._chain = chain
        self._voter = voter
        self._keys = dict(keys)
        self._gossip = gossip
        self._rounds = gossip.rounds
        self._lag = lag
        self._record = CastVotes(record)

    async def run(self) -> None:
        """Vote until cancelled. Raises StoreError where the votes on disk cannot be read or written."""
        self._record = await trio.to_thread.run_sync(CastVotes.load, self._record.path)
        resumed_set_id = -1
        while True:
            is_needed = self._is_needed()
            if is_needed and resumed_set_id != self._rounds.set_id:
                resumed_set_id = self._rounds.set_id
                self._resume()
            if is_needed and self._gossip.is_synced:
                await self._round()
            else:
                with trio.move_on_after(VOTER_POLL_S):
                    await self._gossip.wait_progress()

    def _resume(self) -> None:
        """Continue with the round of the last votes, and cast those again."""
        set_id, number = self._record.place
        if set_id != self._rounds.set_id:
            return
        if self._record.completed is not None:
            self._rounds.apply_catch_up(self._record.completed)
        log.debug("Round %d of set %d continues after a restart", number, set_id)
        for vote in self._record.votes:
            self._gossip.cast(vote)

    def _is_needed(self) -> bool:
        """Return whether some of our keys are in the set, without enough weight of their own.

        If so, a commit ends no round.
        """
        if self._rounds.set_id < 0:
            return False
        weights = self._rounds.voters.weights
        weight = sum(weights[key] for key in self._keys if key in weights)
        is_needed = 0 < weight < self._rounds.voters.threshold
        self._rounds.commits_end_rounds = not is_needed
        return is_needed

    @property
    def _place(self) -> tuple[int, int]:
        return self._rounds.set_id, self._rounds.current

    async def _round(self) -> None:
        """Cast both votes of the present round, unless it ends before."""
        place, began = self._place, trio.current_time()
        now, before = self._rounds.round(place[1]), self._rounds.previous_round()
        if await self._until(place, lambda: now.state.completable, began + 2 * VOTE_GOSSIP_S):
            await self._cast(now, PREVOTE, self._prevote(now, before))
        if not await self._until(place, lambda: self._agreed(now, before) is not None):
            return
        if await self._until(place, lambda: now.state.completable, began + 4 * VOTE_GOSSIP_S):
            await self._cast(now, PRECOMMIT, self._agreed(now, before))
        await self._until(place, lambda: False)

    async def _until(
        self, place: tuple[int, int], condition: Callable[[], bool], deadline: float = float("inf")
    ) -> bool:
        """Wait until the condition holds, or until the deadline; False if another round has begun."""
        while self._place == place and not condition() and trio.current_time() < deadline:
            with trio.move_on_at(min(deadline, trio.current_time() + VOTER_POLL_S)):
                await self._gossip.wait_progress()
        return self._place == place

    def _prevote(self, now: Round, before: Round | None) -> BlockRef | None:
        """Return the block `lag` blocks behind the best chain's head; the estimate if that is on a fork."""
        estimate = self._estimate(now, before)
        head = self._chain.best
        if not self._chain.is_ancestor(estimate.hash, head.hash):
            return estimate
        change = self._chain.next_set_change(head.hash)
        highest = head.number - self._lag if change is None else min(head.number - self._lag, change.number)
        number = max(highest, estimate.number)
        block = self._chain.hash_at(number)
        return None if block is None else BlockRef(block, number)

    def _agreed(self, now: Round, before: Round | None) -> BlockRef | None:
        """Return the block on which the prevotes agree, once it descends from the previous estimate."""
        ghost, estimate = now.state.prevote_ghost, self._estimate(now, before)
        return ghost if ghost is not None and now.descends(ghost, estimate) else None

    @staticmethod
    def _estimate(now: Round, before: Round | None) -> BlockRef:
        estimate = None if before is None else before.state.estimate
        return estimate if estimate is not None and estimate.number > now.base.number else now.base

    async def _cast(self, now: Round, stage: int, target: BlockRef | None) -> None:
        """Cast the missing votes of a stage, after writing them to disk."""
        if target is None or self._voter.is_held:
            return
        votes = [self._sign(now, stage, target, key) for key in self._voting(now, stage)]
        if not votes:
            return
        completed_round = self._rounds.completed
        completed = None if completed_round is None else completed_round.catch_up()
        await trio.to_thread.run_sync(self._record.add, votes, completed)
        log.debug("Round %d: vote %d for #%d", now.number, stage, target.number)
        for vote in votes:
            self._gossip.cast(vote)

    def _voting(self, now: Round, stage: int) -> list[bytes]:
        """Return our keys that may vote in this stage and have not voted yet."""
        set_id = now.voters.set_id
        return [
            key
            for index, (key, _) in enumerate(now.voters.authorities)
            if key in self._keys
            and index not in self._voter.silent
            and not now.voted(key, stage)
            and self._record.allows(set_id, now.number, stage, key)
        ]

    def _sign(self, now: Round, stage: int, target: BlockRef, key: bytes) -> Vote:
        payload = sign_payload(target.hash, target.number, now.number, now.voters.set_id, stage)
        signature = self._keys[key].sign(payload)
        return Vote(now.number, now.voters.set_id, stage, target.hash, target.number, signature, key)
