"""What do the parameters of `cf_*` methods look like? The readers that only they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cfnode.core.assets import CHAINS
from cfnode.rpc.broker_params import ASSET
from cfnode.rpc.convert import (
    ACCOUNT,
    U32,
    U128,
    U128_MAX,
    bounded_integer,
    fixed_hex,
    listed,
    read_hex_number,
    read_members,
    shown,
)
from cfnode.rpc.table import Param, Reader

__all__ = [
    "ACCOUNT_ID",
    "ADDITIONAL_ORDERS",
    "ADDRESS20",
    "BASE",
    "BROKER",
    "BYTE_NUMBERS",
    "CCM_DATA",
    "CHAIN",
    "EXCLUDE_FEES",
    "FROM",
    "PRICE_PAIR",
    "QUOTE",
    "ROLES",
    "TICK_RANGE",
    "TO",
    "U256",
    "members",
    "one_of",
]

MAX_ORDERS: Final = 256
MAX_BYTES: Final = 1_000_000
MAX_TICK: Final = 2**31 - 1


def one_of(*names: str) -> Reader:
    """One of these words."""

    def read(value: Any) -> str:
        if value not in names or not isinstance(value, str):
            expected = ", ".join(f"`{name}`" for name in names)
            raise ValueError(f"unknown variant {shown(value)}, expected one of {expected}")
        return value

    return Reader("|".join(names), read)


def _read_bytes(value: Any) -> bytes:
    if not isinstance(value, list) or len(value) > MAX_BYTES:
        raise ValueError(f"expected an array of at most {MAX_BYTES} bytes, got {shown(value)}")
    try:
        return bytes(value)
    except (TypeError, ValueError):
        raise ValueError("expected an array of numbers from 0 to 255") from None


def members(**readers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An object with these members, all of them required."""
    return lambda value: read_members(value, {name: (read, False) for name, read in readers.items()})


_TICK: Final = bounded_integer(MAX_TICK, -MAX_TICK - 1)
_SIDES: Final = {"buy": "Buy", "sell": "Sell"}


def _read_side(value: Any) -> str:
    return _SIDES[one_of(*_SIDES).read(value)]


_LIMIT_ORDER: Final = members(
    base_asset=ASSET.read,
    quote_asset=ASSET.read,
    side=_read_side,
    tick=_TICK,
    sell_amount=lambda value: min(read_hex_number(value), U128_MAX),
)


def _read_order(value: Any) -> tuple[str, Any]:
    return "LimitOrder", members(LimitOrder=_LIMIT_ORDER)(value)["LimitOrder"]


def _read_pair(value: Any) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"expected two assets, got {shown(value)}")
    first, second = (PRICE_ASSET.read(entry) for entry in value)
    return first, second


PRICE_ASSET: Final = one_of("Btc", "Eth", "Sol", "Usdc", "Usdt", "Usd", "Fine")
U256: Final = Reader("U256 hex", read_hex_number)

ACCOUNT_ID: Final = Param("account_id", ACCOUNT)
BROKER: Final = Param("broker", ACCOUNT)
BASE: Final = Param("base_asset", ASSET)
QUOTE: Final = Param("quote_asset", ASSET)
FROM: Final = Param("from_asset", ASSET)
TO: Final = Param("to_asset", ASSET)
CHAIN: Final = Param("chain", one_of(*CHAINS))
TICK_RANGE: Final = Param("tick_range", Reader("{start, end}", members(start=_TICK, end=_TICK)))
BYTE_NUMBERS: Final = Reader("[byte]", _read_bytes)
ADDRESS20: Final = Reader("20 bytes of hex", fixed_hex(20))
ROLES: Final = listed(one_of("Unregistered", "Validator", "LiquidityProvider", "Broker", "Operator"), 16)
CCM_DATA: Final = Reader(
    "{gas_budget, message_length}", members(gas_budget=U128.read, message_length=U32.read)
)
EXCLUDE_FEES: Final = listed(one_of("Network", "IngressDepositChannel", "Egress", "IngressVaultSwap"), 8)
ADDITIONAL_ORDERS: Final = listed(Reader("{LimitOrder}", _read_order), MAX_ORDERS)
PRICE_PAIR: Final = Reader("[price asset, price asset]", _read_pair)
