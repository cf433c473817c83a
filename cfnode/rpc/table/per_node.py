"""Objects that the clients of one node share: limits of concurrent work, and texts that are encoded once.

A process may run several nodes, as tests do. Clients of one node then neither wait for clients of another
one, nor displace what is cached for them. A module declares what it needs as a `PerNode`; the object is built
for the first client of a node that needs it, and it ends with the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from cfnode.node.chain.chain import NodeChain
    from cfnode.node.node import Node

__all__ = ["PerNode"]

T = TypeVar("T")


class PerNode(Generic[T]):
    """One object for each node, built by `make`."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._by_chain: WeakKeyDictionary[NodeChain, T] = WeakKeyDictionary()

    def of(self, node: Node) -> T:
        """Return the object of this node."""
        instance = self._by_chain.get(node.chain)
        if instance is None:
            instance = self._by_chain[node.chain] = self._make()
        return instance
