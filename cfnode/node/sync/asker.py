"""How does one ask peers of whom any may lie, refuse or say nothing?

`Asker` is the one place that does it:

1. Peers are asked in the order of what they have delivered (`book.py`), not of what they claim.
2. One that says nothing for `HEDGE_S` is not waited for: the next one is asked too. The first verified answer
   wins. A peer that was overtaken loses nothing by it, unless it has been silent for `PATIENCE_S`.
3. Every answer passes a check in a thread, which makes a verified value of raw bytes, or raises.
4. What goes wrong has its price in one table (`reputation.py`). A time-out always costs something.
5. Where many strangers are connected and nobody has delivered yet, all are asked for a small thing first, the
   header of the block that they claim to be at: so those who never answer are found out all at once.
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
from cfnode.network.model import Network, RequestFailed, RequestTimedOut
from cfnode.node.sync.blocks import headers_up_to
from cfnode.node.sync.peer_set import PATIENCE_S, STRANGER, PeerSet
from cfnode.node.sync.question import Question
from cfnode.node.sync.reputation import Failure, react

__all__ = ["HEDGE_S", "Answer", "Asker", "NobodyHelps", "Unanswered"]

log = logging.getLogger("cfnode.sync")

T = TypeVar("T")

HEDGE_S = 3.0
"""Seconds of silence after which the next peer is asked as well."""

MAX_AT_ONCE = 4
"""Peers asked the same at a time, those silent for `PATIENCE_S` not counted: each may send a whole answer."""

MAX_UNDER_WAY = 16
"""Peers asked the same at a time in all."""

MAX_STRANGERS = 3
"""Strangers asked one after the other; more are first found out about all at once."""

MAX_INTRODUCTIONS = 128
"""Strangers asked for a header at a time: some hundred bytes each."""

INTRODUCTION_S = 4.0
"""Seconds for that header."""

LIES = (WireError, ScaleError, TrieError, MissingNode, FinalityError)
"""What a check raises where an answer cannot be true. RequestFailed: the peer says that it cannot help."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A verified value, by whom it came, how many bytes it took and how many seconds."""

    peer: str
    value: T
    size: int
    seconds: float


class Unanswered(Exception):
    """One peer did not help; the text says why. It has had its price."""


class NobodyHelps(Exception):
    """No peer helped in time. `reasons`: of each that was asked, why it did not."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(f"no peer helps: {dict(reasons)}")
        self.reasons = dict(reasons)


class Asker:
    """Asks the peers of a book."""

    def __init__(self, network: Network, book: PeerSet) -> None:
        self.network = network
        self.book = book

    def fail(self, peer: str, failure: Failure, reason: str) -> None:
        """A peer failed: it costs what the table says."""
        react(self.network, self.book, peer, failure, reason)

    async def ask_one(self, peer: str, question: Question[T], seconds: float | None = None) -> Answer[T]:
        """One peer's answer, verified. Raises Unanswered, when the peer has had its price."""
        began = trio.current_time()
        try:
            answer = await self.network.request(peer, question.protocol, question.request, seconds=seconds)
            took = trio.current_time() - began
            value = await trio.to_thread.run_sync(question.check, answer)
        except RequestTimedOut as error:
            self.fail(peer, Failure.DRIP if question.gentle else Failure.SILENCE, str(error))
            raise Unanswered(str(error)) from None
        except RequestFailed as error:
            if not question.may_lack:
                self.fail(peer, Failure.REFUSAL, str(error))
            raise Unanswered(str(error)) from None
        except LIES as error:
            reason = f"{question.words}: {error}" if question.words else str(error)
            self.fail(peer, question.wrong, reason)
            raise Unanswered(reason) from error
        found = Answer(peer, value, len(answer), took)
        if question.proves:
            self.credit(found)
        if took > PATIENCE_S:
            self.fail(peer, Failure.DRIP, f"{took:.1f} s for an answer to {question.protocol}")
        return found

    def credit(self, answer: Answer[T]) -> None:
        """An answer has been verified: its peer has delivered."""
        self.book.delivered(answer.peer, answer.size, answer.seconds)
        self.network.mark_useful(answer.peer)

    async def ask(
        self, question: Question[T], *, among: Callable[[], Sequence[str]] | None = None,
        seconds: float = float("inf"), hedge: float = HEDGE_S,
    ) -> Answer[T]:  # fmt: skip
        """The first verified answer. `among`: whom to ask in which order, looked at again and again.
        `hedge`: seconds of silence after which the next one is asked too; longer for long answers.

        Raises NobodyHelps when all have failed, or the time is up.
        """
        return await self.race(lambda peer: self.ask_one(peer, question), among, seconds=seconds, hedge=hedge)

    async def race(
        self, attempt: Callable[[str], Awaitable[T]], among: Callable[[], Sequence[str]] | None = None,
        *, seconds: float = float("inf"), hedge: float = HEDGE_S,
    ) -> T:  # fmt: skip
        """What the first successful attempt with a peer gives. `attempt` raises Unanswered where it fails."""
        race = _Race(self.book, attempt, among or self.book.candidates, hedge, self._introduce)
        with trio.move_on_after(seconds):
            await race.run()
        if not race.won:
            raise NobodyHelps(race.reasons)
        return race.won[0]

    async def _introduce(self, peers: Iterable[str]) -> None:
        """Find out which of many strangers answer at all, where one of them would be asked next."""
        ranks = {peer: self.book.record(peer).rank[:2] for peer in peers}
        strangers = [peer for peer, rank in ranks.items() if rank == STRANGER]
        if len(strangers) <= MAX_STRANGERS or min(ranks.values()) < STRANGER:
            return
        with trio.move_on_after(INTRODUCTION_S) as patience:
            async with trio.open_nursery() as nursery:
                for peer in strangers[:MAX_INTRODUCTIONS]:
                    nursery.start_soon(self._meet, peer, patience)
        for peer in strangers[:MAX_INTRODUCTIONS] if patience.cancelled_caught else ():
            if not self.book.record(peer).met:
                self.book.penalize(peer)

    async def _meet(self, peer: str, patience: trio.CancelScope) -> None:
        claimed = self.book.get(peer)
        if claimed is None:
            return
        asked, began = headers_up_to(claimed.hash, 1), trio.current_time()
        try:
            answer = await self.network.request(peer, asked.protocol, asked.request, seconds=INTRODUCTION_S)
            asked.check(answer)
        except (RequestFailed, WireError) as error:
            log.debug("%s has not introduced itself: %s", peer, error)
            self.book.penalize(peer)
            return
        self.book.record(peer).met = True
        waited = trio.current_time() - began
        patience.deadline = min(patience.deadline, trio.current_time() + max(waited, 0.1))


