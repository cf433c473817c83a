"""Two whole nodes over real TCP: a development chain, and a light node."""

from __future__ import annotations

from pathlib import Path

from cfnode.core.chainspec import to_json
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.node.config import NetworkConfig
from tests.node.live import live_node, reach
from tests.support.node.steps import in_step


async def test_a_light_node_follows_a_development_chain_over_tcp(tmp_path: Path) -> None:
    """Download, follow and finalize a development chain over TCP as a light node."""
    spec = tmp_path / "spec.json"
    spec.write_text(to_json(dev_chain_spec()))
    dev = DevConfig(seal="slots", block_time=150)
    async with live_node(tmp_path / "authority", dev=dev) as authority:
        await reach(authority, 8)
        address = f"{authority.network.listening[0]}/p2p/{authority.local_peer_id}"
        network = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",), boot_nodes=(address,))
        async with live_node(
            tmp_path / "light", chain=str(spec), sync="light-rpc", network=network, brokers=()
        ) as light:
            await in_step(light, authority, 6)
            assert light.health() == {"peers": 1, "isSyncing": False, "shouldHavePeers": True}
            assert light.store.oldest_header > 0, "its state was downloaded, not executed"
            assert (light.config.base_path / "chains" / "dev" / "network" / "authority-sets").exists()
            target = authority.chain.best.number + 4
            await in_step(light, authority, target)
            here, there = (node.chain.header(light.chain.finalized.hash) for node in (light, authority))
            assert here == there
            version = (await light.chain.runtime_at(light.chain.best.hash)).version
            assert version == (await authority.chain.runtime_at(light.chain.best.hash)).version
