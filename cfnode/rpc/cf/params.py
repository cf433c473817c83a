"""Readers of the parameters of `cf_*` methods."""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.assets import CHAINS
from cfnode.rpc.table.broker_params import ASSET
from cfnode.rpc.table.convert import (
    ACCOUNT,
    U32,
    U128_MAX,
    bounded_integer,
    fixed_hex,
    listed,
    read_hex_number,
    read_u128,
)
from cfnode.rpc.table.rows import Param, Reader
from cfnode.rpc.table.runtime_names import enum_of_chains
from cfnode.rpc.table.serde import JsonPosition, Misread, invalid_type
from cfnode.rpc.table.serde_types import SerdeStruct, enum, sequence, tuple_of

__all__ = [
    "ACCOUNT_ID",
    "ADDITIONAL_ORDERS",
    "ADDRESS20",
    "BASE",
    "BROKER_PARAM",
    "BYTE_NUMBERS",
    "CCM_DATA",
    "CHAIN_PARAM",
    "EXCLUDE_FEES",
    "FROM",
    "PRICE_PAIR",
    "QUOTE_ASSET_PARAM",
    "ROLES",
    "TICK",
    "TICK_RANGE",
    "TO",
    "U256",
    "one_of",
]

MAX_ADDITIONAL_ORDERS: Final = 256
MAX_BYTE_NUMBERS: Final = 1_000_000
MAX_EXCLUDED_FEES: Final = 8
MAX_I32: Final = 2**31 - 1


def one_of(*names: str, owner: str = "") -> Reader:
    """Return the reader of one of these names."""
    return Reader("|".join(names), enum(owner, dict.fromkeys(names)))


_read_byte: Final = bounded_integer(255)


def _read_bytes(value: Any) -> bytes:
    """Read bytes as an array of numbers."""
    if not isinstance(value, list):
        raise invalid_type(value, "a sequence")
    if len(value) > MAX_BYTE_NUMBERS:
        raise ValueError(f"expected an array of at most {MAX_BYTE_NUMBERS} bytes, got {len(value)}")
    if set(map(type, value)) <= {int} and min(value, default=0) >= 0 and max(value, default=0) <= 255:
        return bytes(value)
    return bytes(sequence(_read_byte, MAX_BYTE_NUMBERS)(value))


_TICK: Final = bounded_integer(MAX_I32, -MAX_I32 - 1)
TICK: Final = Reader("i32", _TICK)
_side: Final = one_of("buy", "sell").read


def _read_sell_amount(value: Any) -> int:
    """Read an amount; one beyond u128 counts as the largest u128."""
    return min(read_hex_number(value), U128_MAX)


_read_order: Final = enum(
    "SwapRateV2AdditionalOrder",
    {
        "LimitOrder": {
            "base_asset": (ASSET.read, False),
            "quote_asset": (ASSET.read, False),
            "side": (lambda value: str(_side(value)).capitalize(), False),
            "tick": (_TICK, False),
            "sell_amount": (_read_sell_amount, False),
        }
    },
)


def _read_budget(value: Any) -> int:
    try:
        return read_u128(value)
    except Misread as error:
        is_fraction = error.place is JsonPosition.DIGITS
        raise Misread("expected `,` or `}`" if is_fraction else error.text, error.place) from None


_FEES: Final = "Network", "IngressDepositChannel", "Egress", "IngressVaultSwap"


def _read_fees(value: Any) -> list[str]:
    """Read a set of fees, in the order of its type."""
    return sorted(set(listed(one_of(*_FEES), MAX_EXCLUDED_FEES).read(value)), key=_FEES.index)


PRICE_ASSET: Final = one_of("Btc", "Eth", "Sol", "Usdc", "Usdt", "Usd", "Fine")
U256: Final = Reader("U256 hex", read_hex_number)

ACCOUNT_ID: Final = Param("account_id", ACCOUNT)
BROKER_PARAM: Final = Param("broker", ACCOUNT)
BASE: Final = Param("base_asset", ASSET)
QUOTE_ASSET_PARAM: Final = Param("quote_asset", ASSET)
FROM: Final = Param("from_asset", ASSET)
TO: Final = Param("to_asset", ASSET)
CHAIN_PARAM: Final = Param("chain", Reader("|".join(CHAINS), enum_of_chains(enum, "", dict.fromkeys(CHAINS))))
TICK_RANGE: Final = Param(
    "tick_range",
    Reader(
        "{start, end}",
        SerdeStruct("struct Range", {"start": (_TICK, False), "end": (_TICK, False)}, is_range=True),
    ),
)
BYTE_NUMBERS: Final = Reader("[byte]", _read_bytes)
ADDRESS20: Final = Reader("20 bytes of hex", fixed_hex(20))
ROLES: Final = listed(one_of("Unregistered", "Validator", "LiquidityProvider", "Broker", "Operator"), 16)
CCM_DATA: Final = Reader(
    "{gas_budget, message_length}",
    SerdeStruct("struct CcmData", {"gas_budget": (_read_budget, False), "message_length": (U32.read, False)}),
)
EXCLUDE_FEES: Final = Reader(f"[{'|'.join(_FEES)}]", _read_fees)
ADDITIONAL_ORDERS: Final = listed(Reader("{LimitOrder}", _read_order), MAX_ADDITIONAL_ORDERS)
PRICE_PAIR: Final = Reader("[price asset, price asset]", tuple_of(PRICE_ASSET.read, PRICE_ASSET.read))
