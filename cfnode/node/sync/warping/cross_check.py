"""Cross-check of the cached authority set of an earlier run with what peers can prove today.

The cache saves a restart hundreds of signatures. But an attacker that misled the node once, or took over
authorities that have retired since, would mislead it for good. So while a cached set is in use, each peer is
asked for its header at the height of the cached block. A peer that names another header is asked for its
proofs from the beginning. Where these pass that height with another block, set or authorities, the peer
*refutes* the cached set. Two such peers are enough: their proofs are checked like any others, so refuting a
true set would take forged proofs.

A peer that merely lacks the history provides neither, and decides nothing.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.grandpa import scheduled_change
from cfnode.core.wire.warp import SUFFIX
from cfnode.flow.wakeup import Wakeup
from cfnode.node.asking.asker import Asker, PeerFailed
from cfnode.node.asking.block_requests import header_at
from cfnode.node.asking.question import Question
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from cfnode.node.sync.warping.warp import Followed, follow_answer
from cfnode.node.threads import leave_if_cancelled

__all__ = ["CrossCheck", "contradicts"]

log = logging.getLogger("cfnode.sync")

MIN_REFUTATIONS = 2
"""Peers that have to refute a cached set."""

HEADER_TIMEOUT_S = 10.0
"""Seconds for a peer's header: no state is imported before each asked peer has answered, or timed out."""

PROOFS_TIMEOUT_S = 60.0
"""Seconds for a peer's proofs from the beginning."""


def contradicts(cached: TrustedSet, passed: TrustedSet) -> bool:
    """Return whether a block that a proof passes is on another chain than the cached one."""
    if passed.number == cached.number:
        return passed.header != cached.header
    before, proven, expected = passed.number < cached.number, passed.authorities, cached.authorities
    if proven.set_id != expected.set_id:
        return before != (proven.set_id < expected.set_id)
    begins = scheduled_change(passed.header) is not None
    return proven != expected or (begins and not before)


class CrossCheck:
    """The questions to peers about a cached set. `beginning`: where its proofs began."""

    def __init__(self, asker: Asker, beginning: TrustedSet, cached: TrustedSet) -> None:
        self._asker = asker
        self._peer_set = asker.peer_set
        self._beginning = beginning
        self._cached = cached
        self._asked: set[str] = set()
        self._asking: set[str] = set()
        self._answered = Wakeup()
        self._against: set[str] = set()
        self._refuted = trio.Event()
        self._proving = trio.CapacityLimiter(MIN_REFUTATIONS)

    async def wait_refuted(self) -> None:
        """Return when enough peers have refuted the cached set; otherwise wait until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_everyone, nursery)
            await self._refuted.wait()
            nursery.cancel_scope.cancel()

    @property
    def against(self) -> frozenset[str]:
        """The peers that have refuted the cached set."""
        return frozenset(self._against)

    async def wait_answered(self) -> None:
        """Return when each asked peer has answered or timed out; never once the cached set is refuted.

        The last answer may be the one that refutes it.
        """
        with trio.move_on_after(PROOFS_TIMEOUT_S):
            while self._asking:
                await self._answered.wait()
        if self._refuted.is_set():
            await trio.sleep_forever()

    async def wait_undisputed(self) -> None:
        """Return when each asked peer has answered or timed out; never if one has refuted the cached set."""
        await self.wait_answered()
        if self._against:
            await trio.sleep_forever()

    async def _ask_everyone(self, nursery: trio.Nursery) -> None:
        while True:
            for peer in self._peer_set.candidates():
                if peer not in self._asked:
                    self._asked.add(peer)
                    self._asking.add(peer)
                    nursery.start_soon(self._ask, peer)
            await self._peer_set.wait_changed(float("inf"))

    async def _ask(self, peer: str) -> None:
        try:
            await self._check(peer)
        finally:
            self._asking.discard(peer)
            self._answered.notify()

    async def _check(self, peer: str) -> None:
        number = self._cached.number
        try:
            header = await self._asker.ask_one(peer, header_at(number), HEADER_TIMEOUT_S)
            if header.value == self._cached.header:
                return
            async with self._proving:
                if await self._refutes(peer):
                    log.warning("Peer %s proves that block #%d is not of this chain", peer, number)
                    self._against.add(peer)
        except PeerFailed as error:
            log.debug("%s does not answer about block #%d: %s", peer, number, error)
        if len(self._against) >= MIN_REFUTATIONS:
            self._refuted.set()

    async def _refutes(self, peer: str) -> bool:
        """Return whether the peer's proofs from the beginning contradict the cached set. Raise PeerFailed."""
        trusted = self._beginning
        while True:
            followed, passed = await self._proof(peer, trusted)
            if any(contradicts(self._cached, passed_set) for passed_set in passed):
                return True
            beyond = followed.trusted.number >= self._cached.number
            if beyond or followed.finished or followed.refused is not None or not followed.sets:
                return False
            trusted = followed.trusted

    async def _proof(self, peer: str, trusted: TrustedSet) -> tuple[Followed, list[TrustedSet]]:
        """Return where the peer's proof leads, and the sets that it passes. Raise PeerFailed.

        A server may lack the history.
        """
        passed: list[TrustedSet] = []

        def step(reached: TrustedSet) -> None:
            leave_if_cancelled()
            passed.append(reached)

        question = Question(
            SUFFIX,
            trusted.header.hash,
            lambda answer: follow_answer(answer, trusted, step),
            may_lack=True,
            proves=False,
        )
        return (await self._asker.ask_one(peer, question)).value, passed
