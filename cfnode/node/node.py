"""The parts of a running node, which the layers above it use.

JSON-RPC and tests receive a `Node`. No module of this package imports those layers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import trio

from cfnode.core.chainspec import ChainSpec
from cfnode.core.keys import Keypair
from cfnode.core.peer_id import peer_id
from cfnode.network.service import NetworkService
from cfnode.node.chain.chain import NodeChain
from cfnode.node.config import Config
from cfnode.node.liveness import Liveness
from cfnode.node.metrics import NodeMetrics
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.readiness import Health, Impediment
from cfnode.node.signing.broker import BrokerClient
from cfnode.node.signing.provider import LiquidityProviderClient
from cfnode.node.sync.service import ChainSync
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from cfnode.store.keystore import Keystore


class Producer(Protocol):
    """The producer of blocks on a node that makes its chain itself; any other node has none."""

    async def follow(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow the chain until cancelled; started once the existing blocks have been processed."""

    async def produce(self) -> None:
        """Make blocks until cancelled; called when all services are up."""


@dataclass(frozen=True)
class Node:
    """The parts of a running node.

    `producer`: only on a node that makes the chain itself. `broker` and `provider` (of liquidity): only with
    exactly one key of their type.
    """

    config: Config
    spec: ChainSpec
    version: str
    store: Store
    executor: Executor
    chain: NodeChain
    pool: TransactionPool
    keystore: Keystore
    metrics: NodeMetrics
    identity: Keypair = field(repr=False)
    network: NetworkService
    sync: ChainSync
    liveness: Liveness
    broker: BrokerClient | None = None
    broker_missing: str = ""
    """Why there is no broker client, and what to do; empty if there is one."""
    provider: LiquidityProviderClient | None = None
    provider_missing: str = ""
    """Why there is no client of a liquidity provider, and what to do; empty if there is one."""
    producer: Producer | None = None

    @property
    def peers(self) -> int:
        """The number of peers; further nodes may be connected."""
        return self.network.peer_count

    @property
    def is_syncing(self) -> bool:
        """Whether other nodes may have newer blocks; never on a node that makes the chain."""
        return self.syncing is not None

    @property
    def syncing(self) -> str | None:
        """The phase of the sync and what it waits for; None when the node is synced."""
        return self.sync.progress.waiting_text

    @property
    def is_authority(self) -> bool:
        """Whether this node makes blocks."""
        return self.producer is not None

    @property
    def local_peer_id(self) -> str:
        """The node's peer id."""
        return peer_id(self.identity.public)

    @property
    def impediments(self) -> list[Impediment]:
        """The reasons why clients should not rely on this node now; empty if there are none."""
        impediments: list[Impediment] = []
        if self.syncing is not None:
            impediments.append({"kind": "syncing", "message": self.syncing})
        elif (isolated := self.liveness.reason) is not None:
            impediments.append({"kind": "isolated", "message": isolated})
        reasons = (self.chain.faults.reason, self.chain.changes.reason)
        impediments += [{"kind": "failing", "message": reason} for reason in reasons if reason is not None]
        return impediments

    def health(self) -> Health:
        """Return the number of peers, whether the node is syncing, and whether it should have peers."""
        return Health(peers=self.peers, isSyncing=self.is_syncing, shouldHavePeers=self.producer is None)
