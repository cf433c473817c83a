"""Metrics of network and sync: peers, connections, notifications and requests.

Protocols of the network have their full names (`/…/sync/2`), as in Substrate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cfnode.network.service import NetworkService
from cfnode.network.traffic import ConnectionTraffic, Distribution, Traffic
from cfnode.node.metrics.registry import MetricsRegistry, Sample, by_label
from cfnode.node.sync.service import ChainSync

__all__ = ["follow_network"]


def follow_network(registry: MetricsRegistry, network: NetworkService, sync: ChainSync) -> None:
    """Export the counters of network and sync at each scrape."""
    read = registry.read
    read("substrate_sub_libp2p_peers_count", lambda: network.peer_count)
    read("substrate_sub_libp2p_is_major_syncing", lambda: sync.progress.is_syncing)
    read("substrate_sync_peers", lambda: len(sync.peer_set))
    read("substrate_sync_propagated_transactions", lambda: sync.transactions_propagated)
    read("substrate_finality_grandpa_round", lambda: sync.finality.rounds.completed_number)
    read("substrate_sub_libp2p_network_bytes_total", lambda: network.bytes_received, "in")
    read("substrate_sub_libp2p_network_bytes_total", lambda: network.bytes_sent, "out")
    read("substrate_sub_libp2p_listeners_local_addresses", lambda: len(network.listening))
    read("substrate_sub_libp2p_peerset_num_discovered", lambda: network.known_nodes)
    read("cfnode_peer_bans_total", lambda: network.bans)
    read("cfnode_network_held_bytes", lambda: network.bytes_held)
    _follow_connections(registry, network.traffic.connections)
    _follow_notifications(registry, network.traffic)
    _follow_requests(registry, network.traffic)


def _follow_connections(registry: MetricsRegistry, counts: ConnectionTraffic) -> None:
    prefix = "substrate_sub_libp2p_"
    opened, closed = f"{prefix}connections_opened_total", f"{prefix}connections_closed_total"
    registry.read_many(opened, by_label(lambda: counts.opened))
    registry.read_many(closed, lambda: counts.closed.items())
    distinct = f"{prefix}distinct_peers_connections"
    registry.read(f"{distinct}_opened_total", lambda: sum(counts.opened.values()))
    registry.read(f"{distinct}_closed_total", lambda: sum(counts.closed.values()))
    registry.read(f"{prefix}incoming_connections_total", lambda: counts.incoming)
    failed = f"{prefix}incoming_connections_handshake_errors_total"
    registry.read_many(failed, by_label(lambda: counts.failed_incoming))
    registry.read_many(f"{prefix}pending_connections_errors_total", by_label(lambda: counts.failed_dials))


def _follow_notifications(registry: MetricsRegistry, traffic: Traffic) -> None:
    def sizes() -> Iterable[tuple[tuple[str, str], Distribution]]:
        for name, counts in traffic.notifications.items():
            yield ("in", name), counts.received
            yield ("out", name), counts.sent

    def samples(value: Callable[[str], float]) -> Callable[[], Iterable[Sample]]:
        return lambda: [((name,), value(name)) for name in traffic.notifications]

    prefix = "substrate_sub_libp2p_notifications"
    registry.read_distributions(f"{prefix}_sizes", sizes)
    opened = samples(lambda name: traffic.notifications[name].opened)
    closed = samples(lambda name: traffic.notifications[name].closed)
    registry.read_many(f"{prefix}_streams_opened_total", opened)
    registry.read_many(f"{prefix}_streams_closed_total", closed)


def _follow_requests(registry: MetricsRegistry, traffic: Traffic) -> None:
    requests = traffic.requests

    def failures() -> Iterable[Sample]:
        for name, counts in requests.items():
            for reason, times in counts.failed.items():
                yield (name, reason), times

    prefix = "substrate_sub_libp2p_requests"
    registry.read_distributions(
        f"{prefix}_out_success_total",
        lambda: [((name,), counts.succeeded) for name, counts in requests.items()],
    )
    registry.read_distributions(
        f"{prefix}_in_success_total",
        lambda: [((name,), counts.answered) for name, counts in requests.items()],
    )
    registry.read_many(f"{prefix}_out_failure_total", failures)
    registry.read_many(
        f"{prefix}_in_failure_total",
        lambda: [((name, "refused"), counts.refused) for name, counts in requests.items()],
    )
