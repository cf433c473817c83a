"""Asking peers, any of which may lie, refuse or never answer.

`Asker` is the only place that does it:

1. Peers are asked in the order of what they have delivered (`peer_set.py`), not of what they claim.
2. When a peer has not answered for `SILENCE_BEFORE_NEXT_PEER_S`, the next one is asked too. The first
   verified answer wins. The slower peer is not charged, unless it has been silent for `SLOW_ANSWER_S`.
3. Every answer is checked in a thread. The check turns the raw bytes into a verified value, or raises.
4. Each failure costs what one table says (`reputation.py`). A timeout always costs something.
5. When many unknown peers are connected and none has delivered yet, all of them are probed first: each is
   asked for the header of its claimed best block. This finds the peers that never answer all at once.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import trio

from cfnode.core.grandpa import FinalityError
from cfnode.core.scale import ScaleError
from cfnode.core.trie import MissingNode, TrieError
from cfnode.core.wire import WireError
from cfnode.flow.wakeup import Wakeup
from cfnode.network.interface import PeerNetwork, PeerRequestRefused, RequestFailed, RequestTimedOut
from cfnode.node.asking.block_requests import headers_up_to
from cfnode.node.asking.peer_set import SLOW_ANSWER_S, UNKNOWN_RANK, PeerSet
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import PeerFailure, apply_failure
from cfnode.node.threads import check_in_thread

__all__ = ["SILENCE_BEFORE_NEXT_PEER_S", "AllPeersFailed", "Asker", "PeerAnswer", "PeerFailed"]

log = logging.getLogger("cfnode.sync")

T = TypeVar("T")

SILENCE_BEFORE_NEXT_PEER_S = 3.0
"""Seconds of silence after which the next peer is asked, too."""

MAX_AT_ONCE = 4
"""Peers asked one question at a time, not counting those silent for `SLOW_ANSWER_S`: each may send a whole
answer."""

MAX_UNDER_WAY = 16
"""Peers asked one question at a time in all."""

MAX_UNKNOWN = 3
"""Unknown peers asked one after the other; if there are more, all are probed first."""

MAX_PROBES = 128
"""Unknown peers probed at a time: some hundred bytes each."""

PROBE_TIMEOUT_S = 4.0
"""Seconds for the answer to a probe."""

INVALID_ANSWER = (WireError, ScaleError, TrieError, MissingNode, FinalityError)
"""Errors that a check raises for an answer that cannot be true. RequestRefused means that the peer lacks the
data."""


@dataclass(frozen=True, slots=True)
class PeerAnswer(Generic[T]):
    """A verified value, the peer that sent it, and its size in bytes and time in seconds."""

    peer: str
    value: T
    size: int
    seconds: float


class PeerFailed(Exception):
    """The failure of one peer to help; the text gives the reason. The peer has been charged.

    `answered`: the peer refused, or sent something invalid; False if nothing came from it.
    """

    def __init__(self, reason: str, *, answered: bool = True) -> None:
        super().__init__(reason)
        self.answered = answered


class AllPeersFailed(Exception):
    """The failure of all peers to help in time. `reasons`: the reason of each peer, by its id."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(f"no peer helps: {dict(reasons)}")
        self.reasons = dict(reasons)


