"""The method table of a node: the namespaces of every node, and those that its configuration adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from cfnode.rpc.broker import affairs as broker_affairs
from cfnode.rpc.broker import calls as broker
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.cf.streams import BROKER_STREAMS, LP_STREAMS
from cfnode.rpc.lp import account, channels, orders
from cfnode.rpc.substrate import author, chain, childstate, grandpa, offchain, payment, state, system
from cfnode.rpc.table.rows import Access, Method, Subscription, Table
from cfnode.rpc.v1 import archive, chain_head, chain_spec, transactions

if TYPE_CHECKING:
    from cfnode.node.node import Node

AnyMethod = Method | Subscription

EVERYWHERE: Final[tuple[AnyMethod, ...]] = (
    *system.METHODS,
    *chain.METHODS,
    *state.METHODS,
    *childstate.METHODS,
    *author.METHODS,
    *payment.METHODS,
    *grandpa.METHODS,
    *offchain.METHODS,
    *chain_spec.METHODS,
    *chain_head.METHODS,
    *transactions.METHODS,
    *CF,
    *MONITORING,
)
BROKER_METHODS: Final[tuple[AnyMethod, ...]] = tuple(
    replace(row, access=Access.BROKER)  # also those that only read: they belong to the operator's business
    for row in (*broker.METHODS, *broker_affairs.METHODS, *BROKER_STREAMS)
)
LP: Final[tuple[AnyMethod, ...]] = tuple(
    replace(row, access=Access.LP)
    for row in (*account.METHODS, *orders.METHODS, *channels.METHODS, *LP_STREAMS)
)


def table_for(node: Node, further: Iterable[AnyMethod] = ()) -> Table:
    """Return the table of one node; it has signing methods only with their key.

    `further`: methods of higher layers.
    """
    return with_list([*EVERYWHERE, *_of(node), *further])


def absent_for(node: Node) -> dict[str, str]:
    """Return by method name why this node lacks a method that other nodes offer."""
    kinds = ((BROKER_METHODS, node.broker, node.broker_missing), (LP, node.provider, node.provider_missing))
    return {name: reason for rows, client, reason in kinds if client is None for name in Table(rows).names}


def _of(node: Node) -> Iterator[AnyMethod]:
    if node.config.pruning.blocks is None and node.config.pruning.state is None:
        yield from archive.METHODS
    if node.broker is not None:
        yield from BROKER_METHODS
    if node.provider is not None:
        yield from LP


def with_list(rows: Iterable[AnyMethod]) -> Table:
    """Return a table of the rows and `rpc_methods`, which lists every name in the table."""
    names: list[str] = []

    def rpc_methods(node: Any) -> dict[str, list[str]]:
        """Return all method names, aliases included, sorted."""
        return {"methods": names}

    table = Table([*rows, Method("rpc_methods", rpc_methods)])
    names.extend(table.names)
    return table
