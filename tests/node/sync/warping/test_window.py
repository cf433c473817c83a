"""A state that takes longer to download than servers keep it, over the real stack."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import trio

from cfnode.core.chainspec import to_json
from cfnode.core.wire.state import StateRequest, StateResponse
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.node.config import NetworkConfig, PruningConfig
from cfnode.node.sync.serving import serve, serve_state
from cfnode.node.sync.warping import state_ranges
from cfnode.store import Store
from tests.node.live import live_node, made
from tests.support.waiting import until

pytestmark = pytest.mark.world

ENTRIES = 1_500
PIECES = 10
"""Pieces of a state that the server gives between two blocks: a download takes many blocks on any machine."""


async def test_a_download_longer_than_the_servers_window_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Give pieces of a few entries, by a server that keeps each state for three blocks."""
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", 1_500)
    monkeypatch.setattr(state_ranges, "SMALL_ANSWER", 0)
    caplog.set_level("INFO", "cfnode.sync")
    spec = tmp_path / "spec.json"
    spec.write_text(to_json(dev_chain_spec(DevGenesis(state_entries=ENTRIES))))
    window = PruningConfig(blocks=128, state=3)
    chain = {"chain": str(spec), "brokers": ()}
    due, orders = trio.open_memory_channel[None](math.inf)
    count = 0

    def counted(store: Store, request: StateRequest) -> StateResponse:
        nonlocal count
        count += 1
        if count % PIECES == 0:
            trio.from_thread.run_sync(due.send_nowait, None)
        return state_range(store, request)

    state_range = serve_state.state_range
    monkeypatch.setattr(serve, "state_range", counted)
    dev = DevConfig(seal="manual")
    async with (
        live_node(tmp_path / "authority", dev=dev, pruning=window, **chain) as authority,
        trio.open_nursery() as nursery,
    ):

        async def grow() -> None:
            async for _ in orders:
                await made(authority).control.new_block()

        for _ in range(6):
            await made(authority).control.new_block()
        nursery.start_soon(grow)
        address = f"{authority.network.listening[0]}/p2p/{authority.local_peer_id}"
        network = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",), boot_nodes=(address,))
        async with live_node(tmp_path / "light", sync="light-rpc", network=network, **chain) as light:
            await until(lambda: light.chain.finalized.number >= 8 and not light.is_syncing)
            assert authority.chain.hash_at(light.chain.finalized.number) == light.chain.finalized.hash
            with light.chain.state(light.chain.best.hash) as mine:
                assert mine.get(b":code") is not None
        nursery.cancel_scope.cancel()
    lost = [line for line in caplog.messages if "looking for a newer one" in line]
    assert lost
    changed = re.search(r"(\d+) nodes and values fetched, \d+ rows deleted", caplog.text)
    assert changed is not None
    assert 0 < int(changed[1]) < ENTRIES / 3, "what had not changed stayed"
