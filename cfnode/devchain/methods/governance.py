"""`dev_*` methods that change the protocol: liquidity, governance calls, upgrades, epochs and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.jsonrpc import InvalidParams
from cfnode.devchain.methods.common import block_hash_of, control_of, unsafe_methods
from cfnode.devchain.methods.metadata_reader import read_call
from cfnode.devchain.methods.values import ASSET
from cfnode.devchain.runtime.release_names import RELEASE_NAMES
from cfnode.rpc.cf.params import one_of
from cfnode.rpc.table.convert import (
    AMOUNT,
    BOOL,
    TEXT,
    excerpt,
    to_hex,
)
from cfnode.rpc.table.rows import Param, Reader

if TYPE_CHECKING:
    from cfnode.node.node import Node


def _read_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {excerpt(value)}")
    return value


async def set_boost(node: Node, asset: str, amount: int, lending: bool | None) -> str:
    """Set the amount (smallest unit) in an asset's boost pool or lending pool; returns the block's hash."""
    return block_hash_of(await control_of(node).set_boost_depth(asset, amount, lending=bool(lending)))


async def set_pool(node: Node, asset: str, price: int | None, depth: int | None) -> str:
    """Refill a pool: price of a whole unit, and USDC in it, in microdollars; returns the block's hash."""
    return block_hash_of(await control_of(node).set_pool(asset, price, depth))


async def govern(node: Node, pallet: str, name: str, arguments: dict[str, Any] | None) -> str:
    """Dispatch a governance call, with arguments by their names in the metadata; returns the block's hash."""
    metadata = (await node.chain.runtime_at(node.chain.best.hash)).metadata
    try:
        call = read_call(metadata, pallet, name, arguments or {})
    except ValueError as error:
        raise InvalidParams(str(error)) from None
    return block_hash_of(await control_of(node).as_governance(call))


async def upgrade(node: Node, release: str) -> str:
    """Replace the runtime by another release, which runs from the next block on; returns the block's hash."""
    return block_hash_of(await control_of(node).upgrade(release))


async def next_epoch(node: Node) -> str:
    """Begin the next epoch, with the present keys; returns the hash of its first block."""
    return to_hex((await control_of(node).next_epoch()).hash)


async def rotate(node: Node) -> dict[str, Any]:
    """Rotate all vaults' keys; returns the new `epoch`, its first `block` (hash), the EVM `transactions`.

    Each transaction has `chain`, `broadcast_id`, `contract` (the key manager) and `data` (signed by the old
    key).
    """
    rotation = await control_of(node).rotate()
    assert rotation.block is not None
    transactions = [
        {
            "chain": call.chain,
            "broadcast_id": call.broadcast_id,
            "contract": to_hex(call.contract),
            "data": to_hex(call.data),
        }
        for call in rotation.calls
    ]
    return {"block": to_hex(rotation.block.hash), "epoch": rotation.epoch, "transactions": transactions}


OBJECT: Final = Reader("object", _read_object)

METHODS: Final = unsafe_methods(
    (
        "dev_setBoost",
        set_boost,
        (Param("asset", ASSET), Param("amount", AMOUNT), Param("lending", BOOL, optional=True)),
    ),
    (
        "dev_setPool",
        set_pool,
        (
            Param("asset", ASSET),
            Param("price", AMOUNT, optional=True),
            Param("depth", AMOUNT, optional=True),
        ),
    ),
    (
        "dev_govern",
        govern,
        (Param("pallet", TEXT), Param("call", TEXT), Param("arguments", OBJECT, optional=True)),
    ),
    ("dev_upgrade", upgrade, (Param("release", one_of(*RELEASE_NAMES)),)),
    ("dev_nextEpoch", next_epoch, ()),
    ("dev_rotate", rotate, ()),
)
