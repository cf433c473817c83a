"""How does the node get from the genesis authorities to the newest final block, believing nobody?

It asks peers (`asker.py`) for a warp proof from the last block it trusts and checks the fragments in a
thread, each against the weights of the set before. What holds, stays, whatever comes after it:

- a fragment that does not hold costs its peer its place; another one goes on from the last good block;
- a peer that does not answer, holds no history from our block on, or knows nothing later than genesis, is
  left aside for a while;
- when nobody continues what an earlier run proved, that memory is dropped and the beginning (genesis, or a
  checkpoint) is where it starts again.

Substrate, GRANDPA warp sync.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import trio

from cfnode.core.grandpa import FinalityError, PackedWarpProof, follow_warp_proof
from cfnode.core.scale import ScaleError
from cfnode.core.wire import WireError
from cfnode.core.wire.warp import SUFFIX, read_proof
from cfnode.network.model import Network
from cfnode.node.sync.asker import Asker, NobodyHelps, Unanswered
from cfnode.node.sync.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.sync.peer_set import PATIENCE_S, PeerSet
from cfnode.node.sync.progress import Phase, Progress, alone, with_reasons
from cfnode.node.sync.question import Question
from cfnode.node.sync.reputation import Failure
from cfnode.store import StoreError

__all__ = ["Followed", "WarpSync", "follow_answer"]

log = logging.getLogger("cfnode.sync")

MAX_USELESS = 16
MIN_SETS = 16
"""A peer that gives fewer set changes and is not at the end is asked after others: an answer holds many."""
AGAIN_S = 5.0
"""Seconds after which peers that could not help are asked again."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Where an answer leads. `refused` says why it goes no further; None where nothing in it is wrong.

    Not every answer that says so is `finished`: that nothing but genesis is final proves nothing.
    """

    trust: TrustedSet
    sets: int
    finished: bool
    refused: str | None


def follow_answer(
    answer: bytes, trust: TrustedSet, step: Callable[[TrustedSet], None] = lambda _: None
) -> Followed:
    """Check a warp answer from a trusted block on, as far as it holds; `step` hears where each one leads.

    It takes seconds for hundreds of sets: call it in a thread.
    """
    sets = 0
    try:
        proof = read_proof(answer)
        if not len(proof):
            return Followed(trust, 0, False, None if proof.finished else "an empty warp proof")
        if _says_nothing_new(proof, trust):
            return Followed(trust, 0, trust.number > 0, None)
        for target in follow_warp_proof(proof, trust.authorities, trust.number):
            votes = target.justification.encode()
            trust, sets = TrustedSet(target.header, target.authorities, votes), sets + 1
            step(trust)
        return Followed(trust, sets, proof.finished, None)
    except (WireError, ScaleError, FinalityError) as error:
        return Followed(trust, sets, False, str(error))


def _says_nothing_new(proof: PackedWarpProof, trust: TrustedSet) -> bool:
    """A server without anything newer sends its newest block once more, which the set before it signed."""
    return proof.finished and len(proof) == 1 and next(iter(proof)).header == trust.header


class WarpSync:
    """One way to the newest final block. `beginning`: genesis or a checkpoint, and its authorities."""

    def __init__(
        self,
        network: Network,
        book: PeerSet,
        beginning: TrustedSet,
        memory: AuthoritySetCache | None,
        progress: Progress,
    ) -> None:
        self._network = network
        self._book = book
        self._asker = Asker(network, book)
        self._beginning = beginning
        self._memory = memory
        self._progress = progress
        self.forgotten = False
        """Has what an earlier run proved been given up?"""
        self._set_aside: set[str] = set()
        self._useless: dict[str, str] = {}

    async def run(self, trust: TrustedSet | None = None) -> TrustedSet:
        """The newest final block that a peer can prove; from `trust` on, or from what was proven before."""
        trust = trust or await self.remembered() or self._beginning
        while True:
            if self._left():
                wanted = f"a warp proof from #{trust.number}"
                self._progress.enter(Phase.PROOFS, with_reasons(wanted, self._useless))
            try:
                followed = await self._asker.race(partial(self._ask, trust), self._left, hedge=PATIENCE_S)
            except NobodyHelps:
                trust = await self._nobody(trust)
                continue
            if followed.trust is not trust:
                trust = followed.trust
                self._set_aside.clear()
                await self._remember(trust)
            if followed.finished:
                return trust

    def _left(self) -> list[str]:
        """Whom to ask."""
        return [peer for peer in self._book.candidates() if peer not in self._set_aside]

    async def _nobody(self, trust: TrustedSet) -> TrustedSet:
        """No peer is left to ask: wait, and where all have refused a remembered block, drop the memory."""
        if len(self._book) and trust is not self._beginning and trust == await self.remembered():
            log.warning("No peer continues from block #%d, proven before: beginning at #%d",
                        trust.number, self._beginning.number)  # fmt: skip
            await self.forget()
            self._set_aside.clear()
            return self._beginning
        self._progress.waiting_for = self._why_nobody(trust)
        await self._book.changed(AGAIN_S)
        self._set_aside.clear()
        return trust

    def _why_nobody(self, trust: TrustedSet) -> str:
        if not len(self._book):
            return alone(self._network, self._useless)
        return with_reasons(f"no peer gives a proof from #{trust.number} that holds", self._useless)

    def _leave(self, peer: str, reason: str) -> None:
        """Note why a peer was of no use."""
        self._useless.pop(peer, None)
        self._useless[peer] = reason
        if len(self._useless) > MAX_USELESS:
            del self._useless[next(iter(self._useless))]

    async def _ask(self, trust: TrustedSet, peer: str) -> Followed:
        """One peer's proof, as far as it holds. Raises Unanswered if it did not help at all."""
        self._progress.enter(
            Phase.PROOFS, with_reasons(f"a warp proof from #{trust.number} by {peer}", self._useless)
        )
        self._set_aside.add(peer)
        question = Question(
            SUFFIX, trust.header.hash, lambda answer: follow_answer(answer, trust, self._step), proves=False
        )
        try:
            answer = await self._asker.ask_one(peer, question)
        except Unanswered as error:
            self._leave(peer, str(error))
            raise
        self._useless.pop(peer, None)
        self._progress.size += answer.size
        followed = answer.value
        if followed.sets:
            self._asker.credit(answer)
        self._judge(peer, followed)
        if not followed.sets and not followed.finished:
            raise Unanswered(self._useless.get(peer, "its proof leads nowhere"))
        return followed

    def _judge(self, peer: str, followed: Followed) -> None:
        """What an answer costs its peer."""
        if not followed.sets and not followed.finished and followed.refused is None:
            self._leave(peer, f"it has no final block after #{followed.trust.number} yet")
        if followed.refused is not None:
            self._drop(peer, followed.refused, at_checkpoint=self._at_checkpoint(followed.trust))
        elif not followed.finished and followed.sets < MIN_SETS:
            self._asker.fail(peer, Failure.LITTLE, f"{followed.sets} set changes")

    def _at_checkpoint(self, trust: TrustedSet) -> bool:
        """Has nothing been proven since a checkpoint, whose set id is only somebody's word?"""
        return trust is self._beginning and trust.number > 0

    def _step(self, _: TrustedSet) -> None:
        """Called in the thread for each verified fragment."""
        self._progress.sets += 1
        self._progress.steps += 1

    def _drop(self, peer: str, reason: str, *, at_checkpoint: bool) -> None:
        if at_checkpoint:
            reason += " (is the set id of --checkpoint right?)"
        self._leave(peer, f"its proof did not hold: {reason}")
        self._asker.fail(peer, Failure.BAD_PROOF, f"a warp proof that does not hold: {reason}")

    async def remembered(self) -> TrustedSet | None:
        """What an earlier run proved from the same beginning."""
        return None if self._memory is None else await trio.to_thread.run_sync(self._memory.load)

    async def _remember(self, trust: TrustedSet) -> None:
        if self._memory is None:
            return
        try:
            await trio.to_thread.run_sync(self._memory.save, trust)
        except StoreError as error:
            log.warning("Proven authority sets cannot be kept (%s): the next start pays again", error)

    async def forget(self, ask_first: frozenset[str] = frozenset()) -> None:
        """Drop what an earlier run proved. The peers that refuted it, `ask_first`, are asked at once, and
        others only if these fail. Without them, the peers asked at once are those that could not go on from
        it: a peer that could go on may have misled this node."""
        self.forgotten = True
        self._set_aside |= set(self._book.candidates()) if ask_first else set()
        self._set_aside -= ask_first or self._useless.keys()
        if self._memory is not None:
            await trio.to_thread.run_sync(self._memory.forget)
