"""Member of a status about a payout: an output or a refund."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.swaps.documents.members import failure
from cfnode.swaps.events import Name, transaction_text, variant
from cfnode.swaps.fate import Fate
from cfnode.swaps.journey import JourneyState, PayoutKind
from cfnode.swaps.payouts import PayoutHistory

__all__ = ["FAILED_STATES", "MEMBERS", "payout_json"]

MEMBERS: Final = {PayoutKind.OUTPUT: "swapEgress", PayoutKind.REFUND: "refundEgress"}
"""The member of a status with a payout."""
_REASONS: Final[Mapping[JourneyState, tuple[str, str]]] = {
    JourneyState.ABORTED: (Name.ABORTED, "The swap broadcast was aborted"),
    JourneyState.FAILED: (Name.TRANSFER_REJECTED, "The receiver rejected the transfer"),
    JourneyState.EXPIRED: (
        Name.CALL_EXPIRED,
        "The transfer was not made, and the call that makes it again has expired",
    ),
}
FAILED_STATES: Final[Mapping[str, JourneyState]] = {name: state for state, (name, _) in _REASONS.items()}
"""The state of a payout that failed, by the reason's name in its document."""


def payout_json(payout: PayoutHistory) -> dict[str, Any]:
    """Return amount and times of a payout, and what became of it."""
    scheduled, end = payout.scheduled, payout.end
    result: dict[str, Any] = {
        "amount": str(scheduled.fields["amount"]),
        "scheduledAt": scheduled.time,
        "scheduledBlockIndex": scheduled.block_index,
    }
    if end is None:
        return result
    match payout.state:
        case JourneyState.PAID:
            result["txRef"] = transaction_text(end.chain, end.fields["transaction_ref"])
            return result | {"witnessedAt": end.time, "witnessedBlockIndex": end.block_index}
        case JourneyState.IGNORED:
            side = "SWAP" if payout.kind is PayoutKind.OUTPUT else "REFUND"
            return result | failure(end, f"{side}_OUTPUT_TOO_SMALL", *(payout.error or ("Unknown", "")))
        case JourneyState.INVALID:
            name, _ = variant(end.fields["error"])
            return result | failure(end, "SENDING_FAILED", name, "The message cannot be sent")
    reason = _REASONS[JourneyState.EXPIRED if payout.fate is Fate.EXPIRED else payout.state]
    return result | failure(end, "SENDING_FAILED", *reason) | _call(payout.payload)


def _call(payload: Any) -> dict[str, Any]:
    """Return the call that makes a failed payout, if it is one of an EVM chain's vault."""
    if not isinstance(payload, dict) or "chain_id" not in payload:
        return {}
    call = {
        "contract": f"0x{payload['contract'].hex()}",
        "value": str(payload["value"]),
        "chainId": str(payload["chain_id"]),
        "data": f"0x{payload['data'].hex()}",
    }
    return {"transactionPayload": call}
