"""Status of a swap in version 1: that of version 2, flattened, with other names for members and states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["flat_status"]

_STATES: Final = {
    "WAITING": "AWAITING_DEPOSIT",
    "RECEIVING": "AWAITING_DEPOSIT",
    "SWAPPING": "DEPOSIT_RECEIVED",
    "SENDING": "EGRESS_SCHEDULED",
    "SENT": "BROADCASTED",
    "COMPLETED": "COMPLETE",
    "FAILED": "FAILED",
}
_SAME: Final = (
    "swapId", "srcAsset", "srcChain", "destAsset", "destChain", "destAddress", "ccmParams",
    "srcChainRequiredBlockConfirmations", "estimatedDurationsSeconds", "estimatedDurationSeconds",
    "fillOrKillParams", "dcaParams", "lastStatechainUpdateAt",
)  # fmt: skip
_OF_CHANNEL: Final = {
    "id": "depositChannelId",
    "depositAddress": "depositAddress",
    "createdAt": "depositChannelCreatedAt",
    "brokerCommissionBps": "depositChannelBrokerCommissionBps",
    "affiliateBrokers": "depositChannelAffiliateBrokers",
    "expectedDepositAmount": "expectedDepositAmount",
    "srcChainExpiryBlock": "depositChannelExpiryBlock",
    "estimatedExpiryTime": "estimatedDepositChannelExpiryTime",
    "isExpired": "isDepositChannelExpired",
    "openedThroughBackend": "depositChannelOpenedThroughBackend",
}
_OF_DEPOSIT: Final = {
    "amount": "depositAmount",
    "txRef": "depositTransactionRef",
    "witnessedAt": "depositReceivedAt",
    "witnessedBlockIndex": "depositReceivedBlockIndex",
}
_OF_CHUNK: Final = {
    "intermediateAmount": "intermediateAmount",
    "scheduledAt": "swapScheduledAt",
    "scheduledBlockIndex": "swapScheduledBlockIndex",
    "executedAt": "swapExecutedAt",
    "executedBlockIndex": "swapExecutedBlockIndex",
}
_OF_EGRESS: Final = {
    "amount": "egressAmount",
    "scheduledAt": "egressScheduledAt",
    "scheduledBlockIndex": "egressScheduledBlockIndex",
    "txRef": "broadcastTransactionRef",
    "witnessedAt": "broadcastSucceededAt",
    "witnessedBlockIndex": "broadcastSucceededBlockIndex",
    "failedAt": "broadcastAbortedAt",
    "failedBlockIndex": "broadcastAbortedBlockIndex",
}
_FAILURES: Final = {
    "DEPOSIT_IGNORED": "INGRESS_IGNORED",
    "SWAP_OUTPUT_TOO_SMALL": "EGRESS_IGNORED",
    "REFUND_OUTPUT_TOO_SMALL": "REFUND_EGRESS_IGNORED",
}


def flat_status(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of version 1 that a status of version 2 becomes."""
    status: dict[str, Any] = {"state": _state(nested)}
    status |= {name: nested[name] for name in _SAME if name in nested}
    channel = nested.get("depositChannel", {})
    status |= _renamed(channel, _OF_CHANNEL)
    if channel:
        status["depositChannelMaxBoostFeeBps"] = nested.get("boost", {}).get("maxBoostFeeBps", 0)
    status["feesPaid"] = nested["fees"]
    status |= _renamed(nested.get("deposit", {}), _OF_DEPOSIT)
    swap = nested.get("swap", {})
    chunk = swap.get("regular") or swap.get("dca", {}).get("lastExecutedChunk") or {}
    status |= _renamed(chunk, _OF_CHUNK)
    for name, kind in (("swapEgress", "SWAP"), ("refundEgress", "REFUND")):
        if name in nested and "egressType" not in status:
            status |= {"egressType": kind, **_renamed(nested[name], _OF_EGRESS)}
    failure = _failure(nested)
    if failure is not None and failure["mode"] in _FAILURES:
        reason = failure["reason"]
        status |= {"failure": _FAILURES[failure["mode"]], "error": reason, "failedAt": failure["failedAt"]}
        status["failedBlockIndex"] = failure["failedBlockIndex"]
    return status


def _renamed(members: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {new: members[old] for old, new in names.items() if old in members}


def _state(nested: Mapping[str, Any]) -> str:
    failure = _failure(nested)
    if failure is not None and failure["mode"] == "SENDING_FAILED":
        return "BROADCAST_ABORTED"
    chunk = nested.get("swap", {}).get("regular", {})
    if nested["state"] == "SWAPPING" and "executedAt" in chunk:
        return "SWAP_EXECUTED"
    return _STATES[nested["state"]]


def _failure(nested: Mapping[str, Any]) -> Mapping[str, Any] | None:
    parts = (nested.get(name, {}) for name in ("deposit", "swapEgress", "refundEgress"))
    return next((member["failure"] for member in parts if "failure" in member), None)
