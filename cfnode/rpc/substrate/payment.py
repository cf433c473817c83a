"""The `payment_*` methods: the cost of an extrinsic (Substrate, `pallet-transaction-payment-rpc`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.scale import ByteCursor
from cfnode.rpc.table.blocks import AT, ask_runtime
from cfnode.rpc.table.convert import BYTES
from cfnode.rpc.table.extrinsics import read_extrinsic
from cfnode.rpc.table.rows import Method, Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

_UNABLE: Final = {
    "query_info": "Unable to query dispatch info.",
    "query_fee_details": "Unable to query fee details.",
}
CLASSES: Final = ("normal", "operational", "mandatory")


async def query_info(node: Node, extrinsic: bytes, at: bytes | None) -> dict[str, Any]:
    """Return weight, class and fee of an extrinsic."""
    cursor = ByteCursor(await _ask(node, "query_info", extrinsic, at))
    weight = {"ref_time": cursor.compact(), "proof_size": cursor.compact()}
    kind = CLASSES[cursor.u8()]
    return {"weight": weight, "class": kind, "partialFee": str(cursor.u128())}


async def query_fee_details(node: Node, extrinsic: bytes, at: bytes | None) -> dict[str, Any]:
    """Return the parts of an extrinsic's fee; `inclusionFee` is null for one that pays none."""
    cursor = ByteCursor(await _ask(node, "query_fee_details", extrinsic, at))
    if not cursor.boolean():
        return {"inclusionFee": None}
    names = ("baseFee", "lenFee", "adjustedWeightFee")
    return {"inclusionFee": {name: hex(cursor.u128()) for name in names}}


async def _ask(node: Node, function: str, extrinsic: bytes, at: bytes | None) -> bytes:
    encoded = read_extrinsic(extrinsic, _UNABLE[function])
    args = encoded + len(extrinsic).to_bytes(4, "little")
    return await ask_runtime(node, at, f"TransactionPaymentApi_{function}", args)


PARAMS: Final = (Param("encoded_xt", BYTES), AT)

METHODS: Final = (
    Method("payment_queryInfo", query_info, params=PARAMS),
    Method("payment_queryFeeDetails", query_fee_details, params=PARAMS),
)
