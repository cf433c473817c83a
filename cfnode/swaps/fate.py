"""Fate of a payout: where its money is, and what its owner can do, from all that is known of it.

A payout is made by a signed call of a vault, in a batch with others or, with a message, alone. The vault
checks nothing but the signature of its key and that the signature's nonce is unused, so any account may send
such a call. `fate` decides whether there is a call that the vault takes, from

1. how far the payout is (`journey.payout_state`), by events of the chain or a status document;
2. whether the chain lists the payout's call among the failed ones: those of the last two epochs, which it
   signs again after a rotation. It lists the calls of messages and of failed transfers, never a batch;
3. whether the newest known call is signed with the vault's present key or an earlier one;
4. whether the vault has used its nonce, which only a node of the payout's chain knows.

Less evidence makes an answer less certain, never more: EXPIRED and PAID need evidence, and without any the
answer is UNKNOWN. A batch whose nonce is used may have left out one of its transfers, and a transfer may be
reported as rejected some blocks after the success of its batch (`is_settled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cfnode.core.assets import chains_of
from cfnode.swaps.events import Name
from cfnode.swaps.identity import Place
from cfnode.swaps.journey import JourneyState

__all__ = ["CALL_CHAINS", "EXPLANATIONS", "Evidence", "Fate", "Signed", "fate", "key_change", "signature_at"]

CALL_CHAINS: Final = (*chains_of("evm"), *chains_of("tron"))
"""The chains whose vault takes a signed call from any account."""


class Fate(StrEnum):
    """Fate of a payout: where its money is."""

    PAID = "paid"
    ON_ITS_WAY = "on_its_way"
    """Nothing has failed so far."""
    CALL_ON_OFFER = "call_on_offer"
    """The payout failed, and any account may send the signed call that makes it."""
    BATCH_ON_OFFER = "batch_on_offer"
    """The payout's batch was aborted, and any account may send the signed batch."""
    UNSIGNED = "unsigned"
    """The payout failed, and the call that makes it waits for a signature."""
    EXPIRED = "expired"
    """The payout failed, the vault takes no call that makes it, and none is signed again."""
    WITHOUT_CALL = "without_call"
    """The payout failed, and there never was a call that any account could send."""
    UNKNOWN = "unknown"

    @property
    def has_call(self) -> bool:
        """Whether there is a call that any account may send."""
        return self in (Fate.CALL_ON_OFFER, Fate.BATCH_ON_OFFER)

    @property
    def may_have_call(self) -> bool:
        """Whether it is worth looking for a call, now or in some minutes."""
        return self.has_call or self in (Fate.UNSIGNED, Fate.UNKNOWN)


class Signed(StrEnum):
    """Signature of the newest known call of a payout."""

    NOT = "not"
    """No signed call is known."""
    NOW = "now"
    """The signature is of the vault's present key."""
    EARLIER = "earlier"
    """The signature is of an earlier key of the vault."""
    UNCHECKED = "unchecked"


def key_change(events: Iterable[tuple[Place, str]]) -> Place | None:
    """Return the place from which on the vaults' present key may have signed; None if no rotation has ended.

    `events` are the places and names of the events of `events.is_key_event`, oldest first.
    """
    signs_from, changed = None, None
    for place, name in events:
        if name == Name.KEY_ROTATED:
            changed = signs_from or place
        else:
            signs_from = place
    return changed


def signature_at(place: Place | None, changed: Place | None) -> Signed:
    """Return whose key has signed a call, by the place of its event and that of `key_change`.

    A call from before the change is of an earlier key. One from after it may be, too: its signature may have
    been requested before.
    """
    if place is None:
        return Signed.NOT
    return Signed.EARLIER if changed is not None and place < changed else Signed.UNCHECKED


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about a payout on a chain; None is unknown.

    `is_batch`: the call is the whole batch, not one for this payout alone. `is_listed`: the chain lists the
    call among the failed ones. `is_used`: the vault has used the call's nonce. `is_settled`: so much time has
    passed since the success of its transaction that a rejected transfer would have been reported.
    """

    chain: str
    state: JourneyState | None = None
    is_batch: bool = False
    signed: Signed = Signed.NOT
    is_listed: bool | None = None
    is_used: bool | None = None
    is_settled: bool = True


_ARRIVED: Final = (JourneyState.PAID, JourneyState.CREDITED)
_UNDERWAY: Final = (JourneyState.SCHEDULED, JourneyState.SIGNING, JourneyState.SENT)
_NEVER_SENT: Final = (JourneyState.INVALID, JourneyState.IGNORED)


def fate(known: Evidence) -> Fate:
    """Return the fate of a payout."""
    if known.is_used and not known.is_batch:
        return Fate.PAID
    if known.state in _ARRIVED:
        return Fate.PAID if known.is_settled else Fate.ON_ITS_WAY
    if known.state in _UNDERWAY or known.is_used:
        return Fate.ON_ITS_WAY
    if known.state in _NEVER_SENT or known.chain not in CALL_CHAINS:
        return Fate.WITHOUT_CALL
    if known.state is JourneyState.EXPIRED and known.signed is not Signed.NOW:
        return Fate.EXPIRED
    return _of_batch(known) if known.is_batch else _of_call(known)


def _of_batch(known: Evidence) -> Fate:
    """Return the fate of a payout whose call is a batch, by the signature alone.

    A batch that was aborted is in no list, and is not signed again by itself.
    """
    match known.signed:
        case Signed.NOT:
            return Fate.UNKNOWN
        case Signed.EARLIER:
            return Fate.EXPIRED
    return Fate.BATCH_ON_OFFER


def _of_call(known: Evidence) -> Fate:
    if known.signed is Signed.NOW or (known.signed is Signed.UNCHECKED and known.is_listed is not False):
        return Fate.CALL_ON_OFFER
    if known.is_listed:
        return Fate.UNSIGNED
    if known.is_listed is None:  # a call without a known signature will get one, unless it has expired
        is_new = known.state is JourneyState.FAILED and known.signed is Signed.NOT
        return Fate.UNSIGNED if is_new else Fate.UNKNOWN
    is_proven = known.state is not None and known.signed is not Signed.UNCHECKED
    return Fate.EXPIRED if is_proven else Fate.UNKNOWN


_IN_VAULT: Final = "The money is in Chainflip's vault."

EXPLANATIONS: Final[Mapping[Fate, str]] = {
    Fate.PAID: "It has been paid.",
    Fate.ON_ITS_WAY: "It is on its way, and nothing has failed.",
    Fate.CALL_ON_OFFER: f"{_IN_VAULT} A signed call that pays it out is on offer until the end of the epoch "
    "after that of the failure (three to six days on the main net), and any account may send it.",
    Fate.BATCH_ON_OFFER: f"{_IN_VAULT} The transaction that should have paid it, with other payouts, was "
    "signed and could not be sent. Any account may send it until the vault gets the next epoch's key (within "
    "three days on the main net).",
    Fate.UNSIGNED: f"{_IN_VAULT} The call that pays it out waits for a signature, for some minutes, or until "
    "the next epoch after a rotation: look again then. Any account may send it.",
    Fate.EXPIRED: f"{_IN_VAULT} The call that pays it out has expired, and is not signed again: ask "
    "Chainflip.",
    Fate.WITHOUT_CALL: f"{_IN_VAULT} There is no call to send: ask Chainflip.",
    Fate.UNKNOWN: "Whether a call can be sent that pays it out is not known from this alone.",
}
"""The text for people about each fate."""
