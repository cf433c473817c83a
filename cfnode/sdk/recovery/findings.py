"""Failed payouts that the events of blocks list for an owner.

An owner is a swap, channel, address, transaction, batch or account. The events are in `history.py`. A finding
names the failed payouts, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cfnode.sdk.recovery.errors import BadPayload
from cfnode.sdk.recovery.history import (
    MESSAGE,
    BroadcastId,
    EgressId,
    Fallback,
    History,
    ScheduledPayout,
    accounts_in,
    holds,
    reference_text,
)
from cfnode.sdk.recovery.owner import Account, Address, Batch, Channel, Owner, Swap, Transaction
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.payments import Finding, Payment, paying
from cfnode.swaps.addresses import normal_address
from cfnode.swaps.fate import Evidence, Fate, fate
from cfnode.swaps.journey import JourneyState, PayoutStep, payout_state, rejected_state

__all__ = ["Findings"]

_SETTLED_AFTER = 25
"""Blocks after a batch's success in which the failure of one of its transfers may still be reported.

Different witnesses report the success and the failure.
"""


class Findings:
    """The findings of a history."""

    def __init__(self, history: History) -> None:
        self.history = history

    def find(self, owner: Owner) -> Finding:
        """Return the finding for an owner."""
        match owner:
            case Swap():
                return self._of_requests(
                    [owner.number], owner.text, is_met=owner.number in self.history.requests
                )
            case Channel():
                return self._of_channel(owner)
            case Transaction():
                return self._of_transaction(owner)
            case Batch():
                return self._of_batches([(owner.chain, owner.broadcast_id)], owner.text)
            case Account():
                return self._of_account(owner)
        return self._of_deposit_address(owner)

    def is_settled(self, owner: Owner) -> bool:
        """Return whether later blocks add nothing: all payouts of the swap or batch have arrived."""
        if isinstance(owner, Swap):
            egress_ids = [
                key for key, egress in self.history.egresses.items() if egress.request == owner.number
            ]
            broadcasts = [
                self.history.broadcasts[key][1] for key in egress_ids if key in self.history.broadcasts
            ]
            if owner.number not in self.history.completed or len(broadcasts) < len(egress_ids):
                return False
        elif isinstance(owner, Batch):
            broadcasts = [(owner.chain, owner.broadcast_id)]
        else:
            return False
        return all(
            broadcast in self.history.ends
            and self.history.last >= self.history.ends[broadcast][0] + _SETTLED_AFTER
            for broadcast in broadcasts
        )

    def given_up(self) -> Iterator[Payload]:
        """Yield the newest signed calls that have expired, and whose broadcasts have not succeeded."""
        for chain, number in self.history.expired - self.history.ends.keys():
            _, document = self.history.payloads.get((chain, number), (0, {}))
            call = _payload(chain, number, document, self.history.chain_ids.get(chain))
            if call is not None:
                yield call

    def has_beginning(self, owner: Owner) -> bool:
        """Return whether earlier blocks add nothing: the events contain the owner's beginning."""
        if isinstance(owner, Address):
            return any(
                _is_address(fields["deposit_address"], owner) for fields in self.history.channels.values()
            )
        if isinstance(owner, Transaction) and owner.hash is not None:
            names = {owner.hash, owner.hash[::-1]}
            batches = [key for key, (_, reference) in self.history.ends.items() if holds(reference, names)]
            egress_ids = [self.history.batches.get(batch, ()) for batch in batches]
            if batches:
                return all(keys and all(key in self.history.egresses for key in keys) for keys in egress_ids)
            return any(holds(fields, names) for _, fields in self.history.deposits)
        return False

    def explains(self, chain: str, broadcast_id: int) -> bool:
        """Return whether the egress of a failed call is known."""
        fallbacks = [
            fallback for fallback in self.history.fallbacks[chain] if fallback.broadcast_id == broadcast_id
        ]
        if fallbacks:
            return self._claimed(chain, fallbacks[0])
        return any(
            key in self.history.egresses for key in self.history.batches.get((chain, broadcast_id), ())
        )

    def _of_requests(self, numbers: Iterable[int], text: str, *, is_met: bool = True) -> Finding:
        request_numbers = set(numbers)
        egress_ids = [
            key for key, egress in self.history.egresses.items() if egress.request in request_numbers
        ]
        if egress_ids:
            return self._of_egresses(egress_ids, text)
        if not is_met:
            return Finding(is_known=False)
        if request_numbers <= self.history.completed:
            return Finding(reason=f"nothing was paid out for {text}: the output was too small")
        return Finding(reason=f"{text} is still being swapped, and nothing of it has been sent yet")

    def _of_egresses(self, keys: Collection[EgressId], text: str) -> Finding:
        payments: list[Payment] = []
        reasons: dict[str, None] = {}
        for key in keys:
            failed, reason = self._outcome(key)
            payments += failed
            if reason:
                reasons[reason] = None
        return Finding(tuple(dict.fromkeys(payments)), f"nothing of {text} has failed: {'; '.join(reasons)}")

    def _signed(self, payment: Payment) -> Payment:
        """Return the payment with its signed call, if an event has one."""
        if payment.broadcast_id is None:
            return payment
        newest = self.history.payloads.get((payment.chain, payment.broadcast_id))
        chain_id = self.history.chain_ids.get(payment.chain)
        call = newest and _payload(payment.chain, payment.broadcast_id, newest[1], chain_id)
        return payment if call is None else replace(payment, signed=paying(payment, call))

    def _outcome(self, key: EgressId) -> tuple[list[Payment], str]:
        """Return the failed payments of an egress, or the reason why it has none."""
        egress, record = self.history.egresses[key], self.history.broadcasts.get(key)
        if key in self.history.invalid:
            return [Payment(egress.chain, egress.asset, egress.amount, state=JourneyState.INVALID)], ""
        if record is None:
            return [], f"a payout on {egress.chain} waits for its broadcast"
        kind, broadcast, requested_at = record
        if kind != MESSAGE and (calls := self._fallbacks_of(egress, broadcast, requested_at)):
            return [self._of_fallback(broadcast[0], fallback) for fallback in calls], ""
        is_batch, end = kind != MESSAGE, self.history.ends.get(broadcast)
        state, (chain, number) = self._state(broadcast), broadcast
        is_settled = end is None or self.history.last >= end[0] + _SETTLED_AFTER
        match fate(Evidence(chain, state, is_batch, is_settled=is_settled)):
            case Fate.PAID:
                return [], f"a payout on {chain} went through ({_reference(broadcast, end)})"
            case Fate.ON_ITS_WAY if state is JourneyState.PAID:
                return [], (
                    f"a payout on {chain} went through ({_reference(broadcast, end)}), but a rejected "
                    "transfer may still be reported within some blocks"
                )
            case Fate.ON_ITS_WAY:
                return [], f"a payout on {chain} has not arrived: its batch (broadcast {number}) is sent"
        return [self._aborted(egress, broadcast, state, is_batch=is_batch)], ""

    def _state(self, broadcast: BroadcastId) -> JourneyState:
        """Return the state of a payout in a broadcast, as far as the transaction decides it."""
        steps = [PayoutStep.SCHEDULED, PayoutStep.BATCHED]
        for broadcasts, step in (
            (self.history.payloads, PayoutStep.SENT),
            (self.history.aborted, PayoutStep.ABORTED),
            (self.history.ends, PayoutStep.SUCCEEDED),
            (self.history.expired, PayoutStep.CALL_EXPIRED),
        ):
            steps += [step] if broadcast in broadcasts else []
        return payout_state(steps)

    def _of_fallback(self, chain: str, call: Fallback) -> Payment:
        """Return the payment of a transfer that the receiver did not take, by the call in its place."""
        state = rejected_state(is_call_expired=(chain, call.broadcast_id) in self.history.expired)
        return self._signed(
            Payment(chain, call.asset, call.amount, call.recipient, call.broadcast_id, state=state)
        )

    def _aborted(
        self, egress: ScheduledPayout, broadcast: BroadcastId, state: JourneyState, *, is_batch: bool
    ) -> Payment:
        """Return the payment of an aborted broadcast, with the signed call that makes it, if known."""
        payment = Payment(
            broadcast[0], egress.asset, egress.amount, None, broadcast[1], state=state, is_batch=is_batch
        )
        if not is_batch:
            return self._signed(payment)
        recipients = tuple(dict.fromkeys(self._recipients(egress)))
        payments = [self._signed(replace(payment, recipient=recipient)) for recipient in recipients]
        unsigned = payments[0] if len(payments) == 1 else self._signed(payment)
        return next((payment for payment in payments if payment.signed is not None), unsigned)

    def _fallbacks_of(self, egress: ScheduledPayout, broadcast: BroadcastId, asked: int) -> list[Fallback]:
        """Return calls for a transfer of this asset and amount, preferably of the batch's own block."""
        recipients = set(self._recipients(egress))
        candidates = [
            fallback
            for fallback in self.history.fallbacks[broadcast[0]]
            if (fallback.asset, fallback.amount) == (egress.asset, egress.amount)
            and fallback.block >= asked
            and (not recipients or fallback.recipient in recipients)
        ]
        if broadcast in self.history.ends:
            in_block = [
                fallback for fallback in candidates if fallback.block == self.history.ends[broadcast][0]
            ]
            return in_block or [
                fallback for fallback in candidates if not self._claimed(broadcast[0], fallback)
            ]
        return []

    def _recipients(self, egress: ScheduledPayout) -> Iterator[bytes]:
        request = self.history.requests.get(egress.request) if egress.request is not None else None
        yield from accounts_in(request if request is not None else egress.mentions, egress.chain)

    def _claimed(self, chain: str, fallback: Fallback) -> bool:
        """Return whether a batch that succeeded in the call's block has such a transfer.

        Asset and amount of the transfer are those of the call.
        """
        return any(
            (egress.asset, egress.amount) == (fallback.asset, fallback.amount)
            for broadcast, (block, _) in self.history.ends.items()
            if block == fallback.block and broadcast[0] == chain
            for key in self.history.batches.get(broadcast, ())
            if (egress := self.history.egresses.get(key)) is not None
        )

    def _of_channel(self, owner: Channel) -> Finding:
        opened = self.history.channels.get(owner.id)
        numbers = [number for number in self.history.requests if self.history.is_of(owner.id, number)]
        if numbers:
            finding = self._of_requests(numbers, f"channel {owner.text}")
            return Finding(finding.payments, finding.reason, is_whole=finding.is_whole and opened is not None)
        if opened is None:
            return Finding(is_known=False)
        return self._without_deposit(f"channel {owner.text}")

    def _of_deposit_address(self, owner: Address) -> Finding:
        numbers = [
            number
            for number, fields in self.history.requests.items()
            if _is_address(_origin(fields).get("deposit_address"), owner)
        ]
        if numbers:
            finding = self._of_requests(numbers, owner.text)
            return Finding(
                finding.payments, finding.reason, is_whole=finding.is_whole and self.has_beginning(owner)
            )
        if any(_is_address(fields["deposit_address"], owner) for fields in self.history.channels.values()):
            return self._without_deposit(f"the channel of {owner.text}")
        return Finding(is_known=False)

    def _without_deposit(self, text: str) -> Finding:
        return Finding(reason=f"no deposit has arrived at {text} yet: there is nothing to recover")

    def _of_transaction(self, owner: Transaction) -> Finding:
        if owner.hash is None:
            return Finding(is_known=False)
        names = {owner.hash, owner.hash[::-1]}
        batches = [key for key, (_, reference) in self.history.ends.items() if holds(reference, names)]
        if batches:
            return self._of_batches(batches, f"transaction {owner.text}")
        deposits = [(number, fields) for number, fields in self.history.deposits if holds(fields, names)]
        numbers = {number for number, _ in deposits if number is not None}
        numbers |= {
            number for number, fields in self.history.requests.items() if holds(fields["origin"], names)
        }
        if numbers:
            return self._of_requests(numbers, f"transaction {owner.text}")
        if deposits:
            return Finding(reason=f"transaction {owner.text} is a deposit that began no swap")
        return Finding(is_known=False)

    def _of_batches(self, broadcasts: Collection[BroadcastId], text: str) -> Finding:
        recorded = [
            broadcast
            for broadcast in broadcasts
            if broadcast in self.history.ends or broadcast in self.history.batches
        ]
        payments = [payment for broadcast in broadcasts for payment in self._of_number(broadcast)]
        reasons: list[str] = []
        for broadcast in recorded:
            keys = [key for key in self.history.batches.get(broadcast, ()) if key in self.history.egresses]
            if keys:
                finding = self._of_egresses(keys, text)
                payments += finding.payments
                reasons.append(finding.reason)
            elif broadcast in self.history.ends:
                payments += self._unclaimed_of(broadcast)
        reason = reasons[0] if reasons else f"no transfer of {text} has failed"
        return Finding(tuple(payments), reason, is_known=bool(recorded or payments))

    def _of_number(self, broadcast: BroadcastId) -> Iterator[Payment]:
        """Yield the payment of a call with a number of its own.

        It is the call in place of a failed transfer, or an aborted message whose egress is unknown.
        """
        chain, number = broadcast
        for fallback in self.history.fallbacks[chain]:
            if fallback.broadcast_id == number:
                yield self._of_fallback(chain, fallback)
        keys = self.history.batches.get(broadcast, ())
        is_message = any(self.history.broadcasts[key][0] == MESSAGE for key in keys)
        if is_message and not any(key in self.history.egresses for key in keys):
            state = self._state(broadcast)
            if state in (JourneyState.ABORTED, JourneyState.EXPIRED):
                yield self._signed(Payment(chain, broadcast_id=number, state=state))

    def _unclaimed_of(self, broadcast: BroadcastId) -> Iterator[Payment]:
        """Yield the calls in the block of a batch's success, if the payments of the batch are unknown."""
        chain, block = broadcast[0], self.history.ends[broadcast][0]
        for fallback in self.history.fallbacks[chain]:
            if fallback.block == block and not self._claimed(chain, fallback):
                yield Payment(
                    chain, fallback.asset, fallback.amount, fallback.recipient, fallback.broadcast_id
                )

    def _of_account(self, owner: Account) -> Finding:
        numbers = {
            number for number, fields in self.history.requests.items() if holds(fields, {owner.public})
        }
        keys = [
            key
            for key, egress in self.history.egresses.items()
            if egress.request in numbers
            or (egress.request is None and holds(egress.mentions, {owner.public}))
        ]
        if not keys:
            return Finding(is_known=False)
        finding = self._of_egresses(keys, owner.text)
        return Finding(finding.payments, finding.reason, is_whole=False)


def _reference(broadcast: BroadcastId, end: tuple[int, Any] | None) -> str:
    """Return the name of a transaction: its own, or else its broadcast's number."""
    return (end and reference_text(end[1])) or f"broadcast {broadcast[1]}"


def _payload(chain: str, number: int, document: Mapping[str, Any], chain_id: int | None) -> Payload | None:
    """Return the signed call of an event; None for a malformed one."""
    try:
        texts = {name: document[name].hex() for name in ("contract", "data")}
        return read_payload(chain, number, {**document, **texts}, chain_id)
    except (BadPayload, LookupError, AttributeError):
        return None


def _origin(request: Mapping[str, Any]) -> Mapping[str, Any]:
    origin = request.get("origin")
    is_full = isinstance(origin, tuple) and isinstance(origin[1], Mapping)
    return origin[1] if is_full else {}  # type: ignore[index]  # a tuple, by the line above


def _is_address(encoded: Any, owner: Address) -> bool:
    return isinstance(encoded, tuple) and normal_address((encoded[0], encoded[1]))[1] == owner.raw
