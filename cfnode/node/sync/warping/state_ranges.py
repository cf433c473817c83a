"""Download of the ranges of one block's state from all peers at once.

Each range comes with its proof, which is checked against the block's state root in a thread; then the range
is written in one sorted batch. A peer is disconnected for an invalid range, and for a few valid but tiny
ones; another peer takes over its part. Another peer also takes over from one that is silent for a while; the
first answer of the two counts.

While a range is checked and written, its peer can already work on the next one. So where few peers help, a
quick one is asked *ahead*: for a range of a second part, cut from the first. Only peers whose last answer was
valid and quick are, so the bytes that wait here are those of a few answers, and a slow line carries one
answer at a time.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import trio

from cfnode.core.header import Header
from cfnode.core.trie import Position, StateRange, read_range
from cfnode.core.wire import WireError
from cfnode.core.wire.state import SUFFIX, StateRequest, StateResponse
from cfnode.flow.wakeup import Wakeup
from cfnode.node.asking.asker import Asker, PeerFailed
from cfnode.node.asking.peer_set import SLOW_ANSWER_S
from cfnode.node.asking.progress import DownloadRate, Phase, SyncProgress, with_reasons
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.sync.warping.healing import TargetLost
from cfnode.node.sync.warping.state_plan import PartTurn, StatePart, StatePlan
from cfnode.store import StateImport

__all__ = ["RangeSync", "read_answer"]

SMALL_ANSWER = 16 << 10
"""Bytes below which an answer is small, unless the state ends with it: servers stop after 2 MiB."""

MAX_SMALL = 4

MIN_RATE = 16 << 10
"""Bytes per second below which a peer is replaced, if there is another one."""

UNKNOWN_PEER_S = 0.5
"""Seconds after which a peer that has delivered takes over from a peer that never has."""

MAX_AHEAD = 3
"""Requests at once, over all peers, below which a quick peer gets a second one."""

QUICK_S = SLOW_ANSWER_S / 2
"""Seconds within which a peer must have answered to be asked ahead: two at once take twice as long."""

SILENT_PEER_POLL_S = 0.5
"""Seconds between two checks for a part whose peer is silent."""


def read_answer(answer: bytes, root: bytes, start: Position) -> StateRange:
    """Return the range that a state answer proves. Raise WireError or TrieError.

    Slow: call it in a thread.
    """
    response = StateResponse.decode(answer)
    if not response.proof:
        raise WireError("state answer: it has no proof")
    state_range = read_range(response.proof, root, start)
    if state_range.next == start:
        raise WireError("state answer: it contains nothing after the requested key")
    return state_range


class RangeSync:
    """The download of a plan's remaining parts from one block's state into the store."""

    def __init__(
        self, asker: Asker, state_import: StateImport, header: Header, plan: StatePlan,
        progress: SyncProgress, rate: DownloadRate,
    ) -> None:  # fmt: skip
        self._asker = asker
        self._peer_set = asker.peer_set
        self._state_import = state_import
        self._header = header
        self._hash = header.hash
        self._plan = plan
        self._progress = progress
        self._rate = rate
        self._working: Counter[str] = Counter()
        self._quick: set[str] = set()
        self._small: Counter[str] = Counter()
        self._useless: dict[str, str] = {}
        self._change = Wakeup()

    async def run(self) -> None:
        """Download until the plan is done. Raise TargetLost if no peer provides this state."""
        self._progress.enter(Phase.STATE, f"the state of #{self._header.number}")
        self._report()
        async with trio.open_nursery() as nursery:
            while not self._plan.done:
                self._start_workers(nursery)
                if not self._working.total() and len(self._peer_set):
                    break
                await self._wait()
            nursery.cancel_scope.cancel()
        if not self._plan.done:
            reason = f"no peer provides the state of block #{self._header.number}"
            raise TargetLost(with_reasons(reason, self._useless))

    def _start_workers(self, nursery: trio.Nursery) -> None:
        for peer in self._peer_set.candidates():
            if peer in self._useless:
                continue
            if not self._working[peer] or self._may_ask_ahead(peer):
                self._working[peer] += 1
                nursery.start_soon(self._work, peer)

    def _may_ask_ahead(self, peer: str) -> bool:
        """Return whether a peer that works on one part may get a second one at the same time."""
        return peer in self._quick and self._working[peer] == 1 and self._working.total() < MAX_AHEAD

    async def _wait(self) -> None:
        """Wait until a range has been written, a peer has failed, or the peer set has changed."""
        change = self._change.next
        async with trio.open_nursery() as nursery:

            async def peers() -> None:
                await self._peer_set.wait_changed(float("inf"))
                nursery.cancel_scope.cancel()

            nursery.start_soon(peers)
            await change.wait()
            nursery.cancel_scope.cancel()

    async def _work(self, peer: str) -> None:
        """Download range after range from one peer, until it fails or nothing is left."""
        try:
            while peer in self._peer_set and peer not in self._useless and not self._plan.done:
                turn = PartTurn(peer, trio.current_time())
                part = self._plan.assign(turn, partial(self._may_take_over, peer))
                if part is None:
                    with trio.move_on_after(SILENT_PEER_POLL_S):
                        await self._change.wait()
                elif not await self._fetch(peer, part):
                    return
                else:
                    self._change.notify()
                    if self._working[peer] > 1 and (peer not in self._quick or self._are_many_working()):
                        return
        finally:
            self._working[peer] -= 1
            self._change.notify()

    def _are_many_working(self) -> bool:
        return self._working.total() > MAX_AHEAD

    def _may_take_over(self, peer: str, turn: PartTurn) -> bool:
        """Return whether `peer` may take over the part of a silent peer.

        A peer that has delivered need not wait long for one that never has.
        """
        record, other_record = self._peer_set.record(peer), self._peer_set.record(turn.peer)
        patience = UNKNOWN_PEER_S if record.in_credit and not other_record.in_credit else SLOW_ANSWER_S
        return peer != turn.peer and trio.current_time() - turn.since > patience

    async def _fetch(self, peer: str, part: StatePart) -> bool:
        """Download one range; return False if this peer is of no use."""
        start, root = part.start, self._header.state_root
        question = Question(
            SUFFIX,
            StateRequest(self._hash, start).encode(),
            lambda answer: read_answer(answer, root, start),
            error_prefix="an invalid range of the state",
            may_lack=True,
        )
        try:
            answer = await self._asker.ask_one(peer, question)
        except PeerFailed as error:
            self._plan.release(part)
            self._useless[peer] = str(error)
            self._progress.waiting_for = with_reasons(f"the state of #{self._header.number}", self._useless)
            return False
        is_quick = answer.seconds < QUICK_S and answer.size >= SMALL_ANSWER
        (self._quick.add if is_quick else self._quick.discard)(peer)
        state_range = answer.value
        if not self._plan.is_pending(part, start):
            return True
        await trio.to_thread.run_sync(self._state_import.write, state_range.pairs, state_range.nodes)
        if self._plan.is_pending(part, start):
            self._plan.advance(part, state_range.next, state_range.ahead)
        self._rate.add(trio.current_time(), answer.size, len(state_range.pairs), state_range.share)
        self._progress.step(f"the state of #{self._header.number}")
        self._report()
        return state_range.next is None or not self._is_too_slow(peer, answer.size, answer.seconds)

    def _is_too_slow(self, peer: str, size: int, seconds: float) -> bool:
        """Charge a peer whose answers are so small or slow that the download might never end.

        Return whether the peer was charged.
        """
        self._small[peer] = self._small[peer] + 1 if size < SMALL_ANSWER else 0
        if self._small[peer] == MAX_SMALL:
            reason = f"{MAX_SMALL} ranges of a state in a row of less than {SMALL_ANSWER >> 10} KiB"
            self._asker.fail(peer, PeerFailure.MALFORMED, reason)
            return True
        if seconds > SLOW_ANSWER_S and size < MIN_RATE * seconds and len(self._peer_set) > 1:
            self._asker.fail(peer, PeerFailure.TIMEOUT, f"{size} bytes of a state in {seconds:.0f} s")
            return True
        return False

    def _report(self) -> None:
        self._progress.size, self._progress.keys = self._rate.size, self._rate.keys
        self._progress.rate = self._rate
