"""The `chainSpec_v1_*` methods: name, genesis hash and properties of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.rows import Method

if TYPE_CHECKING:
    from cfnode.node.node import Node


def chain_name(node: Node) -> str:
    """Return the chain's name."""
    return node.spec.name


def genesis_hash(node: Node) -> str:
    """Return the hash of block 0."""
    return to_hex(node.chain.genesis_hash)


def properties(node: Node) -> dict[str, Any]:
    """Return the chain's properties for wallets: token symbol, decimals and address prefix."""
    return dict(node.spec.properties)


METHODS: Final = (
    Method("chainSpec_v1_chainName", chain_name),
    Method("chainSpec_v1_genesisHash", genesis_hash),
    Method("chainSpec_v1_properties", properties),
)
