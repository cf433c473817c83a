"""How does the whole state of a proven block come here?

First in ranges (`state_ranges.py`), then the trie is walked from the state root over all that is there.

Servers keep a state for a few minutes only. When nobody has the block's any more, a newer one becomes the
target, and what has come stays: the parts still to come are asked of the newer state, and the walk at the end
finds what has changed in the others since, which is fetched node by node (`holes.py`). So a download that
takes longer than the servers' window ends all the same.

What is not proven cannot get in, so it does not matter who sends what, nor in which order.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.header import Header
from cfnode.core.trie import Found, Healing
from cfnode.network.model import Network
from cfnode.node.sync.healing import Filled, Healer, TargetLost
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.progress import Pace, Phase, Progress
from cfnode.node.sync.state_plan import StatePlan
from cfnode.node.sync.state_ranges import RangeSync
from cfnode.store import StateImport

__all__ = ["StateSync", "TargetLost"]

log = logging.getLogger("cfnode.sync")

NODES_AT_ONCE = 20_000
HOLES_AT_ONCE = 512
"""How far the last walk goes in one snapshot."""

WALKING = "every key to be compared with the state root"


class StateSync:
    """The download of a state into a store that is ready for it; the block may change under way."""

    def __init__(self, network: Network, book: PeerSet, adoption: StateImport, progress: Progress) -> None:
        self._network = network
        self._book = book
        self._adoption = adoption
        self._progress = progress
        self._plan: StatePlan | None = None
        self._pace = Pace()

    async def run(self, header: Header) -> int:
        """Until the state of this block is whole; the number of its keys.

        Raises TargetLost: what has come stays, for another block.
        """
        self._progress.target = header.number
        if self._plan is None:
            await trio.to_thread.run_sync(self._adoption.clear)
            self._plan = StatePlan()
        else:
            self._plan.renew()
        await RangeSync(
            self._network, self._book, self._adoption, header, self._plan, self._progress, self._pace
        ).run()
        return await self._complete(header)

    async def _complete(self, header: Header) -> int:
        """Walk the trie over all that is here, and fetch what is missing."""
        self._progress.enter(Phase.IMPORTING, WALKING)
        mend, filler = Healing(header.state_root), Healer(self._network, self._book, header, self._progress)
        fetched = 0
        while not mend.done:
            found = await trio.to_thread.run_sync(self._adoption.walk, mend, NODES_AT_ONCE, HOLES_AT_ONCE)
            filled = await filler.fill(found.missing)
            await self._write(found, filled)
            for hole, _ in filled:
                mend.complete(hole)
            fetched += len(filled)
            self._progress.keys = mend.keys
            self._progress.step(WALKING)
        left_over = await trio.to_thread.run_sync(self._adoption.delete_leftovers, mend, header.state_root)
        if fetched or left_over:
            log.info("Since then %d nodes and values had changed and %d rows were gone", fetched, left_over)
        return mend.keys

    async def _write(self, found: Found, filled: list[Filled]) -> None:
        values = [(hole.child, hole.key, entry) for hole, entry in filled if hole.is_value]
        nodes = [(hole.child, hole.path, entry) for hole, entry in filled if not hole.is_value]
        if found.values or values or nodes:
            await trio.to_thread.run_sync(self._adoption.write, [*found.values, *values], nodes)
