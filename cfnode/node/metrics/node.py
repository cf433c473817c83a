"""Metrics of a node: chain, network, pool, executor and database.

All are read at each scrape from the parts that keep them. JSON-RPC, author and accounts of keys add theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import trio
from prometheus_client import Histogram

from cfnode.core.aura import SLOT_MS
from cfnode.core.chain_time import DEVELOPMENT
from cfnode.core.grandpa import PRECOMMIT, PREVOTE
from cfnode.network.service import NetworkService
from cfnode.node.chain.view import ChainView
from cfnode.node.liveness import Liveness
from cfnode.node.metrics.account import AccountMetrics
from cfnode.node.metrics.figures import (
    BrokerFigures,
    ProviderFigures,
    ReadBroker,
    ReadProvider,
    broker_metrics,
    provider_metrics,
)
from cfnode.node.metrics.network import follow_network
from cfnode.node.metrics.registry import MetricsRegistry, by_label
from cfnode.node.metrics.rpc import RpcMetrics
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.signing.submission_tally import SubmissionTally
from cfnode.node.sync.service import ChainSync
from cfnode.runtime.executor import Executor
from cfnode.store import Store

__all__ = ["Identity", "NodeMetrics"]

ROLE_FULL, ROLE_AUTHORITY = 1, 4


@dataclass(frozen=True, slots=True)
class Identity:
    """The labels of a node: its name, version and chain name; whether it makes blocks; its chain's type."""

    name: str
    version: str
    chain: str
    authoring: bool
    chain_type: str = "Live"


