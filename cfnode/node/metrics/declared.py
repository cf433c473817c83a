"""Declarations of all metrics that a node can export, and the metrics of Substrate that it leaves out.

Every metric is declared here once, with its name as exported; `registry.py` refuses any other. The reference
page (`scripts/reference.py`) is generated from these tables. Substrate's metrics have Substrate's names,
types and labels, so that dashboards for the official node work; the node's own begin with `cfnode_`. A metric
that would need a value this node does not measure is absent, and `LEFT_OUT` gives the reason.
"""

from __future__ import annotations

from typing import Final

from cfnode.node.metrics.declaration import DeclaredMetric, Section
from cfnode.node.metrics.declared_network import NETWORK

__all__ = ["LEFT_OUT", "METRICS_BY_NAME", "SECTIONS"]

RPC_CALL_MICROSECONDS: Final = (
    5, 25, 100, 500, 1_000, 2_500, 10_000, 25_000, 100_000, 1_000_000, 10_000_000,
)  # fmt: skip


CHAIN_SECTION: Final = Section(
    "Chain and sync",
    "Every node.",
    (
        DeclaredMetric(
            "substrate_build_info", "gauge", "Name and version of the node; always 1", ("name", "version")
        ),
        DeclaredMetric(
            "substrate_node_roles", "gauge", "The roles the node is running as: 1 full, 4 authority"
        ),
        DeclaredMetric(
            "substrate_process_start_time_seconds",
            "gauge",
            "When the node started, Unix time",
            unit="seconds",
        ),
        DeclaredMetric(
            "substrate_block_height",
            "gauge",
            "Block height: of the best block, the finalized one, and the highest that peers claim",
            ("status",),
            "blocks",
        ),
        DeclaredMetric("substrate_number_leaves", "gauge", "Known chain leaves, in other words forks"),
        DeclaredMetric(
            "substrate_sub_libp2p_is_major_syncing",
            "gauge",
            "1 while the node is syncing: isSyncing of system_health",
        ),
        DeclaredMetric("substrate_sync_peers", "gauge", "Peers that have announced their best block"),
        DeclaredMetric(
            "substrate_block_verification_and_import_time",
            "histogram",
            "Time to verify, execute and store a block of another node",
            unit="seconds",
        ),
        DeclaredMetric(
            "substrate_import_queue_processed_total",
            "counter",
            "Blocks of other nodes by the result of their import: success, verification_failed (a malformed "
            "or invalid block), failed (for a reason of this machine)",
            ("result",),
            "blocks",
        ),
        DeclaredMetric(
            "substrate_finality_grandpa_round",
            "gauge",
            "Highest completed GRANDPA round of the present authority set; absent before the set is known",
        ),
        DeclaredMetric("cfnode_ready", "gauge", "1 while /health/readiness answers 200"),
        DeclaredMetric(
            "cfnode_isolated", "gauge", "1 without peers, or without blocks where there should be"
        ),
        DeclaredMetric(
            "cfnode_seconds_since_last_block",
            "gauge",
            "Time since a block arrived or was made here, or since the start",
            unit="seconds",
        ),
        DeclaredMetric(
            "cfnode_finalized_block_age_seconds",
            "gauge",
            "Age of the last finalized block by its slot; absent at genesis, which has none. Of a "
            "development chain by chain time: the distance in slots from the best block",
            unit="seconds",
        ),
        DeclaredMetric(
            "cfnode_local_faults",
            "counter",
            "Attempts to import blocks that failed for a reason of this machine",
        ),
        DeclaredMetric("cfnode_failing_blocks", "gauge", "Blocks that several attempts could not execute"),
        DeclaredMetric("cfnode_answers_on_proof", "counter", "Answers that rested on proofs of peers"),
        DeclaredMetric(
            "cfnode_executor_restarts_total", "counter", "Executor processes that replaced one that ended"
        ),
        DeclaredMetric("cfnode_executor_processes", "gauge", "Executor processes: for blocks, and for calls"),
        DeclaredMetric("cfnode_database_bytes", "gauge", "Size of the database on disk", unit="bytes"),
    ),
)

RPC: Final = Section(
    "JSON-RPC",
    "Every node. The label `protocol` is http or ws, `method` the name of a known method.",
    (
        DeclaredMetric(
            "substrate_rpc_calls_started", "counter", "RPC calls received", ("protocol", "method")
        ),
        DeclaredMetric(
            "substrate_rpc_calls_finished",
            "counter",
            "RPC calls answered",
            ("protocol", "method", "is_error", "is_rate_limited"),
        ),
        DeclaredMetric(
            "substrate_rpc_calls_time",
            "histogram",
            "Time of RPC calls",
            ("protocol", "method", "is_rate_limited"),
            "microseconds",
            buckets=RPC_CALL_MICROSECONDS,
        ),
        DeclaredMetric("substrate_rpc_sessions_opened", "counter", "WebSocket connections opened"),
        DeclaredMetric("substrate_rpc_sessions_closed", "counter", "WebSocket connections closed"),
        DeclaredMetric(
            "cfnode_rpc_broker_exposed",
            "gauge",
            "1 if other machines reach the broker's methods without restriction",
        ),
        DeclaredMetric(
            "cfnode_rpc_lp_exposed",
            "gauge",
            "1 if other machines reach the liquidity provider's methods without restriction",
        ),
    ),
)