class _Race(Generic[T]):
    """One question to several peers."""

    def __init__(
        self, book: PeerSet, attempt: Callable[[str], Awaitable[T]],
        candidates: Callable[[], Sequence[str]], hedge: float,
        introduce: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._introduce = introduce
        self._hedge = hedge
        self.candidates = candidates
        self.won: list[T] = []
        self.reasons: dict[str, str] = {}
        self._book = book
        self._attempt = attempt
        self._tried: set[str] = set()
        self._running: dict[str, float] = {}
        self._moved = trio.Event()

    async def run(self) -> None:
        """Until somebody has won, or nobody is left."""
        try:
            async with trio.open_nursery() as nursery:
                while self._next() is not None or self._running:
                    await self._introduce(self._left())
                    if (peer := self._next()) is not None:
                        self._tried.add(peer)
                        self._running[peer] = trio.current_time()
                        nursery.start_soon(self._try, peer, nursery.cancel_scope)
                    await self._wait()
        finally:
            for peer, began in self._running.items():
                if trio.current_time() - began > PATIENCE_S:
                    self._book.penalize(peer)

    async def _wait(self) -> None:
        """Until an attempt has ended, the peers under way have been silent, or a better one has come."""
        moved, until = self._moved, trio.current_time() + self._hedge
        async with trio.open_nursery() as nursery:
            nursery.cancel_scope.deadline = until

            async def newcomer() -> None:
                await self._book.until(self._has_better)
                nursery.cancel_scope.cancel()

            nursery.start_soon(newcomer)
            await moved.wait()
            nursery.cancel_scope.cancel()
        self._moved = trio.Event() if moved.is_set() else moved

    def _has_better(self) -> bool:
        """Is there somebody left with a better record than all under way?"""
        under_way = min((self._book.record(peer).rank[:2] for peer in self._running), default=(9, 0))
        peer = self._next()
        return peer is not None and self._book.record(peer).rank[:2] < under_way

    def _next(self) -> str | None:
        now = trio.current_time()
        waiting = sum(now - began < PATIENCE_S for began in self._running.values())
        if waiting >= MAX_AT_ONCE or len(self._running) >= MAX_UNDER_WAY:
            return None
        return next(iter(self._left()), None)

    def _left(self) -> list[str]:
        return [peer for peer in self.candidates() if peer not in self._tried]

    async def _try(self, peer: str, over: trio.CancelScope) -> None:
        try:
            value = await self._attempt(peer)
        except Unanswered as error:
            self.reasons[peer] = str(error)
            log.debug("%s did not help: %s", peer, error)
        else:
            self.won.append(value)
            over.cancel()
        del self._running[peer]
        self._moved.set()
