"""Assets, amounts, addresses and refund terms of JSON-RPC calls."""

from __future__ import annotations

from typing import Any

ETH = {"chain": "Ethereum", "asset": "ETH"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
EVM_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BTC_ADDRESS = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"

REFUND = {"retry_duration": 10, "refund_address": EVM_ADDRESS, "min_price": "0x0"}


def refund_to(address: str) -> dict[str, Any]:
    """Return refund parameters with this address."""
    return REFUND | {"refund_address": address}


USDC = {"chain": "Ethereum", "asset": "USDC"}


ETHER, DOLLAR = 10**18, 10**6
