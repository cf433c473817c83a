"""Declaration of a metric, and sections of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DeclaredMetric", "Section"]


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric: its exported name, type, help and labels.

    `labels`: those besides `chain`. `unit`: of its value. `has_chain`: False for metrics of the process.
    `buckets`: upper limits of a histogram; empty for the usual ones.
    """

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    text: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    has_chain: bool = True
    buckets: tuple[float, ...] = ()

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels in the order in which their values are given."""
        return ("chain", *self.labels) if self.has_chain else self.labels


@dataclass(frozen=True, slots=True)
class Section:
    """Metrics that belong together; `condition` names the nodes that export them."""

    title: str
    condition: str
    metrics: tuple[DeclaredMetric, ...]
