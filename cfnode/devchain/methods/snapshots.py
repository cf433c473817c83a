"""`dev_snapshot` and `dev_revert`, by which a test restores the chain, as `evm_revert` on other chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.devchain.chain import DevelopmentChain, development_chain
from cfnode.rpc.table.convert import excerpt, read_number_or_hex, to_hex
from cfnode.rpc.table.rows import Access, Method, Param, Reader

if TYPE_CHECKING:
    from cfnode.node.node import Node


def _dev(node: Node) -> DevelopmentChain:
    dev = development_chain(node)
    assert dev is not None  # the rows are in the table only then
    return dev


def _read_snapshot(value: Any) -> int:
    try:
        return read_number_or_hex(value)
    except ValueError:
        text = f'expected the number of a snapshot from dev_snapshot ("0x1"), got {excerpt(value)}'
        raise ValueError(text) from None


async def snapshot(node: Node) -> str:
    """Take a snapshot of the chain; returns its number.

    It contains blocks, finality, the pool, the clock, and the settings of a test.
    """
    return hex(await _dev(node).snapshots.take())


async def revert(node: Node, number: int) -> str:
    """Revert the chain to a snapshot, and delete it and all later ones; returns the best block's hash."""
    await _dev(node).snapshots.revert(number)
    await _dev(node).swaps.up_to_date()
    return to_hex(node.chain.best.hash)


SNAPSHOT: Final = Reader("number or hex", _read_snapshot)

METHODS: Final = (
    Method("dev_snapshot", snapshot, access=Access.UNSAFE),
    Method("dev_revert", revert, params=(Param("snapshot", SNAPSHOT),), access=Access.UNSAFE),
)
