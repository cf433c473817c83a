"""Metrics of JSON-RPC calls and connections, as in Substrate's `substrate_rpc_*`."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import Counter, Histogram

from cfnode.node.metrics.registry import MetricsRegistry

__all__ = ["RpcMetrics"]


class RpcMetrics:
    """The counts of calls and WebSocket connections. `protocol` is `http` or `ws`, `method` a known name."""

    def __init__(self, registry: MetricsRegistry) -> None:
        self._registry = registry
        self._started = registry.counter("substrate_rpc_calls_started")
        self._finished = registry.counter("substrate_rpc_calls_finished")
        self._time = registry.histogram("substrate_rpc_calls_time")
        self._opened = registry.counter("substrate_rpc_sessions_opened").labels(*registry.labels())
        self._closed = registry.counter("substrate_rpc_sessions_closed").labels(*registry.labels())
        self._starts: dict[tuple[str, str], Counter] = {}
        self._ends: dict[tuple[str, str, bool], tuple[Counter, Counter, Histogram]] = {}

    def call_started(self, protocol: str, method: str) -> None:
        """Count the start of a JSON-RPC call."""
        started = self._starts.get((protocol, method))
        if started is None:  # labels are resolved once, since there are many calls
            started = self._starts[protocol, method] = self._started.labels(
                *self._registry.labels(protocol, method)
            )
        started.inc()

    def call_finished(
        self, protocol: str, method: str, seconds: float, *, is_error: bool, is_rate_limited: bool
    ) -> None:
        """Count the answer of a JSON-RPC call. `is_rate_limited`: it had to wait for the rate limit."""
        key = protocol, method, is_rate_limited
        counters = self._ends.get(key)
        if counters is None:
            counters = self._ends[key] = self._resolved(*key)
        succeeded, failed, microseconds = counters
        (failed if is_error else succeeded).inc()
        microseconds.observe(seconds * 1_000_000)

    def _resolved(self, protocol: str, method: str, limited: bool) -> tuple[Counter, Counter, Histogram]:
        labels = self._registry.labels(protocol, method)
        is_limited = "true" if limited else "false"
        return (
            self._finished.labels(*labels, "false", is_limited),
            self._finished.labels(*labels, "true", is_limited),
            self._time.labels(*labels, is_limited),
        )

    def session_opened(self) -> None:
        """Count an accepted WebSocket connection."""
        self._opened.inc()

    def session_closed(self) -> None:
        """Count the end of a WebSocket connection."""
        self._closed.inc()

    def watch_exposure(self, namespace: str, is_exposed: Callable[[], bool]) -> None:
        """Export whether strangers may use the methods of a signing account: `broker` or `lp`."""
        self._registry.read(f"cfnode_rpc_{namespace}_exposed", is_exposed)
