"""`dev_snapshot` and `dev_revert`: a test leaves the chain as it was, as `evm_revert` does elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.devchain.chain import DevelopmentChain, development_chain
from cfnode.rpc.convert import excerpt, read_number_or_hex, to_hex
from cfnode.rpc.table import Access, Method, Param, Reader

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
        text = f'expected the number of a snapshot, as dev_snapshot gives it ("0x1"), got {excerpt(value)}'
        raise ValueError(text) from None


async def snapshot(node: Node) -> str:
    """Remember the chain as it is; the snapshot's number.

    Blocks, finality, the pool, the clock, and what a test has set.
    """
    return hex(await _dev(node).snapshots.take())


async def revert(node: Node, number: int) -> str:
    """Be again what the chain was; its best block's hash. That snapshot and all later ones are used up."""
    await _dev(node).snapshots.revert(number)
    await _dev(node).swaps.up_to_date()
    return to_hex(node.chain.best.hash)


SNAPSHOT: Final = Reader("number or hex", _read_snapshot)

METHODS: Final = (
    Method("dev_snapshot", snapshot, access=Access.UNSAFE),
    Method("dev_revert", revert, params=(Param("snapshot", SNAPSHOT),), access=Access.UNSAFE),
)
