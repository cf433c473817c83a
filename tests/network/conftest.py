"""Nodes with real TCP connections on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.service import NetworkService, NetworkSettings

GENESIS = bytes.fromhex("8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9")
LOOPBACK = (Multiaddr.parse("/ip4/127.0.0.1/tcp/0"),)


def key(number: int) -> Keypair:
    """Return a node key by number."""
    return Keypair.from_seed(number.to_bytes(32, "big"), "ed25519")


def service(number: int, **settings: Any) -> NetworkService:
    """Return a node of the test chain, not yet running."""
    defaults = {"listen": LOOPBACK, "private_addresses": True, "agent": f"node {number}"}
    return NetworkService(key(number), NetworkSettings(GENESIS, **{**defaults, **settings}))


@asynccontextmanager
async def running(*services: NetworkService) -> AsyncIterator[None]:
    """Run the nodes; they listen inside the block."""
    async with trio.open_nursery() as nursery:
        for service in services:
            await nursery.start(service.run)
        yield
        nursery.cancel_scope.cancel()


def address_of(node: NetworkService) -> Multiaddr:
    """Return the listening address of a node with its peer id."""
    return node.listening[0].with_peer(node.peer_id)
