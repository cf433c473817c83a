"""What is the state of an egress, the output that a swap sends?

An egress is part of a broadcast, which succeeds or is aborted; an aborted one may still succeed later. A
transfer in a successful broadcast may have failed at its receiver; then there is a fallback call that anyone
may submit.
"""

from __future__ import annotations

from typing import Any, Final

import base58

from cfnode.core.assets import ASSETS
from cfnode.swap_service.entries import Entry
from cfnode.swap_service.source import SwapRecord

__all__ = ["egress", "failure", "ignored", "is_sent", "transaction_reference"]

_SUCCESS: Final = ("BroadcastSuccess",)
_ENDS: Final = (*_SUCCESS, "BroadcastAborted")
_PAYLOADS: Final = ("TransactionBroadcastRequest", "CallResigned")
_REQUESTED: Final = ("BatchBroadcastRequested", "CcmBroadcastRequested")
ABORTED: Final = ("BroadcastAborted", "The swap broadcast was aborted")
NOT_TAKEN: Final = ("TransferFallbackRequested", "The receiver did not take the transfer")


def egress(record: SwapRecord, scheduled: Entry, receiver: Any) -> dict[str, Any]:
    """An egress (SwapEgressScheduled or RefundEgressScheduled) to `receiver`, an encoded address."""
    fields = scheduled.fields
    result = _scheduled(scheduled)
    requested = _first(record.find("egress", *fields["egress_id"]), _REQUESTED)
    if requested is None:
        return result
    about = record.find("broadcast", requested.chain, requested.fields["broadcast_id"])
    end = _first(about, _SUCCESS) or _first(about, _ENDS)
    if end is None:
        return result
    if end.name == "BroadcastAborted":
        return result | _failed(end, ABORTED, about)
    fallback = _fallback(record, end, fields["asset"], receiver, fields["amount"])
    if fallback is not None:
        again = record.find("broadcast", fallback.chain, fallback.fields["broadcast_id"])
        return result | _failed(fallback, NOT_TAKEN, again)
    seen = {"witnessedAt": end.time, "witnessedBlockIndex": end.block_index}
    return result | {"txRef": transaction_reference(end.chain, end.fields["transaction_ref"])} | seen


def is_sent(record: SwapRecord, scheduled: Entry) -> bool:
    """Whether the egress's transaction has at least been signed and passed to its sender."""
    requested = _first(record.find("egress", *scheduled.fields["egress_id"]), _REQUESTED)
    if requested is None:
        return False
    about = record.find("broadcast", requested.chain, requested.fields["broadcast_id"])
    return _first(about, ("TransactionBroadcastRequest", *_ENDS)) is not None


def ignored(record: SwapRecord, entry: Entry) -> dict[str, Any]:
    """An egress below its fee: SwapEgressIgnored or RefundEgressIgnored."""
    side = "SWAP" if entry.name.startswith("Swap") else "REFUND"
    return _scheduled(entry) | failure(entry, f"{side}_OUTPUT_TOO_SMALL", *record.error(entry))


def failure(entry: Entry, mode: str, name: str, message: str) -> dict[str, Any]:
    """When, where and why something failed."""
    when = {"failedAt": entry.time, "failedBlockIndex": entry.block_index}
    return {**when, "failure": {**when, "mode": mode, "reason": {"name": name, "message": message}}}


def transaction_reference(chain: str, reference: Any) -> str:
    """A transaction's id as in explorers of its chain."""
    if isinstance(reference, dict):
        return f"{reference['block_number']}-{reference['extrinsic_index']}"
    if chain == "Bitcoin":
        return str(reference[::-1].hex())
    return base58.b58encode(reference).decode() if chain == "Solana" else f"0x{reference.hex()}"


def _scheduled(entry: Entry) -> dict[str, Any]:
    amount = str(entry.fields["amount"])
    return {"amount": amount, "scheduledAt": entry.time, "scheduledBlockIndex": entry.block_index}


def _failed(entry: Entry, reason: tuple[str, str], about: list[Entry]) -> dict[str, Any]:
    result = failure(entry, "SENDING_FAILED", *reason)
    found = [each for each in about if each.name in _PAYLOADS]
    payload = found[-1].fields["transaction_payload"] if found else None
    if isinstance(payload, dict) and "chain_id" in payload:
        result["transactionPayload"] = {
            "contract": f"0x{payload['contract'].hex()}",
            "value": str(payload["value"]),
            "chainId": str(payload["chain_id"]),
            "data": f"0x{payload['data'].hex()}",
        }
    return result


def _fallback(record: SwapRecord, end: Entry, asset: str, receiver: Any, amount: int) -> Entry | None:
    """The fallback of a transfer, which is requested in the block of its broadcast's success."""
    if ASSETS[asset].chain != end.chain:
        return None
    found = record.find("fallback", asset, receiver, amount)
    return next((each for each in found if each.block == end.block), None)


def _first(entries: list[Entry], names: tuple[str, ...]) -> Entry | None:
    return next((each for each in entries if each.name in names), None)
