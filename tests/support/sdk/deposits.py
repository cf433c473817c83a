"""Requests for deposit channels, and the answer of a broker."""

from __future__ import annotations

from typing import Any

from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2

EVM = "0xa56A6be23b6Cf39D9448FF6e897C29c41c8fbDFF"
BTC = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
METHOD = "broker_request_swap_deposit_address"
OPENED = {
    "address": EVM,
    "issued_block": 5,
    "channel_id": 6,
    "source_chain_expiry_block": 7,
    "channel_opening_fee": "0x8",
}
FOK = {"refundAddress": EVM, "retryDurationBlocks": 10, "minPrice": "1"}
QUOTE = {
    "type": "REGULAR",
    "srcAsset": {"chain": "Ethereum", "asset": "ETH"},
    "destAsset": {"chain": "Bitcoin", "asset": "BTC"},
    "depositAmount": "1000",
    "egressAmount": "10",
    "estimatedPrice": "0.04",
}

V1 = {
    "srcChain": "Ethereum",
    "srcAsset": "ETH",
    "destChain": "Bitcoin",
    "destAsset": "BTC",
    "destAddress": BTC,
    "amount": "1000",
    "fillOrKillParams": FOK,
}


def request_v2(**changes: Any) -> RequestDepositAddressV2:
    """Return a channel request of version 2, with changes."""
    request = {"quote": QUOTE, "destAddress": BTC, "fillOrKillParams": FOK} | changes
    return RequestDepositAddressV2.from_json(
        {key: value for key, value in request.items() if value is not None}
    )


def request_v1(**changes: Any) -> RequestDepositAddress:
    """Return a channel request of version 1, with changes."""
    request = V1 | changes
    return RequestDepositAddress.from_json(
        {key: value for key, value in request.items() if value is not None}
    )
