"""State and document of an egress: the output or refund that a swap sends.

An egress is part of a broadcast, which succeeds or is aborted; an aborted one may still succeed later. A
transfer in a successful broadcast may have failed at its receiver; then there is a fallback call that anyone
may submit. A message may be one that cannot be sent. The steps are those of `cfnode.swaps.journey`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from cfnode.core.addresses import encode_foreign_address
from cfnode.core.assets import ASSETS
from cfnode.swap_service.events import Entry
from cfnode.swap_service.source import SwapRecord
from cfnode.swaps.events import (
    PAYLOADS,
    PAYOUT_STEPS_OF,
    REQUESTED,
    SCHEDULED,
    Name,
    payout_kind,
    transaction_text,
    variant,
)
from cfnode.swaps.fate import Evidence, Fate, fate, signature_at
from cfnode.swaps.journey import JourneyState, PayoutKind, PayoutStep, payout_state

__all__ = ["egress", "failure", "ignored", "output_of", "receiver_of"]

_OF_CALL: Final = (*PAYLOADS, Name.CALL_OUTDATED, Name.CALL_EXPIRED)
_REASONS: Final = {
    JourneyState.ABORTED: (Name.ABORTED, "The swap broadcast was aborted"),
    JourneyState.FAILED: (Name.TRANSFER_REJECTED, "The receiver rejected the transfer"),
    JourneyState.EXPIRED: (
        Name.CALL_EXPIRED,
        "The transfer was not made, and the call that makes it again has expired",
    ),
}


def egress(record: SwapRecord, scheduled: Entry, receiver: Any) -> tuple[dict[str, Any], JourneyState]:
    """Return document and state of an egress, by its event `scheduled`; `receiver` is an encoded address."""
    events = list(_events(record, scheduled, receiver))
    steps = [PAYOUT_STEPS_OF[entry.name] for entry in events if entry.name in PAYOUT_STEPS_OF]
    state = payout_state([PayoutStep.SCHEDULED, *steps])
    result = _scheduled(scheduled)
    if state is JourneyState.PAID:
        end = _last(events, Name.SUCCEEDED)
        seen = {"witnessedAt": end.time, "witnessedBlockIndex": end.block_index}
        return result | {"txRef": transaction_text(end.chain, end.fields["transaction_ref"])} | seen, state
    if state is JourneyState.INVALID:
        return result | _invalid(_last(events, Name.MESSAGE_INVALID)), state
    if state in _REASONS:
        was_sent = any(entry.name == Name.TRANSFER_REJECTED for entry in events)
        failure_name = Name.TRANSFER_REJECTED if was_sent else Name.ABORTED
        return result | _failed(record, state, _last(events, failure_name), events), state
    return result, state


def _events(record: SwapRecord, scheduled: Entry, receiver: Any) -> Iterator[Entry]:
    """Yield the events of an egress, of its broadcast and of the call that recovers it, in this order."""
    fields = scheduled.fields
    egress_entries = record.find("egress", *fields["egress_id"])
    yield from (entry for entry in egress_entries if entry.name == Name.MESSAGE_INVALID)
    requested = next((entry for entry in egress_entries if entry.name in REQUESTED), None)
    if requested is None:
        return
    yield requested
    broadcast_entries = record.find("broadcast", requested.chain, requested.fields["broadcast_id"])
    yield from (entry for entry in broadcast_entries if entry.name not in REQUESTED)
    end = next((entry for entry in broadcast_entries if entry.name == Name.SUCCEEDED), None)
    fallback = end and _fallback(record, requested, end, scheduled, receiver)
    if fallback is not None:
        yield fallback
        call_entries = record.find("broadcast", fallback.chain, fallback.fields["broadcast_id"])
        yield from (entry for entry in call_entries if entry.name in _OF_CALL)


def _last(events: list[Entry], name: str) -> Entry:
    return next(entry for entry in reversed(events) if entry.name == name)


def ignored(record: SwapRecord, entry: Entry) -> dict[str, Any]:
    """Return the document of an egress below its fee: SwapEgressIgnored or RefundEgressIgnored."""
    side = "SWAP" if entry.name == Name.OUTPUT_IGNORED else "REFUND"
    return _scheduled(entry) | failure(entry, f"{side}_OUTPUT_TOO_SMALL", *record.error(entry))


def failure(entry: Entry, mode: str, name: str, message: str) -> dict[str, Any]:
    """When, where and why something failed."""
    failed_at = {"failedAt": entry.time, "failedBlockIndex": entry.block_index}
    return {**failed_at, "failure": {**failed_at, "mode": mode, "reason": {"name": name, "message": message}}}


def _scheduled(entry: Entry) -> dict[str, Any]:
    amount = str(entry.fields["amount"])
    return {"amount": amount, "scheduledAt": entry.time, "scheduledBlockIndex": entry.block_index}


def _invalid(entry: Entry) -> dict[str, Any]:
    """Return the members of a message that cannot be sent; the event has the reason."""
    name, _ = variant(entry.fields["error"])
    return failure(entry, "SENDING_FAILED", name, "The message cannot be sent")


def _failed(record: SwapRecord, state: JourneyState, entry: Entry, events: list[Entry]) -> dict[str, Any]:
    """Return the members of a failed transfer, and its newest transaction that any account may send."""
    start = (
        0 if state is JourneyState.ABORTED else events.index(entry)
    )  # the call in its place has its own payload
    start = max([start, *(index for index, event in enumerate(events) if event.name == Name.CALL_OUTDATED)])
    newest = next((event for event in reversed(events[start:]) if event.name in PAYLOADS), None)
    evidence = Evidence(
        entry.chain,
        state,
        is_batch=state is JourneyState.ABORTED and any(event.name == Name.BATCH for event in events),
        signed=signature_at(None if newest is None else newest.place, record.key_change()),
    )
    payout_fate = fate(evidence)
    reason = _REASONS[JourneyState.EXPIRED if payout_fate is Fate.EXPIRED else state]
    result = failure(entry, "SENDING_FAILED", *reason)
    payload = newest.fields["transaction_payload"] if newest is not None and payout_fate.has_call else None
    if isinstance(payload, dict) and "chain_id" in payload:
        result["transactionPayload"] = {
            "contract": f"0x{payload['contract'].hex()}",
            "value": str(payload["value"]),
            "chainId": str(payload["chain_id"]),
            "data": f"0x{payload['data'].hex()}",
        }
    return result


def output_of(request: dict[str, Any]) -> Any:
    """Return where a request's output goes, by the fields of its event."""
    return request["request_type"][1]["output_action"][1]


