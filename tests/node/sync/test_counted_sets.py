"""Sets proven by several peers at once are counted by the one task that reads the count."""

from __future__ import annotations

import threading

import trio

from cfnode.node.sync.asker import Asker
from cfnode.node.sync.progress import Progress
from cfnode.node.sync.warp import WarpSync
from tests.node.conftest import MakeRig
from tests.node.sync.test_cross_check import Peers, chain


class Watched(Progress):
    """Records the threads that write it."""

    def __init__(self) -> None:
        self.writers: set[int] = set()
        super().__init__()

    def __setattr__(self, name: str, value: object) -> None:
        if name != "writers":
            self.writers.add(threading.get_ident())
        super().__setattr__(name, value)


async def test_no_thread_counts_for_itself(make_rig: MakeRig) -> None:
    true = await chain(make_rig, "true")
    peers, progress = Peers(true, one=true, two=true), Watched()
    with trio.fail_after(30):
        await WarpSync(Asker(peers.network, peers.peer_set), peers.genesis, None, progress).run()
    assert progress.sets == 3
    assert progress.steps >= progress.sets
    assert progress.writers == {threading.get_ident()}