AUTHOR: Final = Section(
    "Block author",
    "A node that makes blocks (a development chain).",
    (
        DeclaredMetric(
            "substrate_proposer_block_constructed",
            "histogram",
            "Time to construct a new block",
            unit="seconds",
        ),
        DeclaredMetric(
            "substrate_proposer_number_of_transactions",
            "gauge",
            "Number of transactions included in the last block made here; absent before the first one",
        ),
        DeclaredMetric(
            "substrate_finality_grandpa_prevotes_total",
            "counter",
            "Total number of GRANDPA prevotes cast locally, in rounds with authorities of other processes",
        ),
        DeclaredMetric(
            "substrate_finality_grandpa_precommits_total",
            "counter",
            "Total number of GRANDPA precommits cast locally, likewise",
        ),
    ),
)


def _tally(namespace: str) -> tuple[DeclaredMetric, DeclaredMetric]:
    """Return the metrics about the calls of a signing account."""
    return (
        DeclaredMetric(
            f"cfnode_{namespace}_calls_waiting", "gauge", "Calls that wait to be signed, or for their block"
        ),
        DeclaredMetric(
            f"cfnode_{namespace}_extrinsics_total",
            "counter",
            "Signed calls by outcome: included; failed (in a block, with an error); refused (by the dry "
            "run or the pool: not sent); dropped (sent, then invalid, replaced or discarded); unknown (no "
            "block in time or none waited for, or the result could not be read: it may be included)",
            ("outcome",),
        ),
    )


BROKER_SECTION: Final = Section(
    "Broker",
    "A node with a broker key. Balances and channels are read at the best block when the metrics are "
    "requested, at most once a block. They are absent while the node has no state to read them from, and if "
    "reading fails.",
    (
        DeclaredMetric("cfnode_broker_flip_balance", "gauge", "FLIP of the broker's account", unit="FLIP"),
        DeclaredMetric(
            "cfnode_broker_earned_fees",
            "gauge",
            "Fees earned and not withdrawn, for each asset of the chain (`Ethereum/USDC`)",
            ("asset",),
            "whole units of the asset",
        ),
        DeclaredMetric("cfnode_broker_open_channels", "gauge", "Open deposit channels of the broker"),
        *_tally("broker"),
    ),
)

PROVIDER_SECTION: Final = Section(
    "Liquidity provider",
    "A node with a liquidity provider's key. Balances are read as those of the broker.",
    (
        DeclaredMetric("cfnode_lp_flip_balance", "gauge", "FLIP of the provider's account", unit="FLIP"),
        DeclaredMetric(
            "cfnode_lp_free_balance",
            "gauge",
            "Free balance, for each asset of the chain (`Ethereum/USDC`), without what is in orders",
            ("asset",),
            "whole units of the asset",
        ),
        *_tally("lp"),
    ),
)

PROCESS: Final = Section(
    "Process",
    "Every node on Linux; of its main process, without the label `chain`.",
    (
        DeclaredMetric(
            "process_start_time_seconds", "gauge", "When the process started, Unix time", (), "seconds", False
        ),
        DeclaredMetric(
            "process_cpu_seconds_total", "counter", "CPU time, user and system", (), "seconds", False
        ),
        DeclaredMetric("process_resident_memory_bytes", "gauge", "Resident memory", (), "bytes", False),
        DeclaredMetric("process_virtual_memory_bytes", "gauge", "Virtual memory", (), "bytes", False),
        DeclaredMetric("process_open_fds", "gauge", "Open file descriptors", has_chain=False),
        DeclaredMetric("process_max_fds", "gauge", "Limit of open file descriptors", has_chain=False),
    ),
)

SECTIONS: Final = (CHAIN_SECTION, NETWORK, RPC, AUTHOR, BROKER_SECTION, PROVIDER_SECTION, PROCESS)
METRICS_BY_NAME: Final = {metric.name: metric for section in SECTIONS for metric in section.metrics}

LEFT_OUT: Final = (
    (
        ("substrate_database_cache_bytes", "substrate_state_cache_bytes", "substrate_state_db_*"),
        "LMDB uses the page cache of the kernel; there is no cache of the node's own.",
    ),
    (
        ("substrate_tasks_*", "substrate_tokio_*", "substrate_unbounded_channel_*"),
        "They belong to Tokio. This node runs one loop (trio) with bounded channels.",
    ),
    (
        ("substrate_block_verification_time", "substrate_justification_import_time"),
        "A block is verified by its execution: `substrate_block_verification_and_import_time`.",
    ),
    (
        ("substrate_proposer_block_proposal_time", "substrate_proposer_create_inherents_time"),
        "The executor builds a block in one call: `substrate_proposer_block_constructed`.",
    ),
    (
        ("substrate_proposer_end_proposal_reason",),
        "The executor does not report it.",
    ),
    (
        ("substrate_network_gossip_*", "substrate_finality_grandpa_communication_gossip_*"),
        "They belong to Substrate's gossip engine. Messages of GRANDPA are in "
        "`substrate_sub_libp2p_notifications_sizes`.",
    ),
    (
        (
            "substrate_finality_grandpa_until_imported_*",
            "substrate_sync_queued_blocks",
            "substrate_sync_fork_*",
        ),
        "They are the queues of Substrate's own sync. Compare the heights in `substrate_block_height`.",
    ),
    (
        ("substrate_sub_libp2p_kademlia_*", "substrate_sub_libp2p_kbuckets_num_nodes"),
        "This node stores no records. The nodes it knows are `substrate_sub_libp2p_peerset_num_discovered`.",
    ),
    (
        ("substrate_sub_libp2p_out_events_*", "substrate_sub_libp2p_pending_connections"),
        "Its parts exchange no such events, and dials are few.",
    ),
    (
        ("substrate_authority_discovery_*", "substrate_beefy_*", "polkadot_*"),
        "The node serves none of these protocols.",
    ),
)
"""Names of Substrate's metrics that are absent here, with the reasons."""
