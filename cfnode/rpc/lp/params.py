"""Readers of the parameters of `lp_*` methods, and their conversion to values of extrinsics.

The types are Chainflip's LP types. An amount is a number or hex. The method, not the reader, refuses an
amount that does not fit its type, as the official node does: with -32020 and texts of its own.
"""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.jsonrpc import RpcError
from cfnode.node.signing.account import WaitFor
from cfnode.node.signing.provider import MAX_CANCELLED_ORDERS
from cfnode.rpc.cf.params import TICK, one_of
from cfnode.rpc.table.broker_params import ASSET, OTHER_ERROR
from cfnode.rpc.table.convert import NUMBER_OR_HEX, U16, U64_MAX, U128_MAX, no_variant, read_hex_number
from cfnode.rpc.table.rows import Param, Reader
from cfnode.rpc.table.serde_types import Member, SerdeStruct, enum, sequence, untagged

__all__ = [
    "AMOUNT_CHANGE",
    "CLOSE_ORDERS",
    "OPTIONAL_TICK",
    "ORDER_ID",
    "PRICE_LIMITS",
    "SIDE",
    "SIZE",
    "SIZE_CHANGE",
    "WAIT_FOR",
    "amount_of",
    "changed_amount",
    "changed_size",
    "close_order",
    "fitting",
    "order_id",
    "size_of",
]

BAD_AMOUNT: Final = "Error parsing amount to u128. Please use a valid number or hex string as input."


def _read_side(value: Any) -> str:
    return str(_side(value)).capitalize()


def _read_wait(value: Any) -> WaitFor:
    return WaitFor(_wait(value))


def _pair(name: str) -> SerdeStruct:
    number: Member = (NUMBER_OR_HEX.read, False)
    return SerdeStruct(f"struct {name}", {"base": number, "quote": number})


_side: Final = one_of("buy", "sell", owner="Side").read
_wait: Final = one_of(*(wait.value for wait in WaitFor), owner="WaitFor").read
_amounts: Final = _pair("PoolPairsMap")
_size: Final = enum(
    "RangeOrderSizeJson",
    {
        "AssetAmounts": {"maximum": (_amounts, False), "minimum": (_amounts, False)},
        "Liquidity": {"liquidity": (NUMBER_OR_HEX.read, False)},
    },
)
_POOL_AND_ID: Final[dict[str, Member]] = {
    "base_asset": (ASSET.read, False),
    "quote_asset": (ASSET.read, False),
    "id": (NUMBER_OR_HEX.read, False),
}
_LIMIT: Final[dict[str, Member]] = {
    "base_asset": (ASSET.read, False),
    "quote_asset": (ASSET.read, False),
    "side": (_read_side, False),
    "id": (NUMBER_OR_HEX.read, False),
}
_close_order: Final = untagged(
    no_variant("CloseOrderJson").text,
    SerdeStruct("struct variant CloseOrderJson::Limit", _LIMIT),
    SerdeStruct("struct variant CloseOrderJson::Range", _POOL_AND_ID),
)

ORDER_ID: Final = Param("id", NUMBER_OR_HEX)
SIDE: Final = Param("side", Reader("buy|sell", _read_side))
SIZE: Final = Reader("{Liquidity} or {AssetAmounts}", _size)
SIZE_CHANGE: Final = Reader(
    "{increase} or {decrease}: size", enum("IncreaseOrDecrease", {"increase": _size, "decrease": _size})
)
AMOUNT_CHANGE: Final = Reader(
    "{increase} or {decrease}: number or hex",
    enum("IncreaseOrDecrease", {"increase": NUMBER_OR_HEX.read, "decrease": NUMBER_OR_HEX.read}),
)
WAIT_FOR: Final = Param(
    "wait_for", Reader("|".join(wait.value for wait in WaitFor), _read_wait), optional=True
)
CLOSE_ORDERS: Final = Param(
    "orders", Reader("[{base_asset, quote_asset, side?, id}]", sequence(_close_order, MAX_CANCELLED_ORDERS))
)
PRICE_LIMITS: Final = Reader(
    "{min_price, max_oracle_price_slippage?}",
    SerdeStruct(
        "struct PriceLimits",
        {"min_price": (read_hex_number, False), "max_oracle_price_slippage": (U16.read, True)},
    ),
)
OPTIONAL_TICK: Final = Param("tick", TICK, optional=True)


def fitting(value: int, maximum: int, refusal: str) -> int:
    """Return a number up to `maximum`. Raises RpcError with the official node's text for a larger one."""
    if value > maximum:
        raise RpcError(OTHER_ERROR, refusal)
    return value


def amount_of(value: int) -> int:
    """Return an amount of an asset. Raises RpcError."""
    return fitting(value, U128_MAX, BAD_AMOUNT)


def order_id(value: int) -> int:
    """Return the id of an order. Raises RpcError."""
    return fitting(value, U64_MAX, "Failed to convert order id to u64")


def size_of(value: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return a `RangeOrderSize`. Raises RpcError."""
    kind, members = value
    if kind == "Liquidity":
        refusal = "Failed to convert liquidity to u128"
        return kind, {"liquidity": fitting(members["liquidity"], U128_MAX, refusal)}
    return kind, {name: _both(members[name], f"Failed to convert {name}s to u128") for name in members}


def _both(pair: dict[str, int], refusal: str) -> dict[str, int]:
    return {side: fitting(amount, U128_MAX, refusal) for side, amount in pair.items()}


def changed_size(change: tuple[str, Any]) -> tuple[str, Any]:
    """Return the `IncreaseOrDecrease` of a range order's size. Raises RpcError."""
    return change[0].capitalize(), size_of(change[1])


def changed_amount(change: tuple[str, int]) -> tuple[str, int]:
    """Return the `IncreaseOrDecrease` of a limit order's amount. Raises RpcError."""
    return change[0].capitalize(), amount_of(change[1])


def close_order(order: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a `CloseOrder`: with a side a limit order, else a range order. Raises RpcError."""
    return "Limit" if "side" in order else "Range", order | {"id": order_id(order["id"])}
