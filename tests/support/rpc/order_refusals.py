"""Orders that are refused, with the error of each."""

from __future__ import annotations

from typing import Any

from tests.support.rpc.assets import BTC, ETH, ETHER, USDC
from tests.support.rpc.providers import BOTH, NOW, ONE

WIDE = {"start": -200_000, "end": -190_000}

MANY = [{"base_asset": ETH, "quote_asset": USDC, "id": 1}] * 101
FAR = hex(2**64)
TOO_LARGE = hex(2**128)

REFUSED: list[tuple[str, list[Any], int, str]] = [
    ("lp_set_limit_order", [BTC, ETH, "sell", 1, 0, 1, None, NOW], -32024, "PoolDoesNotExist"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, None, hex(ETHER), None, NOW], -32024, "UnspecifiedOrderPrice"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 900_000, hex(ETHER), None, NOW], -32024, "InvalidTick"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0, hex(10**24), None, NOW], -32024, "InsufficientBalance"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0, 1, None, NOW], -32024, "BelowMinimumOrderAmount"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0, hex(ETHER), 1, NOW], -32024, "InvalidDispatchAt"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0, hex(ETHER), None, NOW, 1], -32024, "InvalidCloseOrderAt"),
    (
        "lp_set_limit_order",
        [*BOTH, "long", 1, 0, 1],
        -32602,
        "unknown variant `long`, expected `buy` or `sell`",
    ),
    ("lp_set_limit_order", [*BOTH, "sell", FAR, 0, 1], -32020, "Failed to convert order id to u64"),
    (
        "lp_set_limit_order",
        [*BOTH, "sell", -1, 0, 1],
        -32602,
        "did not match any variant of untagged enum Num",
    ),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0, TOO_LARGE], -32020, "Error parsing amount to u128."),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 2**31, 1], -32602, "invalid value: integer `2147483648`"),
    ("lp_set_limit_order", [*BOTH, "sell", 1, 0], -32602, "No more params"),
    (
        "lp_update_limit_order",
        [*BOTH, "sell", 1, 0, {"decrease": 1}, None, NOW],
        -32024,
        "OrderDoesNotExist",
    ),
    ("lp_update_limit_order", [*BOTH, "sell", 1, 0, {"Increase": 1}], -32602, "unknown variant `Increase`"),
    ("lp_update_limit_order", [*BOTH, "sell", 1, 0, {"increase": TOO_LARGE}], -32020, "Error parsing amount"),
    ("lp_set_range_order", [*BOTH, 1, None, ONE, NOW], -32024, "UnspecifiedOrderPrice"),
    (
        "lp_set_range_order",
        [*BOTH, 1, {"start": 10, "end": 5}, ONE, NOW],
        -32024,
        "InvalidTickRange",
    ),
    (
        "lp_set_range_order",
        [*BOTH, 1, WIDE, {"Liquidity": {"liquidity": TOO_LARGE}}],
        -32020,
        "Failed to convert liquidity to u128",
    ),
    (
        "lp_set_range_order",
        [
            *BOTH,
            1,
            WIDE,
            {
                "AssetAmounts": {
                    "maximum": {"base": 1, "quote": 1},
                    "minimum": {"base": TOO_LARGE, "quote": 1},
                }
            },
        ],
        -32020,
        "Failed to convert minimums to u128",
    ),
    (
        "lp_set_range_order",
        [
            *BOTH,
            1,
            {"start": -200_100, "end": -200_000},
            {
                "AssetAmounts": {
                    "maximum": {"base": 1, "quote": 1},
                    "minimum": {"base": 1, "quote": 1},
                }
            },
            NOW,
        ],
        -32024,
        "AssetRatioUnachievable",
    ),
    (
        "lp_set_range_order",
        [*BOTH, 1, WIDE, {"Size": 1}],
        -32602,
        "unknown variant `Size`, expected `AssetAm",
    ),
    (
        "lp_update_range_order",
        [*BOTH, 1, WIDE, {"decrease": ONE}, NOW],
        -32024,
        "OrderDoesNotExist",
    ),
    ("lp_cancel_orders_batch", [MANY], -32602, "out of bounds"),
    ("lp_cancel_orders_batch", [[{"base_asset": ETH}]], -32602, "untagged enum CloseOrderJson"),
    ("lp_cancel_orders_batch", [[{**MANY[0], "id": FAR}]], -32020, "Failed to convert order id to u64"),
    ("lp_cancel_orders_batch", [[{**MANY[0], "quote_asset": BTC}], NOW], -32024, "PoolDoesNotExist"),
]
