"""Registry of metrics: reading their values, and writing them as Prometheus' text.

Values that exist anyway are read at each scrape (`read`, `read_many`); events are counted (`counter`,
`histogram`). The library ends names of counters with `_total`, Substrate not always: the text has the
declared names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from cfnode.network.traffic import Distribution
from cfnode.node.metrics.declaration import DeclaredMetric
from cfnode.node.metrics.declared import METRICS_BY_NAME

__all__ = ["MetricsRegistry", "Sample"]

_SUFFIX = "_total"

Sample = tuple[Sequence[str], float]
"""The values of a metric's labels, without `chain`, and its value."""


class MetricsRegistry(Collector):
    """The metrics of one node. `chain`: the value of their label `chain`."""

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._registry = CollectorRegistry()
        self._readers: dict[str, dict[tuple[str, ...], Callable[[], Iterable[Sample]]]] = {}
        self._distributions: dict[str, Callable[[], Iterable[tuple[Sequence[str], Distribution]]]] = {}
        self._counters: list[str] = []
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def read(self, name: str, value: Callable[[], float | None], *labels: str) -> None:
        """Export what `value` returns at each scrape; None: there is no value now.

        A second function for the same labels replaces the first one.
        """

        def samples() -> Iterable[Sample]:
            reading = value()
            return () if reading is None else ((labels, reading),)

        self._add(name, labels, samples)

    def read_many(self, name: str, samples: Callable[[], Iterable[Sample]]) -> None:
        """Export the samples that a function returns at each scrape."""
        self._add(name, (), samples)

    def read_distributions(
        self, name: str, values: Callable[[], Iterable[tuple[Sequence[str], Distribution]]]
    ) -> None:
        """Export the distributions that a function returns at each scrape, with their labels."""
        self._distributions[name] = values

    def _add(self, name: str, labels: tuple[str, ...], samples: Callable[[], Iterable[Sample]]) -> None:
        declaration = METRICS_BY_NAME[name]
        self._readers.setdefault(name, {})[labels] = samples
        if declaration.kind == "counter":
            self._counters.append(name)

    def counter(self, name: str) -> Counter:
        """Return a new counter; its labels begin with `chain`."""
        declaration = METRICS_BY_NAME[name]
        self._counters.append(name)
        return Counter(name, declaration.text, declaration.all_labels, registry=self._registry)

    def histogram(self, name: str) -> Histogram:
        """Return a new histogram; its labels begin with `chain`."""
        declaration = METRICS_BY_NAME[name]
        buckets = declaration.buckets or Histogram.DEFAULT_BUCKETS
        return Histogram(
            name, declaration.text, declaration.all_labels, buckets=buckets, registry=self._registry
        )

    def labels(self, *values: str) -> tuple[str, ...]:
        """Return the values of a metric's labels, with that of `chain`."""
        return (self._chain, *values)

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics that are read now."""
        for name, readers in self._readers.items():
            family = self._family(METRICS_BY_NAME[name])
            for samples in readers.values():
                for labels, value in samples():
                    family.add_metric(self.labels(*labels), value)
            yield family
        for name, values in self._distributions.items():
            yield self._histogram(METRICS_BY_NAME[name], values())

    def describe(self) -> Iterable[Metric]:
        """Return no metrics: the values cannot be read before the node is complete."""
        return ()

    @staticmethod
    def _family(declared: DeclaredMetric) -> GaugeMetricFamily | CounterMetricFamily:
        family = GaugeMetricFamily if declared.kind == "gauge" else CounterMetricFamily
        return family(declared.name, declared.text, labels=declared.all_labels)

    def _histogram(
        self, declared: DeclaredMetric, values: Iterable[tuple[Sequence[str], Distribution]]
    ) -> HistogramMetricFamily:
        family = HistogramMetricFamily(declared.name, declared.text, labels=declared.all_labels)
        for labels, distribution in values:
            limits = [*map(floatToGoString, distribution.limits), "+Inf"]
            buckets = list(zip(limits, accumulate(distribution.counts), strict=True))
            family.add_metric(self.labels(*labels), buckets, distribution.total)
        return family

    def render(self) -> bytes:
        """Return all metrics in the text format 0.0.4, under the declared names."""
        text = generate_latest(self._registry)
        text = b"\n".join(line for line in text.split(b"\n") if not _is_creation_time(line))
        for name in self._counters:
            if not name.endswith(_SUFFIX):
                text = text.replace((name + _SUFFIX).encode(), name.encode())
        return text


def by_label(values: Callable[[], Mapping[str, float]]) -> Callable[[], Iterable[Sample]]:
    """Return a reader of the samples of a metric with one label, from its values by that label."""
    return lambda: [((label,), value) for label, value in values().items()]


def _is_creation_time(line: bytes) -> bool:
    """Return whether a line is of one of the library's own `…_created` metrics, which Substrate lacks."""
    name = line.removeprefix(b"# HELP ").removeprefix(b"# TYPE ").split(b"{")[0].split(b" ")[0]
    return name.endswith(b"_created")
