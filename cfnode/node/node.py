"""What is a running node, as seen by those who stand above it?

JSON-RPC and tests hold one `Node` and use its parts; nothing in here knows of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypedDict

import trio

from cfnode.core.chainspec import ChainSpec
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.network.service import Service
from cfnode.node.broker import BrokerClient
from cfnode.node.chain import Chain
from cfnode.node.config import Config
from cfnode.node.liveness import Liveness
from cfnode.node.metrics import NodeMetrics
from cfnode.node.pool import TransactionPool
from cfnode.node.readiness import Impediment
from cfnode.node.sync.service import ChainSync
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from cfnode.store.keystore import Keystore


class Health(TypedDict):
    """Substrate's `system_health`."""

    peers: int
    isSyncing: bool
    shouldHavePeers: bool


class Producer(Protocol):
    """Makes the blocks of a chain that lives on this machine; a node of any other chain has none."""

    async def follow(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow the chain until cancelled; started once the blocks that are there have been seen."""

    async def produce(self) -> None:
        """Make blocks until cancelled; begun when all services are up."""


@dataclass(frozen=True)
class Node:
    """The parts of a running node.

    `producer`: where this node makes the chain itself; `broker`: when the keystore holds exactly one broker
    key.
    """

    config: Config
    spec: ChainSpec
    version: str
    store: Store
    executor: Executor
    chain: Chain
    pool: TransactionPool
    keystore: Keystore
    metrics: NodeMetrics
    identity: Keypair = field(repr=False)
    network: Service
    sync: ChainSync
    liveness: Liveness
    broker: BrokerClient | None = None
    broker_missing: str = ""
    """Why there is no broker, and what to do; empty where there is one."""
    producer: Producer | None = None

    @property
    def peers(self) -> int:
        """How many nodes take part with us; others may be connected as well."""
        return self.network.peer_count

    @property
    def is_syncing(self) -> bool:
        """May the chain be further elsewhere? Who makes a chain is in step with it."""
        return self.syncing is not None

    @property
    def syncing(self) -> str | None:
        """What the sync is at and waits for, in words; None when the node is in step with the chain."""
        return self.sync.progress.words

    @property
    def is_authority(self) -> bool:
        """Does this node make blocks?"""
        return self.producer is not None

    @property
    def local_peer_id(self) -> str:
        """The node's name on the network."""
        return peer_id(self.identity.public)

    @property
    def impediments(self) -> list[Impediment]:
        """Why nobody should rely on this node just now; empty when there is no reason."""
        found: list[Impediment] = []
        if self.syncing is not None:
            found.append({"kind": "syncing", "message": self.syncing})
        elif (isolated := self.liveness.reason) is not None:
            found.append({"kind": "isolated", "message": isolated})
        failing = (self.chain.faults.reason, self.chain.changes.reason)
        found += [{"kind": "failing", "message": reason} for reason in failing if reason is not None]
        return found

    def health(self) -> Health:
        """Peers, whether the node is behind, and whether it should have peers."""
        return Health(peers=self.peers, isSyncing=self.is_syncing, shouldHavePeers=self.producer is None)
