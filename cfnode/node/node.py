"""What is a running node, as seen by those who stand above it?

JSON-RPC and tests hold one `Node` and use its parts; nothing in here knows of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from cfnode.core.chainspec import ChainSpec
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.network.service import Service
from cfnode.node.author import Author
from cfnode.node.broker import BrokerClient
from cfnode.node.chain import Chain
from cfnode.node.clock import ChainClock
from cfnode.node.config import Config
from cfnode.node.dev import DevControl
from cfnode.node.finality import DevFinality
from cfnode.node.metrics import NodeMetrics
from cfnode.node.pool import TransactionPool
from cfnode.node.swap_index import SwapIndex
from cfnode.node.sync.service import ChainSync
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from cfnode.store.keystore import Keystore


class Health(TypedDict):
    """Substrate's `system_health`."""

    peers: int
    isSyncing: bool
    shouldHavePeers: bool


@dataclass(frozen=True)
class Node:
    """The parts of a running node.

    `author`, `finality`, `dev` and `swaps` exist on a development chain that this node makes, `broker` when
    the keystore holds exactly one broker key.
    """

    config: Config
    spec: ChainSpec
    version: str
    store: Store
    executor: Executor
    chain: Chain
    pool: TransactionPool
    clock: ChainClock
    keystore: Keystore
    metrics: NodeMetrics
    identity: Keypair = field(repr=False)
    network: Service
    sync: ChainSync
    author: Author | None = None
    finality: DevFinality | None = None
    dev: DevControl | None = None
    swaps: SwapIndex | None = None
    broker: BrokerClient | None = None

    @property
    def peers(self) -> int:
        """How many nodes take part with us; others may be connected as well."""
        return self.network.joined

    @property
    def is_syncing(self) -> bool:
        """May the chain be further elsewhere? Who makes a chain is in step with it."""
        return self.syncing is not None

    @property
    def syncing(self) -> str | None:
        """What the sync is at and waits for, in words; None when the node is in step with the chain."""
        return self.sync.progress.words if self.author is None else None

    @property
    def is_authority(self) -> bool:
        """Does this node make blocks?"""
        return self.author is not None

    @property
    def local_peer_id(self) -> str:
        """The node's name on the network."""
        return peer_id(self.identity.public)

    def health(self) -> Health:
        """Peers, whether the node is behind, and whether it should have peers."""
        return Health(peers=self.peers, isSyncing=self.is_syncing, shouldHavePeers=self.author is None)
