"""Payout of a swap (an output or a refund): its events, its state, and the call that makes a failed one.

A payout is part of a broadcast, which succeeds or is aborted; an aborted one may still succeed later. A
transfer in a successful broadcast may have failed at its receiver; then there is a fallback call that anyone
may submit. A message may be one that cannot be sent. The steps are those of `cfnode.swaps.journey`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import encode_foreign_address
from cfnode.core.assets import ASSETS
from cfnode.swaps.events import (
    PAYLOADS,
    PAYOUT_STEPS_OF,
    REQUESTED,
    SCHEDULED,
    Name,
    payout_kind,
)
from cfnode.swaps.fate import Evidence, Fate, fate, signature_at
from cfnode.swaps.journey import JourneyState, PayoutKind, PayoutStep, payout_state
from cfnode.swaps.record import Entry, SwapRecord

__all__ = ["PayoutHistory", "ignored_payout", "output_of", "payout_of", "receiver_of"]

_OF_CALL: Final = (*PAYLOADS, Name.CALL_OUTDATED, Name.CALL_EXPIRED)


@dataclass(frozen=True, slots=True)
class PayoutHistory:
    """A payout, and what became of it.

    `scheduled` is the event that states it. `end` is the event that ended it: its success, its failure, or
    the message that cannot be sent. `fate` is that of a failed payout; `payload` is the call that makes it,
    if any account may send it. `error` is the module error for which a payout is not made: name and text.
    """

    kind: PayoutKind
    scheduled: Entry
    state: JourneyState
    end: Entry | None = None
    fate: Fate | None = None
    payload: Any = None
    error: tuple[str, str] | None = None


def payout_of(record: SwapRecord, kind: PayoutKind, scheduled: Entry, receiver: Any) -> PayoutHistory:
    """Return a payout by its event `scheduled`; `receiver` is an encoded address."""
    events = list(_events(record, scheduled, receiver))
    steps = [PAYOUT_STEPS_OF[entry.name] for entry in events if entry.name in PAYOUT_STEPS_OF]
    state = payout_state([PayoutStep.SCHEDULED, *steps])
    match state:
        case JourneyState.PAID:
            return PayoutHistory(kind, scheduled, state, _last(events, Name.SUCCEEDED))
        case JourneyState.INVALID:
            return PayoutHistory(kind, scheduled, state, _last(events, Name.MESSAGE_INVALID))
        case JourneyState.ABORTED | JourneyState.FAILED | JourneyState.EXPIRED:
            return _failed(record, kind, scheduled, state, events)
    return PayoutHistory(kind, scheduled, state)


def ignored_payout(record: SwapRecord, kind: PayoutKind, entry: Entry) -> PayoutHistory:
    """Return a payout below its fee: SwapEgressIgnored or RefundEgressIgnored."""
    return PayoutHistory(kind, entry, JourneyState.IGNORED, end=entry, error=record.error(entry))


def _events(record: SwapRecord, scheduled: Entry, receiver: Any) -> Iterator[Entry]:
    """Yield the events of a payout, of its broadcast and of the call that recovers it, in this order."""
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


def _last(events: Sequence[Entry], name: str) -> Entry:
    return next(entry for entry in reversed(events) if entry.name == name)


def _failed(
    record: SwapRecord, kind: PayoutKind, scheduled: Entry, state: JourneyState, events: list[Entry]
) -> PayoutHistory:
    """Return a failed transfer, with its newest transaction that any account may send."""
    was_sent = any(entry.name == Name.TRANSFER_REJECTED for entry in events)
    end = _last(events, Name.TRANSFER_REJECTED if was_sent else Name.ABORTED)
    # The call in a rejected transfer's place has its own payload.
    start = 0 if state is JourneyState.ABORTED else events.index(end)
    start = max([start, *(index for index, event in enumerate(events) if event.name == Name.CALL_OUTDATED)])
    newest = next((event for event in reversed(events[start:]) if event.name in PAYLOADS), None)
    evidence = Evidence(
        end.chain,
        state,
        is_batch=state is JourneyState.ABORTED and any(event.name == Name.BATCH for event in events),
        signed=signature_at(None if newest is None else newest.place, record.key_change()),
    )
    known = fate(evidence)
    payload = newest.fields["transaction_payload"] if newest is not None and known.has_call else None
    return PayoutHistory(kind, scheduled, state, end, known, payload)


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