class Asker:
    """The sender of questions to the peers of a peer set. The sync has one, which all its parts use."""

    def __init__(self, network: PeerNetwork, peer_set: PeerSet) -> None:
        self.network = network
        self.peer_set = peer_set

    def fail(self, peer: str, failure: PeerFailure, reason: str) -> None:
        """Charge a peer for a failure, by the table `REACTIONS`."""
        apply_failure(self.network, self.peer_set, peer, failure, reason)

    async def ask_one(self, peer: str, question: Question[T], seconds: float | None = None) -> PeerAnswer[T]:
        """Return one peer's verified answer. Raise PeerFailed after charging the peer."""
        began = trio.current_time()
        try:
            answer = await self.network.request(peer, question.protocol, question.request, seconds=seconds)
            took = trio.current_time() - began
            value = await check_in_thread(question.check, answer)
        except RequestTimedOut as error:
            self.fail(peer, PeerFailure.SLOW if question.lenient else PeerFailure.TIMEOUT, str(error))
            raise PeerFailed(str(error), answered=False) from None
        except RequestFailed as error:
            if not question.may_lack:
                self.fail(peer, PeerFailure.REFUSAL, str(error))
            raise PeerFailed(str(error), answered=isinstance(error, PeerRequestRefused)) from None
        except INVALID_ANSWER as error:
            reason = f"{question.error_prefix}: {error}" if question.error_prefix else str(error)
            self.fail(peer, question.failure, reason)
            raise PeerFailed(reason) from error
        result = PeerAnswer(peer, value, len(answer), took)
        if question.proves:
            self.credit(result)
        if took > SLOW_ANSWER_S:
            self.fail(peer, PeerFailure.SLOW, f"{took:.1f} s for an answer to {question.protocol}")
        return result

    def credit(self, answer: PeerAnswer[T]) -> None:
        """Record that the peer of a verified answer has delivered."""
        self.peer_set.delivered(answer.peer, answer.size, answer.seconds)
        self.network.mark_useful(answer.peer)

    async def ask(
        self, question: Question[T], *, among: Callable[[], Sequence[str]] | None = None,
        seconds: float = float("inf"), hedge: float = SILENCE_BEFORE_NEXT_PEER_S,
    ) -> PeerAnswer[T]:  # fmt: skip
        """Return the first verified answer. Raise AllPeersFailed when all have failed, or the time is up.

        `among`: returns the peers to ask, in order; called again for each peer. `hedge`: seconds of silence
        after which the next peer is asked too; longer for long answers.
        """
        return await self.race(lambda peer: self.ask_one(peer, question), among, seconds=seconds, hedge=hedge)

    async def race(
        self, attempt: Callable[[str], Awaitable[T]], among: Callable[[], Sequence[str]] | None = None,
        *, seconds: float = float("inf"), hedge: float = SILENCE_BEFORE_NEXT_PEER_S,
    ) -> T:  # fmt: skip
        """Return the result of the first attempt that succeeds; a failed attempt raises PeerFailed.

        Raise AllPeersFailed when all have failed, or the time is up.
        """
        candidates = among or self.peer_set.candidates
        race = _Race(self.peer_set, attempt, candidates, hedge, self._probe_unknown_peers)
        with trio.move_on_after(seconds):
            await race.run()
        if not race.won:
            raise AllPeersFailed(race.reasons)
        return race.won[0]

    async def _probe_unknown_peers(self, peers: Iterable[str]) -> None:
        """Find out which unknown peers answer at all, where many of them would be asked next."""
        ranks = {peer: self.peer_set.record(peer).rank[:2] for peer in peers}
        unknown = [peer for peer, rank in ranks.items() if rank == UNKNOWN_RANK]
        if len(unknown) <= MAX_UNKNOWN or min(ranks.values()) < UNKNOWN_RANK:
            return
        with trio.move_on_after(PROBE_TIMEOUT_S) as scope:
            async with trio.open_nursery() as nursery:
                for peer in unknown[:MAX_PROBES]:
                    nursery.start_soon(self._probe, peer, scope)
        for peer in unknown[:MAX_PROBES] if scope.cancelled_caught else ():
            if not self.peer_set.record(peer).responsive:
                self.peer_set.penalize(peer)

    async def _probe(self, peer: str, scope: trio.CancelScope) -> None:
        """Ask for one header. The first answer shortens the time that is left for the others."""
        claimed = self.peer_set.get(peer)
        if claimed is None:
            return
        question, began = headers_up_to(claimed.hash, 1), trio.current_time()
        try:
            answer = await self.network.request(
                peer, question.protocol, question.request, seconds=PROBE_TIMEOUT_S
            )
            question.check(answer)
        except (RequestFailed, WireError) as error:
            log.debug("%s does not answer a probe: %s", peer, error)
            self.peer_set.penalize(peer)
            return
        self.peer_set.record(peer).responsive = True
        waited = trio.current_time() - began
        scope.deadline = min(scope.deadline, trio.current_time() + max(waited, 0.1))


class _Race(Generic[T]):
    """One question to several peers."""

    def __init__(
        self, peer_set: PeerSet, attempt: Callable[[str], Awaitable[T]],
        candidates: Callable[[], Sequence[str]], hedge: float,
        probe: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._probe = probe
        self._hedge = hedge
        self.candidates = candidates
        self.won: list[T] = []
        self.reasons: dict[str, str] = {}
        self._peer_set = peer_set
        self._attempt = attempt
        self._tried: set[str] = set()
        self._running: dict[str, float] = {}
        self._attempt_ended = Wakeup()

    async def run(self) -> None:
        """Run attempts until one has succeeded, or no peer is left."""
        try:
            async with trio.open_nursery() as nursery:
                while self._next() is not None or self._running:
                    ended = self._attempt_ended.next
                    await self._probe(self._left())
                    if (peer := self._next()) is not None:
                        self._tried.add(peer)
                        self._running[peer] = trio.current_time()
                        nursery.start_soon(self._try, peer, nursery.cancel_scope)
                    await self._wait(ended)
        finally:
            for peer, began in self._running.items():
                if trio.current_time() - began > SLOW_ANSWER_S:
                    self._peer_set.penalize(peer)

    async def _wait(self, ended: trio.Event) -> None:
        """Wait until an attempt has ended, the peers stay silent, or a better peer has connected."""
        async with trio.open_nursery() as nursery:
            nursery.cancel_scope.deadline = trio.current_time() + self._hedge

            async def better_peer() -> None:
                await self._peer_set.wait_until(self._is_better_peer_left)
                nursery.cancel_scope.cancel()

            nursery.start_soon(better_peer)
            await ended.wait()
            nursery.cancel_scope.cancel()

    def _is_better_peer_left(self) -> bool:
        """Return whether a peer is left with a better record than all peers that are being asked."""
        running_rank = min((self._peer_set.record(peer).rank[:2] for peer in self._running), default=(9, 0))
        peer = self._next()
        return peer is not None and self._peer_set.record(peer).rank[:2] < running_rank

    def _next(self) -> str | None:
        now = trio.current_time()
        waiting = sum(now - began < SLOW_ANSWER_S for began in self._running.values())
        if waiting >= MAX_AT_ONCE or len(self._running) >= MAX_UNDER_WAY:
            return None
        return next(iter(self._left()), None)

    def _left(self) -> list[str]:
        return [peer for peer in self.candidates() if peer not in self._tried]

    async def _try(self, peer: str, over: trio.CancelScope) -> None:
        try:
            value = await self._attempt(peer)
        except PeerFailed as error:
            self.reasons[peer] = str(error)
            log.debug("%s did not help: %s", peer, error)
        else:
            self.won.append(value)
            over.cancel()
        del self._running[peer]
        self._attempt_ended.notify()
