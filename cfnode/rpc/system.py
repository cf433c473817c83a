"""The `system_*` methods: what this node is, and how it is doing."""

from __future__ import annotations

from cfnode.rpc.dispatch import Health, ServedNode
from cfnode.rpc.table import Method


def health(node: ServedNode) -> Health:
    """Peers, whether it is still syncing, and whether it should have peers."""
    return node.health()


METHODS = (Method("system_health", health),)
