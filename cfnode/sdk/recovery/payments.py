"""Payouts as far as their members are known, and the failed calls that make them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.tokens import asset_of
from cfnode.swaps.journey import JourneyState

__all__ = ["Finding", "Payment", "fits", "paying"]


@dataclass(frozen=True, slots=True)
class Payment:
    """A payout; a member of None is unknown and matches any call. `asset` is a name of `core.assets`.

    `signed` is a signed call that pays it, from an event or a service; the signature is not checked.
    `is_batch`: the payout failed because its batch, the broadcast, was aborted.
    """

    chain: str
    asset: str | None = None
    amount: int | None = None
    recipient: bytes | None = None
    broadcast_id: int | None = None
    nonce: int | None = None
    signed: Payload | None = None
    state: JourneyState = JourneyState.FAILED
    is_batch: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of a source: the failed payouts, or the reason why it has none.

    `is_known` is False if the owner is unknown to the source; `is_whole` is False if the source may know only
    a part.
    """

    payments: tuple[Payment, ...] = ()
    reason: str = ""
    is_known: bool = True
    is_whole: bool = True


def fits(payment: Payment, call: Payload) -> bool:
    """Return whether a call matches a payout."""
    if payment.chain != call.chain:
        return False
    asset = asset_of(call)
    pairs = (
        (payment.broadcast_id, call.broadcast_id),
        (payment.nonce, call.nonce),
        (payment.amount, call.transfer.amount),
        (payment.recipient, call.transfer.recipient),
        (payment.asset if asset is not None else None, asset and asset.name),
    )
    return all(expected is None or expected == actual for expected, actual in pairs)


def paying(payment: Payment, call: Payload) -> Payload | None:
    """Return a call that is not on offer, with the transfer that makes a payout.

    Returns None if the call does not make it.
    """
    expected = Payment(payment.chain, payment.asset, payment.amount, payment.recipient)
    for transfer in call.transfers or (call.transfer,):
        candidate = replace(call, transfer=transfer, is_offered=False, is_chosen=True)
        if fits(expected, candidate):
            return candidate
    return None