class NodeMetrics:
    """The metrics of one node, in a separate registry."""

    def __init__(
        self,
        identity: Identity,
        chain: ChainView,
        pool: TransactionPool,
        network: NetworkService,
        sync: ChainSync,
        liveness: Liveness,
    ) -> None:
        self._registry = MetricsRegistry(identity.chain)
        self.rpc = RpcMetrics(self._registry)
        """The counts of JSON-RPC, which its server keeps."""
        self._broker: AccountMetrics[BrokerFigures] | None = None
        self._provider: AccountMetrics[ProviderFigures] | None = None
        self._chain, self._sync = chain, sync
        self._proposals: Histogram | None = None
        self._last_proposal: int | None = None
        self._identify(identity)
        self._follow_chain(chain, is_development=identity.chain_type == DEVELOPMENT)
        self._follow_liveness(liveness)
        follow_network(self._registry, network, sync)
        self._follow_pool(pool)
        if identity.authoring:
            self._follow_author(sync)

    async def scrape(self) -> bytes:
        """Return the text of all metrics; if there is a new block, read the keys' accounts first."""
        async with trio.open_nursery() as nursery:
            for account in (self._broker, self._provider):
                if account is not None:
                    nursery.start_soon(account.refresh)
        return self.render()

    def render(self) -> bytes:
        """Return the text of all metrics, without waiting for anything."""
        return self._registry.render()

    # --- what other parts of the node report

    def block_proposed(self, seconds: float, transactions: int) -> None:
        """Count a block that this node has built in `seconds`, with `transactions` extrinsics."""
        if self._proposals is not None:
            self._proposals.observe(seconds)
        self._last_proposal = transactions

    # --- what is known only once the node is complete

    def watch_readiness(self, is_ready: Callable[[], bool]) -> None:
        """Export whether the node is ready for clients."""
        self._registry.read("cfnode_ready", is_ready)

    def watch_machine(self, executor: Executor, store: Store) -> None:
        """Export processes and restarts of the executor, and the size of the database."""
        self._registry.read("cfnode_executor_restarts_total", lambda: executor.restarts)
        self._registry.read("cfnode_executor_processes", lambda: len(executor.pids))
        self._registry.read("cfnode_database_bytes", lambda: store.database.used)

    def watch_broker(self, tally: SubmissionTally) -> None:
        """Export the outcomes of the broker's calls, and its account after `read_broker_with`."""
        self._broker = broker_metrics(self._registry, tally, self._readable_block)

    def watch_provider(self, tally: SubmissionTally) -> None:
        """Export the outcomes of the provider's calls, and its account after `read_provider_with`."""
        self._provider = provider_metrics(self._registry, tally, self._readable_block)

    def read_broker_with(self, read: ReadBroker) -> None:
        """Read the broker's account with `read`. Does nothing on a node without a broker key."""
        if self._broker is not None:
            self._broker.read_with(read)

    def read_provider_with(self, read: ReadProvider) -> None:
        """Read the liquidity provider's account with `read`. Does nothing on a node without its key."""
        if self._provider is not None:
            self._provider.read_with(read)

    def _readable_block(self) -> bytes | None:
        """Return the best block's hash; None while the node is syncing and has only the genesis state."""
        best = self._chain.best
        return None if self._sync.progress.is_syncing and best.number == 0 else best.hash

    # --- what is read at each scrape

    def _identify(self, identity: Identity) -> None:
        started = int(time.time())
        role = ROLE_AUTHORITY if identity.authoring else ROLE_FULL
        self._registry.read("substrate_build_info", lambda: 1, identity.name, identity.version)
        self._registry.read("substrate_node_roles", lambda: role)
        self._registry.read("substrate_process_start_time_seconds", lambda: started)

    def _follow_chain(self, chain: ChainView, *, is_development: bool) -> None:
        read = self._registry.read

        def now() -> float:
            return chain_now(chain) if is_development else time.time()

        read("substrate_block_height", lambda: chain.best.number, "best")
        read("substrate_block_height", lambda: chain.finalized.number, "finalized")
        read("substrate_block_height", self._sync_target, "sync_target")
        read("substrate_number_leaves", lambda: chain.leaves)
        read("cfnode_local_faults", lambda: chain.faults.total)
        self._registry.read_many(
            "substrate_import_queue_processed_total", by_label(lambda: chain.faults.results)
        )
        read("cfnode_failing_blocks", lambda: chain.faults.failing)
        read("cfnode_answers_on_proof", lambda: chain.states.answered_with_proof)
        read("cfnode_finalized_block_age_seconds", lambda: finalized_age(chain, now()))
        imports = self._registry.histogram("substrate_block_verification_and_import_time")
        chain.on_import_time = imports.labels(*self._registry.labels()).observe

    def _sync_target(self) -> int:
        return max(self._chain.best.number, self._sync.peer_set.median_claim)

    def _follow_liveness(self, liveness: Liveness) -> None:
        self._registry.read("cfnode_seconds_since_last_block", lambda: liveness.silence)
        self._registry.read("cfnode_isolated", lambda: liveness.is_isolated)

    def _follow_pool(self, pool: TransactionPool) -> None:
        read = self._registry.read
        read("substrate_ready_transactions_number", lambda: pool.status.ready)
        read("substrate_sub_txpool_validations_scheduled", lambda: pool.validator.scheduled)
        read("substrate_sub_txpool_validations_finished", lambda: pool.validator.finished)
        read("substrate_sub_txpool_submitted_transactions", lambda: pool.counts.submitted)
        read("substrate_sub_txpool_validations_invalid", lambda: pool.counts.invalid)
        read("substrate_sub_txpool_block_transactions_pruned", lambda: pool.counts.pruned)
        read("substrate_sub_txpool_block_transactions_resubmitted", lambda: pool.counts.resubmitted)

    def _follow_author(self, sync: ChainSync) -> None:
        read = self._registry.read
        read("substrate_finality_grandpa_prevotes_total", lambda: sync.finality.votes_cast[PREVOTE])
        read("substrate_finality_grandpa_precommits_total", lambda: sync.finality.votes_cast[PRECOMMIT])
        proposals = self._registry.histogram("substrate_proposer_block_constructed")
        self._proposals = proposals.labels(*self._registry.labels())
        read("substrate_proposer_number_of_transactions", lambda: self._last_proposal)


def chain_now(chain: ChainView) -> float:
    """Return the chain's time in Unix seconds: that of its best block, by its slot."""
    return (chain.slot_of(chain.best.hash) or 0) * SLOT_MS / 1000


def finalized_age(chain: ChainView, now: float) -> float | None:
    """Return the seconds from the slot of the last finalized block to `now` (Unix time); None at genesis."""
    slot = chain.slot_of(chain.finalized.hash)
    return None if slot is None else now - slot * SLOT_MS / 1000
