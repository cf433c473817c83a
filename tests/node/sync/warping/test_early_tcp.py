"""Over real TCP and JSON-RPC: what a node answers while its state is on its way is what the others answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.chainspec import to_json
from cfnode.core.keys import Keypair
from cfnode.core.ss58 import encode
from cfnode.core.wire.state import StateRequest
from cfnode.devchain.config import DevConfig
from cfnode.devchain.runtime.genesis import dev_chain_spec
from cfnode.devchain.serving import serve
from cfnode.node.config import NetworkConfig, RpcConfig
from cfnode.node.node import Node
from cfnode.node.sync.serving.serve_state import state_range
from cfnode.rpc.table.errors import UNSUPPORTED
from tests.node.live import live_node, reach
from tests.rpc.clients import Http

pytestmark = pytest.mark.world

ALICE = encode(Keypair.from_suri("//Alice").public)
SYSTEM = "0x26aa394eea5630e07c48ae0c9558cef7"
QUESTIONS: list[tuple[str, list[Any]]] = [
    ("state_getStorage", [f"{SYSTEM}02a5c1b19ab7a04f536c519aca4983ac"]),
    ("state_getStorage", ["0x00"]),
    ("state_getStorageHash", ["0x3a636f6465"]),
    ("state_getStorageSize", [SYSTEM]),
    ("state_getKeysPaged", [SYSTEM, 30, None]),
    ("state_getReadProof", [["0x3a686561707061676573"]]),
    ("state_queryStorageAt", [["0x3a686561707061676573", "0x01"]]),
    ("state_call", ["AuraApi_authorities", "0x"]),
    ("state_getMetadata", []),
    ("state_getRuntimeVersion", []),
    ("cf_accounts", []),
    ("cf_flip_supply", []),
    ("cf_available_pools", []),
    ("cf_environment", []),
    ("cf_auction_state", []),
    ("cf_current_epoch", []),
]
"""Methods with the parameters that stand before the block."""


@pytest.fixture(params=["development", "berghain"])
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a chain whose runtime is written in Python, or one whose runtime is the official WebAssembly."""
    path = tmp_path / "spec.json"
    if request.param == "development":
        path.write_text(to_json(dev_chain_spec()))
    else:
        official = request.getfixturevalue("berghain_spec")
        arguments = ["build-spec", "--chain", str(official), "-o", str(path)]
        assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    return path


def hold_state(node: Node) -> trio.Event:
    """Let a running node give no state before the event."""
    released = trio.Event()

    async def later(peer: str, data: bytes) -> bytes | None:
        await released.wait()
        request = StateRequest.decode(data)
        return (await trio.to_thread.run_sync(state_range, node.store, request)).encode()

    node.network.serve_requests("state/2", later)
    return released


@asynccontextmanager
async def client(node: Node, nursery: trio.Nursery) -> AsyncIterator[Http]:
    """Yield a client of the node's JSON-RPC port."""
    (address, *_) = await nursery.start(serve, node, node.config)
    async with Http(int(address.rpartition(":")[2])) as http:
        yield http


async def until_stands(node: Node) -> None:
    """Wait until the node is on the proven block."""
    with trio.fail_after(60), node.chain.subscribe() as events:
        while node.chain.best.number == 0:
            await anext(events)


async def until_synced(node: Node) -> None:
    """Wait until the node is synced."""
    with trio.fail_after(60), node.chain.subscribe() as events:
        while node.is_syncing:
            await anext(events)


async def test_answers_before_the_download_equal_those_of_the_chain(
    spec: Path, tmp_path: Path, nursery: trio.Nursery
) -> None:
    """Answer all methods before the download as the chain itself does, and by the store afterwards."""
    rpc, dev = RpcConfig(port=0), DevConfig(seal="slots", block_time=500)
    author = live_node(tmp_path / "authority", chain=str(spec), dev=dev, rpc=rpc)
    async with author as authority, client(authority, nursery) as there:
        await reach(authority, 5)
        released = hold_state(authority)
        address = f"{authority.network.listening[0]}/p2p/{authority.local_peer_id}"
        network = NetworkConfig(
            listen=("/ip4/127.0.0.1/tcp/0",), reserved_nodes=(address,), reserved_only=True
        )
        base = tmp_path / "light"
        async with (
            live_node(base, chain=str(spec), sync="light-rpc", network=network, rpc=rpc) as light,
            client(light, nursery) as here,
        ):
            await until_stands(light)
            block = f"0x{light.chain.best.hash.hex()}"
            for method, params in QUESTIONS:
                mine, theirs = [await node.call(method, *params, block) for node in (here, there)]
                assert mine == theirs, method
                assert "result" in mine or mine["error"]["code"] == UNSUPPORTED, (method, mine)
                assert (await here.call(method, *params)).get("result") == mine.get("result")
            assert (await here.call("system_accountNextIndex", ALICE))["result"] == 0
            assert (await here.call("chain_getHeader"))["result"]["stateRoot"] == (
                await there.call("chain_getHeader", block)
            )["result"]["stateRoot"]
            assert (await here.call("system_health"))["result"]["isSyncing"] is True
            text = light.metrics.render().decode()
            assert f'cfnode_answers_on_proof{{chain="{light.spec.id}"}}' in text
            answers = light.chain.states.answered_with_proof
            assert answers > len(QUESTIONS)
            released.set()
            await until_synced(light)
            assert await here.call("state_getKeysPaged", SYSTEM, 30, None, block) == await there.call(
                "state_getKeysPaged", SYSTEM, 30, None, block
            )
            assert light.chain.states.answered_with_proof == answers
