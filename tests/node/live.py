"""A whole node in one test: the development chain, its real runtime in a real executor process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from cfnode.core.keys import Keypair
from cfnode.devchain.chain import DevelopmentChain, development_chain, run
from cfnode.devchain.config import DevConfig
from cfnode.node.config import Config, NetworkConfig
from cfnode.node.node import Node
from cfnode.node.signing.broker import BrokerChannelRequest
from cfnode.store.keystore import Keystore
from tests.support.waiting import LIMIT_S

BROKER = "//Some Broker"
FLIP = 10**18
LOOPBACK = NetworkConfig(listen=("/ip4/127.0.0.1/tcp/0",))


def broker_account() -> bytes:
    """Return the account of the broker."""
    return Keypair.from_suri(BROKER).account


@asynccontextmanager
async def live_node(
    base_path: Path, *, brokers: tuple[str, ...] = (BROKER,), dev: DevConfig | None = None, **options: Any
) -> AsyncIterator[Node]:
    """Yield a node on the development chain; without `dev` it only looks at its genesis."""
    config = Config(
        **{"base_path": base_path, "chain": "dev", "sync": "full", "prometheus": None, "network": LOOPBACK}
        | options
    )
    keystore = Keystore(base_path / "chains" / "dev" / "keystore")
    for suri in brokers:
        keystore.insert("brok", suri, "sr25519")

    async with trio.open_nursery() as nursery:
        with trio.fail_after(LIMIT_S):
            node: Node = await nursery.start(run, config, dev)
        try:
            yield node
        finally:
            nursery.cancel_scope.cancel()


def made(node: Node) -> DevelopmentChain:
    """Return the development chain that the node makes."""
    chain = development_chain(node)
    assert chain is not None
    return chain


async def reach(node: Node, number: int) -> None:
    """Wait until the best chain is that long."""
    with trio.fail_after(LIMIT_S), node.chain.subscribe() as events:
        while node.chain.best.number < number:
            await events.__anext__()


def channel(source: str = "Eth", refund: tuple[str, bytes] = ("Eth", b"\x02" * 20)) -> BrokerChannelRequest:
    """Return the request for a channel from `source` to ArbUsdc."""
    return BrokerChannelRequest(
        source_asset=source,
        destination_asset="ArbUsdc",
        destination_address=("Arb", b"\x01" * 20),
        broker_commission=10,
        refund_parameters={
            "retry_duration": 10,
            "refund_address": refund,
            "min_price": 1,
            "refund_ccm_metadata": None,
            "max_oracle_price_slippage": None,
        },
    )
