"""The metrics of a node for Prometheus.

`declared` lists all of them, `registry` writes their text; `node`, `network`, `rpc` and `account` give the
values.
"""

from cfnode.node.metrics.figures import BrokerFigures, ProviderFigures
from cfnode.node.metrics.node import Identity, NodeMetrics

__all__ = ["BrokerFigures", "Identity", "NodeMetrics", "ProviderFigures"]
