"""Calls of a liquidity provider that are refused, with the error of each."""

from __future__ import annotations

from typing import Any

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS, USDC

OTHER = Keypair.from_suri("//Other")

TOO_LARGE = hex(2**128)
REFUSED: list[tuple[str, list[Any], int, str]] = [
    ("lp_withdraw_asset", [0, ETH, EVM_ADDRESS], -32020, "Withdrawal amount must be greater than 0"),
    ("lp_withdraw_asset", [1, ETH, "zz"], -32020, "Invalid hex"),
    ("lp_withdraw_asset", [1, BTC, EVM_ADDRESS], -32024, "InvalidEgressAddress"),
    ("lp_withdraw_asset", [TOO_LARGE, ETH, EVM_ADDRESS], -32020, "Error parsing amount to u128. Please use"),
    ("lp_withdraw_asset", [hex(2**100), ETH, EVM_ADDRESS, "InBlock"], -32024, "InsufficientBalance"),
    ("lp_withdraw_asset", [1, ETH, EVM_ADDRESS, "Later"], -32602, "unknown variant `Later`, expected one of"),
    ("lp_transfer_asset", [0, ETH, EVM_ADDRESS], -32602, "Base 58 requirement is violated"),
    ("lp_transfer_asset", [0, ETH, ss58.encode(OTHER.account)], -32020, "Amount must be greater than 0"),
    (
        "lp_transfer_asset",
        [TOO_LARGE, ETH, ss58.encode(OTHER.account)],
        -32020,
        "Failed to convert amount to u128",
    ),
    ("lp_register_liquidity_refund_address", ["Ethereum", BTC_ADDRESS], -32020, "Invalid hex"),
    ("lp_register_liquidity_refund_address", ["Moon", EVM_ADDRESS], -32602, "unknown variant `Moon`"),
    ("lp_schedule_swap", [1, ETH, USDC, 5, {"min_price": 5}], -32602, "invalid type: integer `5`"),
    (
        "lp_schedule_swap",
        [1, ETH, USDC, 5, {"min_price": "0x0"}],
        -32024,
        "InternalSwapBelowMinimumDepositAmount",
    ),
    ("lp_request_redemption", ["0x12"], -32602, "invalid length 2, expected"),
    ("lp_request_redemption", [EVM_ADDRESS, TOO_LARGE], -32020, "Error parsing amount to u128"),
    ("lp_request_liquidity_deposit_address_v2", [ETH, 70_000], -32602, "invalid value: integer `70000`"),
]
