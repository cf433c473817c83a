"""A development node in this process, with its JSON-RPC port open, for one test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import trio

from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.devchain.chain import run
from cfnode.devchain.config import DevConfig
from cfnode.devchain.serving import serve
from cfnode.node.config import Config, NetworkConfig, PruningConfig, RpcConfig
from cfnode.node.node import Node
from cfnode.rpc.table.convert import to_hex
from cfnode.store.keystore import Keystore
from tests.rpc.clients import Http, WebSocket
from tests.support.waiting import LIMIT_S

ALICE = Keypair.from_suri("//Alice", "sr25519")


@dataclass
class Served:
    """A node and the port of its server."""

    node: Node
    port: int
    http: Http

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call over HTTP; fails the test on an error."""
        answer = await self.http.call(method, *params)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, *params: Any) -> Any:
        """Return the error of a call over HTTP."""
        answer = await self.http.call(method, *params)
        assert "error" in answer, answer
        return answer["error"]

    def websocket(self) -> WebSocket:
        """Return a new WebSocket connection."""
        return WebSocket(self.port)

    async def signed_remark(self, nonce: int | None = None, key: Keypair = ALICE, **changes: Any) -> bytes:
        """Return a signed System.remark, immortal."""
        chain = self.node.chain
        runtime = await chain.runtime_at(chain.best.hash)
        if nonce is None:
            nonce = await self.node.pool.ready_nonce(key.public)
        call = runtime.metadata.call_codec.encode(("System", ("remark", {"remark": b"hello"})))
        facts: dict[str, Any] = {
            "nonce": nonce,
            "era": IMMORTAL,
            "era_hash": chain.genesis_hash,
            "genesis_hash": chain.genesis_hash,
            "spec_version": runtime.version.spec_version,
            "transaction_version": runtime.version.transaction_version,
        }
        return sign_extrinsic(runtime.metadata, call, key, **(facts | changes))


MakeServed = Callable[..., Awaitable[Served]]


def config_for(base_path: Path, rpc: RpcConfig, pruning: int) -> Config:
    """Return a development chain without metrics."""
    return Config(
        base_path=base_path,
        chain="dev",
        pruning=PruningConfig(pruning, pruning),
        prometheus=None,
        rpc=replace(rpc, port=0),
        network=NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",)),
    )


@pytest.fixture
def make_served(tmp_path: Path, nursery: trio.Nursery) -> MakeServed:
    """Return a function that opens nodes, which are closed at the end of the test."""

    async def make(
        *,
        broker: bool = True,
        provider: bool = False,
        rpc: RpcConfig | None = None,
        pruning: int = 128,
        base_path: Path = tmp_path,
        **dev: Any,
    ) -> Served:
        config = config_for(base_path, rpc or RpcConfig(), pruning)
        if broker:
            Keystore(base_path / "chains" / "dev" / "keystore").insert("brok", "//Broker")
        if provider:
            Keystore(base_path / "chains" / "dev" / "keystore").insert("lqpr", "//Provider")
        node = await nursery.start(run, config, DevConfig(**({"seal": "manual"} | dev)))
        (address, *_) = await nursery.start(serve, node, config)
        port = int(address.rpartition(":")[2])
        return Served(node, port, await Http(port).__aenter__())

    return make


@pytest.fixture
async def served_node(make_served: MakeServed) -> Served:
    """Return a node that makes a block only when asked to; the first is made."""
    served = await make_served()
    await served.call("dev_newBlock")
    return served


async def first_block(served: Served) -> Served:
    """Wait for the first block of a node, and return the node."""
    with served.node.chain.subscribe() as events:
        while served.node.chain.best.number == 0:
            await anext(aiter(events))
    return served


async def all_final(served: Served) -> str:
    """Wait until the best block is finalized; return its hash, of a node that makes no blocks by itself."""
    chain = served.node.chain
    with trio.fail_after(LIMIT_S), chain.subscribe() as events:
        while chain.finalized.hash != chain.best.hash:
            await anext(aiter(events))
    return to_hex(chain.best.hash)


@pytest.fixture
async def instant(make_served: MakeServed) -> Served:
    """Return a node that seals a block as soon as a transaction is ready; the first is there."""
    return await first_block(await make_served(seal="instant"))
