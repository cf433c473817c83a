"""How do the ranges of one block's state come from all peers at once?

Piece by piece, each with its proof: it is checked against the block's state root in a thread, then written in
one sorted batch. A piece that does not hold costs its peer its place, and so do a few true but tiny ones; its
part of the work goes to another. So does the part of a peer that is silent for a while, whichever of the two
gives it first.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import trio

from cfnode.core.header import Header
from cfnode.core.trie import Position, StateRange, read_range
from cfnode.core.wire import WireError
from cfnode.core.wire.state import SUFFIX, StateRequest, StateResponse
from cfnode.network.model import Network
from cfnode.node.sync.asker import Asker, Unanswered
from cfnode.node.sync.healing import TargetLost
from cfnode.node.sync.peer_set import PATIENCE_S, PeerSet
from cfnode.node.sync.progress import Pace, Phase, Progress, with_reasons
from cfnode.node.sync.question import Question
from cfnode.node.sync.reputation import Failure
from cfnode.node.sync.state_plan import Part, StatePlan
from cfnode.store import StateImport

__all__ = ["RangeSync", "read_answer"]

SMALL = 16 << 10
"""Bytes that an answer has at least, unless the state ends with it: servers stop after 2 MiB."""

MAX_SMALL = 4

LEAST_RATE = 16 << 10
"""Bytes a second below which another peer is better, if there is one."""

STRANGER_S = 0.5
"""Seconds after which a part of a peer that has never delivered goes to one that has."""

LOOK_S = 0.5
"""Seconds between two looks for a part whose peer is silent."""


def read_answer(answer: bytes, root: bytes, start: Position) -> StateRange:
    """What a state answer proves. Raises WireError or TrieError. Takes long: call it in a thread."""
    response = StateResponse.decode(answer)
    if not response.proof:
        raise WireError("state answer: it has no proof")
    found = read_range(response.proof, root, start)
    if found.next == start:
        raise WireError("state answer: it shows nothing after the key that was asked for")
    return found


class RangeSync:
    """Brings what a plan still lacks from one block's state into the store; progress counts on."""

    def __init__(
        self, network: Network, book: PeerSet, adoption: StateImport, header: Header, plan: StatePlan,
        progress: Progress, pace: Pace,
    ) -> None:  # fmt: skip
        self._book = book
        self._asker = Asker(network, book)
        self._adoption = adoption
        self._header = header
        self._hash = header.hash
        self._plan = plan
        self._progress = progress
        self._pace = pace
        self._working: set[str] = set()
        self._small: Counter[str] = Counter()
        self._useless: dict[str, str] = {}
        self._moved = trio.Event()

    async def run(self) -> None:
        """Until the plan is done. Raises TargetLost where no peer gives this state."""
        self._progress.enter(Phase.STATE, f"the state of #{self._header.number}")
        self._show()
        async with trio.open_nursery() as nursery:
            while not self._plan.done:
                self._engage(nursery)
                if not self._working and len(self._book):
                    break
                await self._wait()
            nursery.cancel_scope.cancel()
        if not self._plan.done:
            reason = f"no peer gives the state of block #{self._header.number}"
            raise TargetLost(with_reasons(reason, self._useless))

    def _engage(self, nursery: trio.Nursery) -> None:
        for peer in self._book.candidates():
            if peer not in self._working and peer not in self._useless:
                self._working.add(peer)
                nursery.start_soon(self._work, peer)

    async def _wait(self) -> None:
        """Until a part has come, a peer has failed, or one has arrived."""
        moved = self._moved
        async with trio.open_nursery() as nursery:

            async def peers() -> None:
                await self._book.changed(float("inf"))
                nursery.cancel_scope.cancel()

            nursery.start_soon(peers)
            await moved.wait()
            nursery.cancel_scope.cancel()

    def _move(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    async def _work(self, peer: str) -> None:
        """One peer's part in it: piece after piece, until it fails or nothing is left."""
        try:
            while peer in self._book and not self._plan.done:
                part = self._plan.take(peer, trio.current_time(), partial(self._may_take_over, peer))
                if part is None:
                    with trio.move_on_after(LOOK_S):
                        await self._moved.wait()
                elif not await self._fetch(peer, part):
                    return
                else:
                    self._move()
        finally:
            self._working.discard(peer)
            self._move()

    def _may_take_over(self, peer: str, part: Part) -> bool:
        """Is the peer of this part silent, or has it never delivered while this one has?"""
        mine, theirs = self._book.record(peer), self._book.record(part.peer)
        patience = STRANGER_S if mine.in_credit and not theirs.in_credit else PATIENCE_S
        return peer != part.peer and trio.current_time() - part.taken_at > patience

    async def _fetch(self, peer: str, part: Part) -> bool:
        """One piece; False where this peer is of no use."""
        start, root = part.start, self._header.state_root
        question = Question(
            SUFFIX,
            StateRequest(self._hash, start).encode(),
            lambda answer: read_answer(answer, root, start),
            words="a piece of the state that does not hold",
            may_lack=True,
        )
        try:
            answer = await self._asker.ask_one(peer, question)
        except Unanswered as error:
            self._plan.give_back(part)
            self._useless[peer] = str(error)
            self._progress.waiting_for = with_reasons(f"the state of #{self._header.number}", self._useless)
            return False
        found = answer.value
        if not self._plan.awaits(part, start):
            return True
        await trio.to_thread.run_sync(self._adoption.write, found.pairs, found.nodes)
        if self._plan.awaits(part, start):
            self._plan.advance(part, found.next, found.ahead)
        self._pace.note(trio.current_time(), answer.size, len(found.pairs), found.share)
        self._progress.step(f"the state of #{self._header.number}")
        self._show()
        return found.next is None or not self._stretches(peer, answer.size, answer.seconds)

    def _stretches(self, peer: str, size: int, seconds: float) -> bool:
        """Does a peer give so little, or so slowly, that the state might never be whole? It is replaced."""
        self._small[peer] = self._small[peer] + 1 if size < SMALL else 0
        if self._small[peer] == MAX_SMALL:
            reason = f"{MAX_SMALL} pieces of a state in a row of less than {SMALL >> 10} KiB"
            self._asker.fail(peer, Failure.MALFORMED, reason)
            return True
        if seconds > PATIENCE_S and size < LEAST_RATE * seconds and len(self._book) > 1:
            self._asker.fail(peer, Failure.SILENCE, f"{size} bytes of a state in {seconds:.0f} s")
            return True
        return False

    def _show(self) -> None:
        self._progress.size, self._progress.keys = self._pace.size, self._pace.keys
        self._progress.pace = self._pace