def receiver_of(record: SwapRecord, request: dict[str, Any], kind: PayoutKind) -> Any:
    """Return the encoded address that a request's output or refund is sent to."""
    if kind is PayoutKind.OUTPUT:
        return output_of(request)["output_address"]
    _, expiry = request["price_limits_and_expiry"]["expiry_behaviour"]
    return encode_foreign_address(expiry["refund_address"][1], record.network)


def _fallback(
    record: SwapRecord, requested: Entry, end: Entry, scheduled: Entry, receiver: Any
) -> Entry | None:
    """Return the event of a transfer's fallback, which is in the block of its broadcast's success.

    The fallbacks of equal transfers to one receiver differ in their broadcast only: they are assigned in the
    order of the batch.
    """
    asset, amount = scheduled.fields["asset"], scheduled.fields["amount"]
    if ASSETS[asset].chain != end.chain:
        return None
    fallbacks = [
        entry for entry in record.find("fallback", asset, receiver, amount) if entry.block == end.block
    ]
    index = _equal_before(record, requested, scheduled, receiver) if fallbacks else 0
    return fallbacks[index] if index < len(fallbacks) else None


def _equal_before(record: SwapRecord, requested: Entry, scheduled: Entry, receiver: Any) -> int:
    """Count the transfers of this amount to this receiver before this one in its batch."""
    scheduled_fields = scheduled.fields
    batch = [tuple(egress_id) for egress_id in requested.fields.get("egress_ids", ())]
    before = batch[: batch.index(tuple(scheduled_fields["egress_id"]))] if batch else []
    equal_entries = [
        candidate
        for egress_id in before
        for candidate in record.find("egress", *egress_id)
        if candidate.name in SCHEDULED
        and (candidate.fields["asset"], candidate.fields["amount"])
        == (scheduled_fields["asset"], scheduled_fields["amount"])
    ]
    return sum(_scheduled_receiver(record, entry) == receiver for entry in equal_entries)


def _scheduled_receiver(record: SwapRecord, scheduled: Entry) -> Any:
    kind = payout_kind(scheduled.name)
    request_entries = record.find("request", scheduled.fields["swap_request_id"])
    request = next((entry.fields for entry in request_entries if entry.name == Name.REQUESTED), None)
    return None if kind is None or request is None else receiver_of(record, request, kind)
