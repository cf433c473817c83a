"""Many requests for deposit addresses."""

from __future__ import annotations

from typing import Any

EVM_ADDRESS = "0x" + "11" * 20
REQUEST = {
    "source_asset": {"chain": "Ethereum", "asset": "ETH"},
    "destination_asset": {"chain": "Ethereum", "asset": "USDC"},
    "destination_address": EVM_ADDRESS,
    "broker_commission": 10,
    "refund_parameters": {"retry_duration": 10, "min_price": "0x0", "refund_address": EVM_ADDRESS},
}
EACH = 100


def requests(first: int) -> list[dict[str, Any]]:
    """Return requests for deposit addresses, with consecutive ids."""
    method = "broker_requestSwapDepositAddress"
    return [
        {"jsonrpc": "2.0", "id": first + number, "method": method, "params": REQUEST}
        for number in range(EACH)
    ]
