"""Declarations of the metrics of network and transaction pool."""

from __future__ import annotations

from typing import Final

from cfnode.node.metrics.declaration import DeclaredMetric, Section

__all__ = ["NETWORK"]

CONNECTIONS: Final = (
    DeclaredMetric("substrate_sub_libp2p_peers_count", "gauge", "Number of connected peers", unit="peers"),
    DeclaredMetric(
        "substrate_sub_libp2p_network_bytes_total",
        "counter",
        "Total bandwidth usage; direction is in or out",
        ("direction",),
        "bytes",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_connections_opened_total",
        "counter",
        "Total number of connections opened by direction",
        ("direction",),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_connections_closed_total",
        "counter",
        "Total number of connections closed, by direction and reason: keep-alive-timeout (unused), "
        "ping-timeout, protocol-error, closed-here (for another reason of this node), transport-error (the "
        "peer or the network ended it)",
        ("direction", "reason"),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_distinct_peers_connections_opened_total",
        "counter",
        "Total number of connections opened with distinct peers; this node keeps one with each",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_distinct_peers_connections_closed_total",
        "counter",
        "Total number of connections closed with distinct peers",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_incoming_connections_total",
        "counter",
        "Total number of incoming connections on the listening sockets",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_incoming_connections_handshake_errors_total",
        "counter",
        "Total number of incoming connections that have failed during the initial handshake: limit-reached, "
        "transport-error, denied (a banned or second connection, or no slot)",
        ("reason",),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_pending_connections_errors_total",
        "counter",
        "Total number of dials that failed: transport-error, denied",
        ("reason",),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_listeners_local_addresses", "gauge", "Number of addresses that are listened on"
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_peerset_num_discovered", "gauge", "Known nodes, connected or not", unit="nodes"
    ),
    DeclaredMetric("cfnode_peer_bans_total", "counter", "Peers banned for what they did"),
    DeclaredMetric("cfnode_network_held_bytes", "gauge", "Memory held for and from peers", unit="bytes"),
)

PROTOCOLS: Final = (
    DeclaredMetric(
        "substrate_sub_libp2p_notifications_sizes",
        "histogram",
        "Sizes of the notifications sent to and received from all nodes",
        ("direction", "protocol"),
        "bytes",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_notifications_streams_opened_total",
        "counter",
        "Total number of notification substreams that have been opened",
        ("protocol",),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_notifications_streams_closed_total",
        "counter",
        "Total number of notification substreams that have been closed",
        ("protocol",),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_requests_out_success_total",
        "histogram",
        "For successful outgoing requests, time between a request's start and finish",
        ("protocol",),
        "seconds",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_requests_out_failure_total",
        "counter",
        "Total number of requests that have failed: timeout, refused (or the connection ended), "
        "protocol-error (a malformed answer, or the protocol is unknown to the peer)",
        ("protocol", "reason"),
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_requests_in_success_total",
        "histogram",
        "For successful incoming requests, time between receiving the request and starting to send the "
        "response",
        ("protocol",),
        "seconds",
    ),
    DeclaredMetric(
        "substrate_sub_libp2p_requests_in_failure_total",
        "counter",
        "Total number of incoming requests that the node has not answered: refused (by the handler, or for "
        "a limit)",
        ("protocol", "reason"),
    ),
)

POOL: Final = (
    DeclaredMetric("substrate_ready_transactions_number", "gauge", "Transactions in the ready queue"),
    DeclaredMetric(
        "substrate_sub_txpool_submitted_transactions", "counter", "Total number of transactions submitted"
    ),
    DeclaredMetric(
        "substrate_sub_txpool_validations_scheduled",
        "counter",
        "Total number of transactions scheduled for validation",
    ),
    DeclaredMetric(
        "substrate_sub_txpool_validations_finished",
        "counter",
        "Total number of transactions that finished validation",
    ),
    DeclaredMetric(
        "substrate_sub_txpool_validations_invalid",
        "counter",
        "Total number of transactions that were removed from the pool as invalid",
    ),
    DeclaredMetric(
        "substrate_sub_txpool_block_transactions_pruned",
        "counter",
        "Extrinsics of new best blocks, which leave the pool",
    ),
    DeclaredMetric(
        "substrate_sub_txpool_block_transactions_resubmitted",
        "counter",
        "Transactions of blocks that left the best chain, added to the pool again",
    ),
    DeclaredMetric(
        "substrate_sync_propagated_transactions",
        "counter",
        "Number of transactions propagated to at least one peer",
    ),
)

NETWORK: Final = Section(
    "Network and transaction pool",
    "Every node. The label `protocol` is the full name of a protocol of this node.",
    (*CONNECTIONS, *PROTOCOLS, *POOL),
)
