"""Chains with a large state, and nodes that download it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from cfnode.core.header import Header
from cfnode.core.trie import EMPTY_ROOT
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.peer_set import PeerSet
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.sync.serving import serve_state
from cfnode.node.sync.serving.serve import SyncServer
from cfnode.node.sync.warping import state_ranges
from cfnode.node.sync.warping.state_download import StateSync
from cfnode.store import Store
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx
from tests.support.node.net import MemoryNetwork, Tamper, join


async def grown(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """Return a state of some hundred entries that goes out in small pieces."""
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", 2_000)
    monkeypatch.setattr(state_ranges, "SMALL_ANSWER", 0)
    rig = await make_rig("server")
    nonce = 0
    for block in range(6):
        puts = []
        for entry in range(30):
            puts.append(tx("alice", nonce, put(f"{entry * 37 % 100} of {block}", "v" * entry * 3)))
            nonce += 1
        await rig.block(*puts, final=True)
    return rig


class Client:
    """A store that knows genesis, and peers."""

    def __init__(self, rig: Rig, path: Path, **peers: Tamper | None) -> None:
        self.rig, self.network, self.peer_set, self.progress = (
            rig,
            MemoryNetwork("client"),
            PeerSet(itertools.count().__next__),
            SyncProgress(),
        )
        header = rig.store.header(rig.chain.finalized.hash)
        assert header is not None
        self.header = header
        self.store = Store.open(path, sync=False)
        self.store.initialise(Header(bytes(32), 0, EMPTY_ROOT, EMPTY_ROOT), {})
        self.adoption = self.store.import_state()
        self.state = StateSync(Asker(self.network, self.peer_set), self.adoption, self.progress)
        for name, tamper in peers.items():
            self.add(name, tamper)

    def add(self, name: str, tamper: Tamper | None = None) -> None:
        """Add a peer that serves the state, or what `tamper` makes of it."""
        peer = MemoryNetwork(name, tamper=tamper)
        SyncServer(peer, self.rig.chain, self.rig.store).declare()
        join(self.network, peer)
        self.peer_set.update(name, self.header.number, self.header.hash)

    async def run(self) -> None:
        """Download the state."""
        keys = await self.state.run(self.header)
        assert keys == self.progress.keys
        self.adoption.finish(self.header, [], [])

    def assert_same(self) -> None:
        """Check that the downloaded state is the peer's."""
        with self.store.state(self.header.hash) as mine, self.rig.store.state(self.header.hash) as theirs:
            key: bytes | None = b""
            count = 0
            while key is not None:
                assert mine.get(key) == theirs.get(key)
                assert mine.next_key(key) == theirs.next_key(key)
                key, count = mine.next_key(key), count + 1
            assert count > 180
