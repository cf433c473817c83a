"""Answers about accounts of a node that has only the state of genesis."""

from __future__ import annotations

from pathlib import Path

import trio

from cfnode.core import ss58
from cfnode.devchain.serving import serve
from cfnode.node.asking.progress import Phase
from cfnode.node.config import RpcConfig
from tests.node.live import broker_account, live_node
from tests.rpc.clients import Http

PRESENT = (
    ("cf_account_info", ss58.encode(broker_account())),
    ("cf_free_balances", ss58.encode(broker_account())),
    ("cf_get_open_deposit_channels",),
    ("cf_pool_orders", {"chain": "Ethereum", "asset": "ETH"}, {"chain": "Ethereum", "asset": "USDC"}),
    ("cf_environment",),
    ("broker_get_open_deposit_channels", "Mine"),
)


async def test_while_it_is_syncing_at_genesis_it_says_so_instead_of_unregistered(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """By the genesis state a funded broker is unregistered and has no FLIP."""
    async with live_node(tmp_path, rpc=RpcConfig(port=0)) as node:
        assert node.is_syncing
        (address, *_) = await nursery.start(serve, node, node.config)
        async with Http(int(address.rpartition(":")[2])) as http:
            for call in PRESENT:
                error = (await http.call(*call))["error"]
                assert error["code"] == -32000, call
                assert "The node is syncing (Waiting for peers: " in error["message"]
                assert "still the genesis block" in error["message"]
            assert "\ncfnode_broker_flip_balance{" not in (await node.metrics.scrape()).decode()
            genesis = "0x" + node.chain.genesis_hash.hex()
            named = await http.call(*PRESENT[0], genesis)
            assert named["result"]["role"] == "unregistered"
            assert (await http.call("state_getRuntimeVersion"))["result"]["specName"] == "chainflip-node"
            node.sync.progress.enter(Phase.DONE, "")  # a chain without blocks: genesis is its present
            assert (await http.call(*PRESENT[0])) == named
            assert '\ncfnode_broker_flip_balance{chain="dev"} 0.0' in (await node.metrics.scrape()).decode()
        nursery.cancel_scope.cancel()
