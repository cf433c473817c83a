"""How does the whole state of a proven block come here?

Piece by piece from all peers at once, each piece with its proof: it is checked against the block's state root
in a thread, then written in one sorted batch. A piece that does not hold costs its peer its place; its part
of the work goes to another. In the end the trie is walked from the root over all that is there.

Servers keep a state for a few minutes only. When nobody has the block's any more, a newer one becomes the
target, and what has come stays: the parts still to come are asked of the newer state, and the walk at the end
finds what has changed in the others since, which is fetched node by node (`holes.py`). So a download that
takes longer than the servers' window ends all the same.

A piece of a state that is not proven cannot get in, so it does not matter who sends what, nor in which order.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.header import Header
from cfnode.core.trie import Mend, Position, StateRange, TrieError, read_range
from cfnode.core.wire import WireError
from cfnode.core.wire.state import SUFFIX, StateRequest, StateResponse
from cfnode.network.model import Network, RequestFailed
from cfnode.node.sync import repute
from cfnode.node.sync.book import PeerBook
from cfnode.node.sync.holes import HoleFiller, TargetLost
from cfnode.node.sync.progress import Pace, Phase, Progress, told
from cfnode.node.sync.state_plan import Part, StatePlan
from cfnode.store import Adoption

__all__ = ["StateSync", "TargetLost", "read_answer"]

log = logging.getLogger("cfnode.sync")

NODES_AT_ONCE = 20_000
HOLES_AT_ONCE = 512
"""How far the last walk goes in one snapshot."""


def read_answer(answer: bytes, root: bytes, start: Position) -> StateRange:
    """What a state answer proves. Raises WireError or TrieError. Takes long: call it in a thread."""
    response = StateResponse.decode(answer)
    if not response.proof:
        raise WireError("state answer: it has no proof")
    found = read_range(response.proof, root, start)
    if found.next == start:
        raise WireError("state answer: it shows nothing after the key that was asked for")
    return found


class StateSync:
    """The download of a state into a store that is ready for it; the block may change under way."""

    def __init__(self, network: Network, book: PeerBook, adoption: Adoption, progress: Progress) -> None:
        self._network = network
        self._book = book
        self._adoption = adoption
        self._progress = progress
        self._plan: StatePlan | None = None
        self._pace = Pace()
        self._size = self._keys = 0

    async def run(self, header: Header) -> int:
        """Until the state of this block is whole; the number of its keys. Raises TargetLost: what has come
        stays, for another block."""
        self._progress.target = header.number
        if self._plan is None:
            await trio.to_thread.run_sync(self._adoption.clear)
            self._plan = StatePlan()
        else:
            self._plan.renew()
        await self._download(header, self._plan)
        return await self._complete(header)

    # --- the state in ranges

    async def _download(self, header: Header, plan: StatePlan) -> None:
        """All parts that are still to come, from this block's state."""
        self._progress.enter(Phase.STATE, f"the state of #{header.number}")
        self._show()
        self._header, self._hash = header, header.hash
        self._working: set[str] = set()
        self._useless: dict[str, str] = {}
        self._moved = trio.Event()
        async with trio.open_nursery() as nursery:
            while not plan.done:
                self._engage(nursery, plan)
                if not self._working and len(self._book):
                    break
                await self._wait()
            nursery.cancel_scope.cancel()
        if not plan.done:
            raise TargetLost(told(f"no peer gives the state of block #{header.number}", self._useless))

    def _engage(self, nursery: trio.Nursery, plan: StatePlan) -> None:
        for peer in self._book.by_height():
            if peer not in self._working and peer not in self._useless:
                self._working.add(peer)
                nursery.start_soon(self._work, peer, plan)

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

    async def _work(self, peer: str, plan: StatePlan) -> None:
        """One peer's part in it: piece after piece, until it fails or nothing is left."""
        try:
            while peer in self._book and not plan.done:
                part = plan.take()
                if part is None:
                    await self._moved.wait()
                elif not await self._fetch(peer, plan, part):
                    return
                self._move()
        finally:
            self._working.discard(peer)
            self._move()

    async def _fetch(self, peer: str, plan: StatePlan, part: Part) -> bool:
        """One piece; False where this peer is of no use."""
        start = part.start
        try:
            answer = await self._network.request(peer, SUFFIX, StateRequest(self._hash, start).encode())
            found = await trio.to_thread.run_sync(read_answer, answer, self._header.state_root, start)
        except RequestFailed as error:
            plan.give_back(part)
            self._useless[peer] = str(error)
            repute.replace_slow(self._network, self._book, peer, error)
            self._progress.waiting_for = told(f"the state of #{self._header.number}", self._useless)
            return False
        except (WireError, TrieError) as error:
            plan.give_back(part)
            reason = f"a piece of the state that does not hold: {error}"
            repute.drop(self._network, self._book, peer, repute.BAD_PROOF, reason)
            return False
        await trio.to_thread.run_sync(self._adoption.write, found.pairs, found.nodes)
        plan.advance(part, found.next, found.ahead)
        self._size += len(answer)
        self._keys += len(found.pairs)
        self._pace.note(trio.current_time(), self._size, found.share)
        self._progress.step(f"the state of #{self._header.number}")
        self._show()
        return True

    def _show(self) -> None:
        self._progress.size, self._progress.keys, self._progress.pace = self._size, self._keys, self._pace

    # --- what the ranges have left open

    async def _complete(self, header: Header) -> int:
        """Walk the trie over all that is here, and fetch what is missing."""
        self._progress.enter(Phase.IMPORTING, "every key to be compared with the state root")
        mend, filler = Mend(header.state_root), HoleFiller(self._network, self._book, header, self._progress)
        fetched = 0
        while not mend.done:
            found = await trio.to_thread.run_sync(self._adoption.look, mend, NODES_AT_ONCE, HOLES_AT_ONCE)
            filled = await filler.fill(found.holes)
            fetched += len(filled)
            if filled or found.values:
                values = [(hole.child, hole.key, entry) for hole, entry in filled if hole.is_value]
                nodes = [(hole.child, hole.path, entry) for hole, entry in filled if not hole.is_value]
                await trio.to_thread.run_sync(self._adoption.write, [*found.values, *values], nodes)
            for hole, _ in filled:
                mend.filled(hole)
            self._progress.keys = mend.keys
            self._progress.step("every key to be compared with the state root")
        left_over = await trio.to_thread.run_sync(self._adoption.settle, mend, header.state_root)
        if fetched or left_over:
            log.info(
                "Of the older state, %d nodes and values had changed, %d rows were gone", fetched, left_over
            )
        return mend.keys
