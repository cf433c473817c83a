"""The chain's controls for handlers of `dev_*` methods, and the methods' rows in the table, all unsafe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cfnode.devchain.chain import development_chain
from cfnode.devchain.control import DevControl
from cfnode.node.signing.outcome import Inclusion
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.rows import Access, Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["block_hash_of", "control_of", "unsafe_methods"]


def control_of(node: Node) -> DevControl:
    """Return the controls of the chain that the node makes."""
    chain = development_chain(node)
    assert chain is not None  # the rows are in the table only then
    return chain.control


def block_hash_of(inclusion: Inclusion) -> str:
    """Return the hash of the block that includes a transaction, hex."""
    return to_hex(inclusion.block.hash)


def unsafe_methods(*entries: tuple[str, Callable[..., Any], tuple[Param, ...]]) -> tuple[Method, ...]:
    """Return rows of the method table from names, handlers and parameters; all methods are unsafe."""
    return tuple(
        Method(name, handler, params=params, access=Access.UNSAFE) for name, handler, params in entries
    )
