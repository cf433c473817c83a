"""History of one swap: all that a record has of it, from which its documents are written.

`swap_history` looks the swap's events up, by the rules of `locate` and `payouts`, and derives its state by
the machine of `journey`. A document (`cfnode.swaps.documents`) is a function of the history alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cfnode.core.assets import ASSETS
from cfnode.swaps.events import (
    PAYOUT_STEPS_OF,
    STEPS_OF,
    Name,
    deposit_step,
    payout_kind,
    variant,
)
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.journey import Journey, JourneyState, JourneyStep, PayoutKind, PayoutStep
from cfnode.swaps.locate import Located, UnknownSwap, locate
from cfnode.swaps.payouts import PayoutHistory, ignored_payout, payout_of, receiver_of
from cfnode.swaps.record import AnnouncedDeposit, Entry, SwapRecord

__all__ = ["SwapHistory", "swap_history"]


@dataclass(frozen=True, slots=True)
class SwapHistory:
    """A swap, its channel, or both, at the newest block of a record, whose time is `now` (Unix ms).

    `channel` is SwapDepositAddressReady, `request` SwapRequested, `deposit` DepositFinalised, -Boosted or
    -Failed, `confirmed` the event that makes it final, `announced` a deposit without an event, `not_boosted`
    the newest attempt at a boost that failed. `expected` is what a client of the service announced for the
    channel. `events` are those of the request, `chunks` those of its chunks by number.
    """

    channel: Entry | None
    request: Entry | None
    deposit: Entry | None
    confirmed: Entry | None
    announced: AnnouncedDeposit | None
    not_boosted: Entry | None
    expected: int | None
    is_expired: bool
    events: Sequence[Entry]
    chunks: Mapping[int, Sequence[Entry]]
    payouts: Sequence[PayoutHistory]
    state: JourneyState
    now: int

    @property
    def channel_id(self) -> ChannelId | None:
        """The identity of the channel, if the swap has one."""
        return None if self.channel is None else _identity(self.channel)


def swap_history(record: SwapRecord, reference: str) -> SwapHistory:
    """Return the history of the swap that `reference` names: by channel, number, or transaction.

    Raises UnknownSwap and UnknownChain.
    """
    located = locate(record, reference)
    channel, request, deposit = located.channel, located.request, located.deposit
    if channel is None and request is None:
        raise UnknownSwap(reference)
    announced = None if deposit is not None else _announced(record, located)
    events = [] if request is None else record.find("request", request.fields["swap_request_id"])
    scheduled = [entry.fields["swap_id"] for entry in events if entry.name == Name.CHUNK_SCHEDULED]
    is_expired = channel is not None and _is_expired(record, channel)
    payouts = list(_payouts(record, located, events))
    return SwapHistory(
        channel,
        request,
        deposit,
        None if deposit is None else _confirmed(record, deposit),
        announced,
        _not_boosted(record, located),
        None if channel is None else record.expected(_identity(channel)),
        is_expired,
        events,
        {swap_id: record.find("swap", swap_id) for swap_id in scheduled},
        payouts,
        _state(located, events, payouts, is_expired=is_expired, is_announced=announced is not None),
        record.now,
    )


def _identity(channel: Entry) -> ChannelId:
    return ChannelId(_source_chain(channel), channel.fields["channel_id"], channel.block.number)


def _source_chain(channel: Entry) -> str:
    return ASSETS[channel.fields["source_asset"]].chain


def _is_expired(record: SwapRecord, channel: Entry) -> bool:
    return bool(record.height(_source_chain(channel)) > channel.fields["source_chain_expiry_block"])


def _confirmed(record: SwapRecord, deposit: Entry) -> Entry | None:
    """Return the event that makes a deposit final: for a boosted one, that which repays the lenders."""
    if deposit.name != Name.DEPOSIT_BOOSTED:
        return deposit
    credited = record.find("credited", deposit.chain, deposit.fields["prewitnessed_deposit_id"])
    return credited[0] if credited else None


def _announced(record: SwapRecord, located: Located) -> AnnouncedDeposit | None:
    """Return the announced, unconfirmed deposit to the channel; it is to the newest one with its address."""
    if located.channel is None or not located.is_newest:
        return None
    return record.announced(located.channel.fields["deposit_address"])


def _not_boosted(record: SwapRecord, located: Located) -> Entry | None:
    """Return the newest attempt to boost the channel's deposit that failed, if boosts are allowed there."""
    channel, deposit = located.channel, located.deposit
    if channel is None or not channel.fields["boost_fee"]:
        return None
    if deposit is not None and deposit.name == Name.DEPOSIT_BOOSTED:
        return None
    entries = record.find("channel", _source_chain(channel), channel.fields["channel_id"])
    attempts = [entry for entry in entries if entry.name == Name.NOT_BOOSTED and located.owns(entry)]
    return attempts[-1] if attempts else None


def _payouts(record: SwapRecord, located: Located, events: Sequence[Entry]) -> Iterator[PayoutHistory]:
    """Yield the payouts of the swap."""
    if located.request is None:
        yield from _returned(record, located)
        return
    for entry in events:
        kind, step = payout_kind(entry.name), PAYOUT_STEPS_OF.get(entry.name)
        if kind is not None and step is PayoutStep.SCHEDULED:
            yield payout_of(record, kind, entry, receiver_of(record, located.request.fields, kind))
        elif kind is not None and step is PayoutStep.IGNORED:
            yield ignored_payout(record, kind, entry)


def _returned(record: SwapRecord, located: Located) -> Iterator[PayoutHistory]:
    """Yield the refund of a deposit that was sent back at once."""
    channel, deposit = located.channel, located.deposit
    if channel is None or deposit is None:
        return
    kind, action = variant(deposit.fields.get("action", "None"))
    if kind == "Refund" and action["egress_id"] is not None:
        shared = {"asset": deposit.fields["asset"], "amount": action["amount"]}
        scheduled = replace(deposit, fields={**shared, "egress_id": action["egress_id"]})
        yield payout_of(
            record, PayoutKind.REFUND, scheduled, channel.fields["refund_parameters"]["refund_address"]
        )


def _state(
    located: Located,
    events: Sequence[Entry],
    payouts: Sequence[PayoutHistory],
    *,
    is_expired: bool,
    is_announced: bool,
) -> JourneyState:
    """Return the state of the swap."""
    journey = Journey()
    if is_expired:
        journey.receive(JourneyStep.CLOSED)
    if located.request is not None:
        journey.receive(JourneyStep.REQUESTED)
    if located.deposit is not None:
        journey.receive(deposit_step(located.deposit.name, located.deposit.fields))
    for entry in events:
        if (step := STEPS_OF.get(entry.name)) is not None:
            journey.receive(step)
    if is_announced:
        journey.receive(JourneyStep.ANNOUNCED)
    for payout in payouts:
        journey.receive_payout(payout.kind, payout.state)
    return journey.state
