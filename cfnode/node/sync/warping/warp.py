"""Warp sync: finality proofs from the genesis authorities to the newest final block, from untrusted peers.

The node asks peers (`asker.py`) for a warp proof from the last block that it trusts, and checks the fragments
in a thread, each against the weights of the authority set before. A fragment that was valid stays so,
whatever follows it:

- a peer that sends an invalid fragment is disconnected; another peer continues from the last good block;
- a peer that does not answer, has no history from our block on, or has no final block after genesis, is set
  aside for a while;
- when no peer continues from the cached authority set of an earlier run, and one has answered so, the cache
  is dropped and the proofs start again at the beginning (genesis, or a checkpoint). A request that failed
  without an answer, since its connection ended or it took too long, drops nothing.

Substrate, GRANDPA warp sync.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.grandpa import FinalityError, PackedWarpProof, follow_warp_proof
from cfnode.core.scale import ScaleError
from cfnode.core.wire import WireError
from cfnode.core.wire.warp import SUFFIX, read_proof
from cfnode.node.asking.asker import AllPeersFailed, Asker, PeerFailed
from cfnode.node.asking.peer_set import SLOW_ANSWER_S
from cfnode.node.asking.progress import Phase, SyncProgress, no_peers_reason, with_reasons
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.node.threads import leave_if_cancelled
from cfnode.store import StoreError

__all__ = ["Followed", "WarpSync", "follow_answer"]

log = logging.getLogger("cfnode.sync")

MAX_USELESS = 16
"""Peers whose reasons are kept for the log."""
MIN_SETS = 16
"""Set changes of an answer: a peer that returns fewer without reaching the end is asked after others, since
one answer holds many."""
WARP_PROOF_RETRY_S = 5.0
"""Seconds after which peers that could not help are asked again."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The block and the set that an answer leads to.

    `refused`: why the answer goes no further; None if nothing in it is wrong. `finished`: the peer has no
    later final block. An answer from genesis that leads nowhere is not finished, whatever it claims: it
    proves nothing.
    """

    trusted: TrustedSet
    sets: int
    finished: bool
    refused: str | None


def follow_answer(
    answer: bytes, trusted: TrustedSet, step: Callable[[TrustedSet], None] = lambda _: None
) -> Followed:
    """Check a warp answer from a trusted block on, up to the first invalid fragment; return where it leads.

    `step` is called with the set that each valid fragment leads to, in the same thread. It takes seconds for
    hundreds of sets: call it in a thread, and let `step` leave if its task is cancelled.
    """
    sets = 0
    try:
        proof = read_proof(answer)
        if not len(proof):
            return Followed(trusted, 0, False, None if proof.finished else "an empty warp proof")
        if _has_nothing_new(proof, trusted):
            return Followed(trusted, 0, trusted.number > 0, None)
        for target in follow_warp_proof(proof, trusted.authorities, trusted.number):
            votes = target.justification.encode()
            trusted, sets = TrustedSet(target.header, target.authorities, votes), sets + 1
            step(trusted)
        return Followed(trusted, sets, proof.finished, None)
    except (WireError, ScaleError, FinalityError) as error:
        return Followed(trusted, sets, False, str(error))


def _has_nothing_new(proof: PackedWarpProof, trusted: TrustedSet) -> bool:
    """Return whether the proof is only the newest block once more, which the trusted set is from.

    A server sends it if it has nothing newer; the set before it signed it.
    """
    return proof.finished and len(proof) == 1 and next(iter(proof)).header == trusted.header


class WarpSync:
    """The download of warp proofs. `beginning`: genesis or a checkpoint, and its authorities."""

    def __init__(
        self,
        asker: Asker,
        beginning: TrustedSet,
        set_cache: AuthoritySetCache | None,
        progress: SyncProgress,
    ) -> None:
        self._asker = asker
        self._peer_set = asker.peer_set
        self._beginning = beginning
        self._set_cache = set_cache
        self._progress = progress
        self.cache_dropped = False
        """Whether the cached authority set of an earlier run is no longer used."""
        self._set_aside: set[str] = set()
        self._declined: set[str] = set()
        """The peers set aside that answered, but did not continue from our block."""
        self._useless = BoundedDict[str, str](MAX_USELESS)

    async def run(self, trusted: TrustedSet | None = None) -> TrustedSet:
        """Return the newest final block that a peer can prove, from `trusted` on.

        `trusted`: None for the cached set, or without one the beginning.
        """
        trusted = trusted or await self.cached_set() or self._beginning
        while True:
            if self._left():
                request = f"a warp proof from #{trusted.number}"
                self._progress.enter(Phase.PROOFS, with_reasons(request, self._useless))
            try:
                followed = await self._asker.race(
                    partial(self._ask, trusted), self._left, hedge=SLOW_ANSWER_S
                )
            except AllPeersFailed:
                trusted = await self._no_peer_left(trusted)
                continue
            if followed.trusted is not trusted:
                trusted = followed.trusted
                self._ask_all_again()
                await self._save(trusted)
            if followed.finished:
                return trusted

    def _left(self) -> list[str]:
        """Return the peers that can be asked, the best first."""
        return [peer for peer in self._peer_set.candidates() if peer not in self._set_aside]

    def _ask_all_again(self) -> None:
        self._set_aside.clear()
        self._declined.clear()

    async def _no_peer_left(self, trusted: TrustedSet) -> TrustedSet:
        """Handle the lack of peers to ask: wait, or drop the cached set; return the set to continue from.

        The cached set is dropped if a peer declined to continue from its block.
        """
        declined = not self._declined.isdisjoint(self._peer_set.candidates())
        if declined and trusted is not self._beginning and trusted == await self.cached_set():
            log.warning("No peer continues from block #%d, proven before: beginning at #%d",
                        trusted.number, self._beginning.number)  # fmt: skip
            await self.drop_cache()
            self._ask_all_again()
            return self._beginning
        self._progress.waiting_for = self._no_peer_reason(trusted)
        await self._peer_set.wait_changed(WARP_PROOF_RETRY_S)
        self._ask_all_again()
        return trusted

    def _no_peer_reason(self, trusted: TrustedSet) -> str:
        if not len(self._peer_set):
            return no_peers_reason(self._asker.network, self._useless)
        return with_reasons(f"no peer provides a valid proof from #{trusted.number}", self._useless)

    def _note_useless(self, peer: str, reason: str) -> None:
        """Record why a peer was of no use."""
        self._useless.put_last(peer, reason)

    async def _ask(self, trusted: TrustedSet, peer: str) -> Followed:
        """Return one peer's proof, up to its first invalid fragment. Raise PeerFailed if it did not help."""
        self._progress.enter(
            Phase.PROOFS, with_reasons(f"a warp proof from #{trusted.number} by {peer}", self._useless)
        )
        self._set_aside.add(peer)
        loop = trio.lowlevel.current_trio_token()

        def step(_: TrustedSet) -> None:
            leave_if_cancelled()
            loop.run_sync_soon(self._count_set)  # other answers are checked in other threads

        question = Question(
            SUFFIX,
            trusted.header.hash,
            lambda answer: follow_answer(answer, trusted, step),
            proves=False,
        )
        try:
            answer = await self._asker.ask_one(peer, question)
        except PeerFailed as error:
            self._note_useless(peer, str(error))
            if error.answered:
                self._declined.add(peer)
            raise
        self._useless.pop(peer, None)
        self._progress.size += answer.size
        followed = answer.value
        if followed.sets:
            self._asker.credit(answer)
        self._judge(peer, followed)
        if not followed.sets and not followed.finished:
            self._declined.add(peer)
            raise PeerFailed(
                self._useless.get(peer, f"its warp proof contains no set change after #{trusted.number}")
            )
        return followed

    def _judge(self, peer: str, followed: Followed) -> None:
        """Charge a peer for what is wrong with its answer."""
        if not followed.sets and not followed.finished and followed.refused is None:
            self._note_useless(peer, f"it has no final block after #{followed.trusted.number} yet")
        if followed.refused is not None:
            self._drop(peer, followed.refused, at_checkpoint=self._at_checkpoint(followed.trusted))
        elif not followed.finished and followed.sets < MIN_SETS:
            self._asker.fail(peer, PeerFailure.TOO_LITTLE, f"{followed.sets} set changes")

    def _at_checkpoint(self, trusted: TrustedSet) -> bool:
        """Return whether nothing has been proven since the checkpoint, so its set id is unverified."""
        return trusted is self._beginning and trusted.number > 0

    def _count_set(self) -> None:
        self._progress.sets += 1
        self._progress.steps += 1

    def _drop(self, peer: str, reason: str, *, at_checkpoint: bool) -> None:
        if at_checkpoint:
            reason += " (is the set id of --checkpoint right?)"
        self._note_useless(peer, f"its proof is invalid: {reason}")
        self._asker.fail(peer, PeerFailure.BAD_PROOF, f"an invalid warp proof: {reason}")

    async def cached_set(self) -> TrustedSet | None:
        """Return the set that an earlier run proved from the same beginning; None without one."""
        return None if self._set_cache is None else await trio.to_thread.run_sync(self._set_cache.load)

    async def _save(self, trusted: TrustedSet) -> None:
        if self._set_cache is None:
            return
        try:
            await trio.to_thread.run_sync(self._set_cache.save, trusted)
        except StoreError as error:
            log.warning("Proven authority sets cannot be saved (%s): the next start proves them again", error)

    async def drop_cache(self, ask_first: frozenset[str] = frozenset()) -> None:
        """Delete the cached set.

        The peers that refuted it, `ask_first`, are asked next, and others only if these fail. Without
        `ask_first`, the peers that could not continue from it are asked next: a peer that could continue may
        have misled this node.
        """
        self.cache_dropped = True
        self._set_aside |= set(self._peer_set.candidates()) if ask_first else set()
        self._set_aside -= ask_first or self._useless.keys()
        if self._set_cache is not None:
            await trio.to_thread.run_sync(self._set_cache.forget)
