"""Which methods does this node offer? The namespaces of every node, and those that hang on what it has."""

from __future__ import annotations

from typing import Any

from cfnode.rpc import system
from cfnode.rpc.table import Table


def table_for(node: Any) -> Table:
    """The table of one node."""
    return Table(system.METHODS)
