"""Download of the whole state of a proven block: ranges first, then healing.

The ranges are downloaded first (`state_ranges.py`). Then the trie is walked from the state root over
everything downloaded.

Servers keep a state for a few minutes only. When no peer has the state of the target any more, a newer block
becomes the target, and the downloaded part is kept: the remaining parts are requested from the newer state,
and the walk at the end finds what has changed in the older parts, which is fetched node by node
(`healing.py`). So a download that takes longer than the servers' window still completes.

Only proven entries are written, so it does not matter which peer sends what, or in which order.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.header import Header
from cfnode.core.trie import Healing, WalkFindings
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.progress import DownloadRate, Phase, SyncProgress
from cfnode.node.sync.warping.healing import FetchedEntry, Healer, TargetLost
from cfnode.node.sync.warping.state_plan import StatePlan
from cfnode.node.sync.warping.state_ranges import RangeSync
from cfnode.store import StateImport

__all__ = ["StateSync", "TargetLost"]

log = logging.getLogger("cfnode.sync")

MAX_NODES = 20_000
MAX_MISSING = 512
"""Limits of the last walk in one snapshot of the database."""

WALKING = "every key to be compared with the state root"


class StateSync:
    """The download of a state into the store; the target block may change on the way."""

    def __init__(self, asker: Asker, state_import: StateImport, progress: SyncProgress) -> None:
        self._asker = asker
        self._state_import = state_import
        self._progress = progress
        self._plan: StatePlan | None = None
        self._rate = DownloadRate()

    async def run(self, header: Header) -> int:
        """Download until the state of this block is complete; return the number of its keys.

        Raise TargetLost; the downloaded part is kept for another block.
        """
        self._progress.target = header.number
        if self._plan is None:
            await trio.to_thread.run_sync(self._state_import.clear)
            self._plan = StatePlan()
        else:
            self._plan.retarget()
        await RangeSync(self._asker, self._state_import, header, self._plan, self._progress, self._rate).run()
        return await self._complete(header)

    async def _complete(self, header: Header) -> int:
        """Walk the downloaded trie, and fetch the missing nodes and values; return the number of keys.

        Raise TargetLost.
        """
        self._progress.enter(Phase.IMPORTING, WALKING)
        healing = Healing(header.state_root)
        healer = Healer(self._asker, header, self._progress)
        fetched = 0
        while not healing.done:
            walked = await trio.to_thread.run_sync(self._state_import.walk, healing, MAX_NODES, MAX_MISSING)
            received = await healer.fetch(walked.missing)
            await self._write(walked, received)
            for missing_node, _ in received:
                healing.complete(missing_node)
            fetched += len(received)
            self._progress.keys = healing.keys
            self._progress.step(WALKING)
        left_over = await trio.to_thread.run_sync(
            self._state_import.delete_leftovers, healing, header.state_root
        )
        if fetched or left_over:
            log.info("Healed the state: %d nodes and values fetched, %d rows deleted", fetched, left_over)
        return healing.keys

    async def _write(self, findings: WalkFindings, received: list[FetchedEntry]) -> None:
        values = [
            (missing_node.child, missing_node.key, entry)
            for missing_node, entry in received
            if missing_node.is_value
        ]
        nodes = [
            (missing_node.child, missing_node.path, entry)
            for missing_node, entry in received
            if not missing_node.is_value
        ]
        if findings.values or values or nodes:
            await trio.to_thread.run_sync(self._state_import.write, [*findings.values, *values], nodes)
