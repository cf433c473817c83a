"""A node that is stopped or killed, at whatever step, and started again."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.core.chainspec import to_json
from cfnode.core.trie import Position, read_range
from cfnode.core.wire.state import StateRequest
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.node.config import NetworkConfig
from cfnode.node.node import Node
from cfnode.node.sync.serving import serve, serve_state
from cfnode.store import Store
from tests.node.live import live_node, reach
from tests.process import LISTENING, NodeProcess, starting_node
from tests.support.node.steps import in_step

pytestmark = pytest.mark.world

ENTRIES = 4_000
PIECE = 30_000


class Authority:
    """A development chain that counts what it is asked for."""

    def __init__(self, node: Node, spec: Path) -> None:
        self.node, self.spec = node, spec
        self.warps: list[bytes] = []
        self.pieces = 0

    @property
    def address(self) -> str:
        """The node's address with its peer id."""
        return f"{self.node.network.listening[0]}/p2p/{self.node.local_peer_id}"

    def light(self, base: Path, sync: str, **options: Any) -> Any:
        """Return a node of this process that syncs from it; `options` are those of its network."""
        network = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",), boot_nodes=(self.address,), **options)
        return live_node(base, chain=str(self.spec), sync=sync, network=network, brokers=())


@asynccontextmanager
async def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Authority]:
    """Yield a chain that counts what peers ask it for."""
    spec = tmp_path / "spec.json"
    spec.write_text(to_json(dev_chain_spec(DevGenesis(state_entries=ENTRIES, epoch_blocks=10))))
    dev = DevConfig(seal="slots", block_time=150)
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", PIECE)
    async with live_node(tmp_path / "authority", chain=str(spec), brokers=(), dev=dev) as node:
        served = Authority(node, spec)
        state_range, warp_proof = serve.state_range, serve.warp_proof

        def count_piece(*args: Any) -> Any:
            served.pieces += 1
            return state_range(*args)

        def count_warp(store: Any, begin: bytes) -> Any:
            served.warps.append(begin)
            return warp_proof(store, begin)

        monkeypatch.setattr(serve, "state_range", count_piece)
        monkeypatch.setattr(serve, "warp_proof", count_warp)
        await reach(node, 8)
        yield served


@pytest.mark.parametrize("node_key", [None, b"n" * 32], ids=["node key in network/", "--node-key"])
async def test_in_light_rpc_mode_a_restart_downloads_the_state_but_not_the_proofs(
    node_key: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Download the state again after a restart in light-rpc mode, and prove only from the cached set on."""
    async with authority(tmp_path, monkeypatch) as served:
        async with served.light(tmp_path / "light", "light-rpc", node_key=node_key) as light:
            await in_step(light, served.node, 6)
            first, pieces = light.store.oldest_header, served.pieces
        assert served.warps[0] == served.node.chain.genesis_hash
        known = served.warps.copy()
        async with served.light(tmp_path / "light", "light-rpc", node_key=node_key) as light:
            assert light.store.finalized.number == 0
            await in_step(light, served.node, first + 1)
            assert light.store.oldest_header > first
        assert served.pieces >= pieces * 1.5, "the whole state came again"
        assert served.node.chain.genesis_hash not in served.warps[len(known) :]


async def test_in_full_mode_each_block_is_executed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Execute each block once in full mode, restart included, and download no state."""
    async with authority(tmp_path, monkeypatch) as served:
        async with served.light(tmp_path / "full", "full") as full:
            await in_step(full, served.node, 6)
            reached = full.chain.finalized.number
            assert full.store.hash_at(1) == served.node.store.hash_at(1)
        await reach(served.node, served.node.chain.best.number + 8)
        async with served.light(tmp_path / "full", "full") as full:
            assert full.chain.finalized.number >= reached
            await in_step(full, served.node, reached + 6)
            assert full.store.oldest_header == 0
        assert served.pieces == 0, "no state was downloaded"


def pieces_of(store: Store) -> int:
    """Return into how many pieces the server cuts its state."""
    final = store.finalized
    header, pieces = store.header(final.hash), 0
    assert header is not None
    start: Position | None = ()
    while start is not None:
        items = serve_state.state_range(store, StateRequest(final.hash, start)).proof
        start, pieces = read_range(items, header.state_root, start).next, pieces + 1
    return pieces


class Life:
    """One node's lives on one base path, each in a process of its own."""

    def __init__(self, served: Authority, folder: Path) -> None:
        self.served, self.folder = served, folder
        self.lives = 0

    async def until(self, met: Callable[[NodeProcess], bool]) -> None:
        """Start, wait for something, kill."""
        self.lives += 1
        ended = False

        def live() -> None:
            flags = (
                f"--chain={self.served.spec}",
                "--sync=warp",
                "--no-prometheus",
                "--listen-addr=/ip4/127.0.0.1/tcp/0",
                f"--bootnodes={self.served.address}",
            )
            with starting_node(self.folder, *flags, log_name=f"{self.lives}.log") as node:
                while not met(node) and not ended:
                    assert node.process.poll() is None, node.log
                    trio.from_thread.run(trio.sleep, 0.005)
                node.stop(signal.SIGKILL)

        try:
            with trio.fail_after(60):
                await trio.to_thread.run_sync(live)
        finally:
            ended = True


def listens(node: NodeProcess) -> bool:
    """Return whether it can be asked already."""
    if not node.url and LISTENING.search(node.log):
        node.wait_until_listening()
    return bool(node.url)


def final(node: NodeProcess) -> int:
    """Return the number of the final block."""
    return int(node.call("chain_getHeader", node.call("chain_getFinalizedHead"))["number"], 16)


def follows(node: NodeProcess) -> bool:
    """Return whether the node is synced."""
    return listens(node) and not node.call("system_health")["isSyncing"]


async def test_a_node_killed_in_each_phase_of_its_sync_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complete the sync of a node that is killed in each phase, and download no adopted state again."""
    async with authority(tmp_path, monkeypatch) as served:
        whole = await trio.to_thread.run_sync(pieces_of, served.node.store)
        assert whole > 15
        folder = tmp_path / "killed"
        folder.mkdir()
        life = Life(served, folder)
        warps = len(served.warps)
        await life.until(lambda _: len(served.warps) > warps)
        for share in (0.1, 0.5, 0.9, 1.0):
            served.pieces = 0
            await life.until(lambda _, share=share: served.pieces >= share * whole)  # type: ignore[misc]
        served.pieces = 0
        await life.until(follows)
        pieces, known = served.pieces, served.node.chain.finalized.number
        assert pieces >= 0.9 * whole, "a state that was not whole was begun anew"
        await life.until(lambda node: listens(node) and final(node) > known)
        assert served.pieces == pieces, "what had been adopted was kept"
        log = (folder / f"{life.lives}.log").read_text()
        assert "Proven" not in log
        assert "Traceback" not in "".join(path.read_text() for path in folder.glob("*.log"))
