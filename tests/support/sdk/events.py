"""Events of swaps and their payouts, as a recovery reads them."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AMOUNT",
    "INGRESS",
    "OTHER",
    "RECEIVER",
    "SWAPPING",
    "Named",
    "aborted",
    "batch",
    "egress",
    "fallback",
]
__all__ += ["message", "request", "success"]

RECEIVER, OTHER = b"\xaa" * 20, b"\xbb" * 20
AMOUNT = 10**18
SWAPPING, INGRESS, BROADCASTER = "Swapping", "EthereumIngressEgress", "EthereumBroadcaster"
Named = tuple[int, str, str, dict[str, Any]]
"""Block, pallet, name and fields of an event."""


def request(block: int, number: int, receiver: bytes = RECEIVER) -> Named:
    """Return the event of a swap request from a channel."""
    origin = "DepositChannel", {"channel_id": number, "deposit_address": ("Btc", b"%d" % number)}
    fields = {"swap_request_id": number, "input_asset": "Btc", "origin": origin}
    return block, SWAPPING, "SwapRequested", fields | {"output_address": ("Eth", receiver)}


def egress(block: int, number: int, swap: int, name: str = "SwapEgressScheduled", **more: Any) -> Named:
    """Return the event of a scheduled egress."""
    fields = {"egress_id": ("Ethereum", number), "swap_request_id": swap, "asset": "Eth", "amount": AMOUNT}
    return block, SWAPPING, name, fields | more


def batch(block: int, number: int, *egresses: int) -> Named:
    """Return the event of a requested batch."""
    ids = [("Ethereum", egress) for egress in egresses]
    return block, INGRESS, "BatchBroadcastRequested", {"broadcast_id": number, "egress_ids": ids}


def message(block: int, number: int, egress: int) -> Named:
    """Return the event of a requested message."""
    fields = {"broadcast_id": number, "egress_id": ("Ethereum", egress)}
    return block, INGRESS, "CcmBroadcastRequested", fields


def success(block: int, number: int) -> Named:
    """Return the event of a broadcast that succeeded."""
    fields = {"broadcast_id": number, "transaction_ref": bytes([number]) * 32}
    return block, BROADCASTER, "BroadcastSuccess", fields


def aborted(block: int, number: int) -> Named:
    """Return the event of an aborted broadcast."""
    return block, BROADCASTER, "BroadcastAborted", {"broadcast_id": number}


def fallback(block: int, number: int, receiver: bytes = RECEIVER, amount: int = AMOUNT) -> Named:
    """Return the event of a transfer that its receiver did not take."""
    fields = {"broadcast_id": number, "asset": "Eth", "amount": amount, "destination_address": receiver}
    return block, INGRESS, "TransferFallbackRequested", fields
