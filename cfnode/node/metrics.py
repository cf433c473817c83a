"""Which metrics does the node export, and under which names?

Substrate's names with the label `chain`, so that dashboards for the official node work, and a few of our own
(`cfnode_*`), in Prometheus' text format on a separate port.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cfnode.node.chain_view import ChainView
from cfnode.node.liveness import Liveness
from cfnode.node.pool import TransactionPool

ROLE_FULL, ROLE_AUTHORITY = 1, 4
RPC_CALL_MICROSECONDS = (25, 100, 500, 1_000, 2_500, 10_000, 25_000, 100_000, 1_000_000, 10_000_000)
_COUNTERS = (
    "substrate_rpc_calls_started",
    "substrate_rpc_calls_finished",
    "substrate_rpc_sessions_opened",
    "substrate_rpc_sessions_closed",
)
TRAFFIC = "substrate_sub_libp2p_network_bytes"


@dataclass(frozen=True, slots=True)
class Identity:
    """The labels of a node: its name, version and chain name, and whether it makes blocks."""

    name: str
    version: str
    chain: str
    authoring: bool


@dataclass(frozen=True, slots=True)
class NetworkCounters:
    """The counters of the network, read at each scrape: peers, bytes since the start, bytes held, bans.

    `highest`: the best block that peers claim.
    """

    peers: Callable[[], int]
    received: Callable[[], int]
    sent: Callable[[], int]
    held: Callable[[], int]
    bans: Callable[[], int]
    highest: Callable[[], int]


class _Traffic(Collector):
    """The counters that the network itself keeps."""

    def __init__(self, chain: str, network: NetworkCounters) -> None:
        self._chain, self._network = chain, network

    def collect(self) -> Iterable[Metric]:
        """Read the counters."""
        traffic = CounterMetricFamily(TRAFFIC, "Total bandwidth usage", labels=("chain", "direction"))
        traffic.add_metric((self._chain, "in"), self._network.received())
        traffic.add_metric((self._chain, "out"), self._network.sent())
        bans = CounterMetricFamily("cfnode_peer_bans", "Peers banned for what they did", labels=("chain",))
        bans.add_metric((self._chain,), self._network.bans())
        held = GaugeMetricFamily("cfnode_network_held_bytes", "Held for and from peers", labels=("chain",))
        held.add_metric((self._chain,), self._network.held())
        return traffic, bans, held


class NodeMetrics:
    """The metrics of one node, in a separate registry."""

    def __init__(
        self,
        identity: Identity,
        chain: ChainView,
        pool: TransactionPool,
        network: NetworkCounters,
        liveness: Liveness,
    ) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._chain_name = identity.chain
        self._by_method: dict[tuple[str, str], tuple[Counter, Counter, Counter, Histogram]] = {}
        self._identify(identity)
        self._follow_chain(chain, network)
        silence = self._gauge("cfnode_seconds_since_last_block", "Seconds since a block came")
        silence.set_function(lambda: liveness.silence)
        isolated = self._gauge("cfnode_isolated", "1 without peers, or without blocks where there should be")
        isolated.set_function(lambda: liveness.is_isolated)
        ready = self._gauge("substrate_ready_transactions_number", "Transactions in the ready queue")
        ready.set_function(lambda: pool.status.ready)
        count = self._gauge("substrate_sub_libp2p_peers_count", "Number of connected peers")
        count.set_function(network.peers)
        self.registry.register(_Traffic(identity.chain, network))
        self._rpc()

    def render(self) -> bytes:
        """All metrics in the text format 0.0.4; counters keep Substrate's names, without `_total`."""
        text = generate_latest(self.registry)
        lines = [line for line in text.split(b"\n") if not _is_creation_time(line)]
        text = b"\n".join(lines)
        for name in _COUNTERS:
            text = text.replace(f"{name}_total".encode(), name.encode())
        return text

    def rpc_call_started(self, protocol: str, method: str) -> None:
        """Count the start of a JSON-RPC call; `protocol` is `http` or `ws`, `method` a known name."""
        self._figures_of(protocol, method)[0].inc()

    def rpc_call_finished(self, protocol: str, method: str, seconds: float, is_error: bool) -> None:
        """Count the answer of a JSON-RPC call."""
        _, succeeded, failed, microseconds = self._figures_of(protocol, method)
        (failed if is_error else succeeded).inc()
        microseconds.observe(seconds * 1_000_000)

    def _figures_of(self, protocol: str, method: str) -> tuple[Counter, Counter, Counter, Histogram]:
        """Started, succeeded, failed, time; their labels are resolved once, since there are many calls."""
        figures = self._by_method.get((protocol, method))
        if figures is None:
            labels = self._chain_name, protocol, method
            figures = self._by_method[protocol, method] = (
                self._calls_started.labels(*labels),
                self._calls_finished.labels(*labels, "false"),
                self._calls_finished.labels(*labels, "true"),
                self._calls_time.labels(*labels),
            )
        return figures

    def rpc_session_opened(self, protocol: str) -> None:
        """Count an accepted connection."""
        self._sessions_opened.labels(self._chain_name, protocol).inc()

    def watch_exposure(self, is_exposed: Callable[[], bool]) -> None:
        """Export whether strangers may use the broker's methods."""
        self._exposed.set_function(is_exposed)

    def rpc_session_closed(self, protocol: str) -> None:
        """Count the end of a connection."""
        self._sessions_closed.labels(self._chain_name, protocol).inc()

    def _gauge(self, name: str, text: str, labels: Mapping[str, str] | None = None) -> Gauge:
        given = {"chain": self._chain_name, **(labels or {})}
        return Gauge(name, text, tuple(given), registry=self.registry).labels(*given.values())

    def _identify(self, identity: Identity) -> None:
        labels = {"name": identity.name, "version": identity.version}
        info = self._gauge("substrate_build_info", "Name and version", labels)
        info.set(1)
        roles = self._gauge("substrate_node_roles", "The roles the node is running as")
        roles.set(ROLE_AUTHORITY if identity.authoring else ROLE_FULL)
        started = self._gauge("substrate_process_start_time_seconds", "When the node started, Unix time")
        started.set(int(time.time()))

    def _follow_chain(self, chain: ChainView, network: NetworkCounters) -> None:
        height = Gauge("substrate_block_height", "Block height", ("status", "chain"), registry=self.registry)
        height.labels("best", self._chain_name).set_function(lambda: chain.best.number)
        height.labels("finalized", self._chain_name).set_function(lambda: chain.finalized.number)
        height.labels("sync_target", self._chain_name).set_function(
            lambda: max(chain.best.number, network.highest())
        )
        leaves = self._gauge("substrate_number_leaves", "Known leaves, in other words forks")
        leaves.set_function(lambda: chain.leaves)
        faults = self._gauge("cfnode_local_faults", "Attempts of blocks that failed by a local fault")
        faults.set_function(lambda: chain.faults.total)
        failing = self._gauge("cfnode_failing_blocks", "Blocks that several attempts could not execute")
        failing.set_function(lambda: chain.faults.failing)
        proven = self._gauge("cfnode_answers_on_proof", "Answers that rested on proofs of peers")
        proven.set_function(lambda: chain.states.answered_with_proof)

    def _rpc(self) -> None:
        text = "1 if other machines reach the broker's methods without restriction"
        self._exposed = self._gauge("cfnode_rpc_broker_exposed", text)
        base = ("chain", "protocol", "method")
        self._calls_started = Counter(_COUNTERS[0], "RPC calls received", base, registry=self.registry)
        self._calls_finished = Counter(
            _COUNTERS[1], "RPC calls answered", (*base, "is_error"), registry=self.registry
        )
        self._calls_time = Histogram(
            "substrate_rpc_calls_time",
            "Time of RPC calls, microseconds",
            base,
            buckets=RPC_CALL_MICROSECONDS,
            registry=self.registry,
        )
        self._sessions_opened = Counter(
            _COUNTERS[2], "Connections accepted", base[:2], registry=self.registry
        )
        self._sessions_closed = Counter(_COUNTERS[3], "Connections ended", base[:2], registry=self.registry)


def _is_creation_time(line: bytes) -> bool:
    """Is it one of the library's own `…_created` metrics, which Substrate does not have?"""
    name = line.removeprefix(b"# HELP ").removeprefix(b"# TYPE ").split(b"{")[0].split(b" ")[0]
    return name.endswith(b"_created")
