"""A state that takes longer to download than servers keep it, over the real stack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cfnode.core.chainspec import to_json
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.node.config import NetworkConfig, PruningConfig
from cfnode.node.sync.serving import serve_state
from cfnode.node.sync.warping import state_ranges
from tests.node.live import live_node, reach
from tests.support.node.steps import in_step

pytestmark = pytest.mark.world

ENTRIES = 1_500


async def test_a_download_longer_than_the_servers_window_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pieces of a few entries, and a server that keeps each state for three blocks of 0.2 s."""
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", 1_500)
    monkeypatch.setattr(state_ranges, "SMALL_ANSWER", 0)
    caplog.set_level("INFO", "cfnode.sync")
    spec = tmp_path / "spec.json"
    spec.write_text(to_json(dev_chain_spec(DevGenesis(state_entries=ENTRIES))))
    dev = DevConfig(seal="slots", block_time=200)
    window = PruningConfig(blocks=128, state=3)
    chain = {"chain": str(spec), "brokers": ()}
    async with live_node(tmp_path / "authority", dev=dev, pruning=window, **chain) as authority:
        await reach(authority, 6)
        address = f"{authority.network.listening[0]}/p2p/{authority.local_peer_id}"
        network = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",), boot_nodes=(address,))
        async with live_node(tmp_path / "light", sync="light-rpc", network=network, **chain) as light:
            await in_step(light, authority, 8)
            with light.chain.state(light.chain.best.hash) as mine:
                assert mine.get(b":code") is not None
    lost = [line for line in caplog.messages if "looking for a newer one" in line]
    assert lost
    changed = re.search(r"(\d+) nodes and values fetched, \d+ rows deleted", caplog.text)
    assert changed is not None
    assert 0 < int(changed[1]) < ENTRIES / 3, "what had not changed stayed"
