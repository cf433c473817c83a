"""Sets proven by several peers at once are counted by the one task that reads the count."""

from __future__ import annotations

import threading

import trio

from cfnode.node.asking.progress import SyncProgress
from cfnode.node.sync.warping.warp import WarpSync
from tests.node.conftest import MakeRig
from tests.support.node.warp import Client, grown
from tests.support.waiting import LIMIT_S


class Watched(SyncProgress):
    """Records the threads that write it."""

    def __init__(self) -> None:
        self.writers: set[int] = set()
        super().__init__()

    def __setattr__(self, name: str, value: object) -> None:
        """Record the thread that writes."""
        if name != "writers":
            self.writers.add(threading.get_ident())
        super().__setattr__(name, value)


async def test_no_thread_counts_for_itself(make_rig: MakeRig) -> None:
    """Count proven sets in one thread: two that count at once would lose some."""
    client, progress = Client(await grown(make_rig), one=None, two=None), Watched()
    with trio.fail_after(LIMIT_S):
        await WarpSync(client.asker, client.genesis, None, progress).run()
    assert progress.sets == 3
    assert progress.steps >= progress.sets
    assert progress.writers == {threading.get_ident()}
