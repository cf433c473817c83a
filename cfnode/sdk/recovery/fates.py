"""Fate of each failed payout, and the signed calls that make it.

A payout may have a call on offer, in the State Chain's list. Without one it may have a call in no list: a
batch that was aborted is in the chain's storage, other calls are in events and in the answers of services.
Such a call is checked against the keys of the State Chain. `cfnode.swaps.fate` decides the fate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cfnode.sdk.errors import SdkError
from cfnode.sdk.exchange import Steps, rpc
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import Expired, NoSuchCall
from cfnode.sdk.recovery.offered import Offer, being_signed, being_signed_again
from cfnode.sdk.recovery.offered_call import FetchKeys, check_key
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.payments import Finding, Payment, fits, paying
from cfnode.sdk.recovery.stored import unsent_batches
from cfnode.swaps.fate import CALL_CHAINS, EXPLANATIONS, Evidence, Fate, Signed, fate
from cfnode.swaps.journey import JourneyState

__all__ = ["Fates"]

_MOST_LEFT_TO_DO = (Fate.UNSIGNED, Fate.UNKNOWN, Fate.ON_ITS_WAY, Fate.EXPIRED, Fate.WITHOUT_CALL, Fate.PAID)
"""Fates by precedence: the first one is reported if several payouts failed and none has a call."""


class Fates:
    """The fates of an owner's failed payouts; `offers` are the chains that are searched, and may grow."""

    def __init__(
        self, session: ClientSession, owner: str, offers: Sequence[Offer], evm_url: str | None
    ) -> None:
        self.session = session
        self.owner = owner
        self.offers = offers
        self.evm_url = evm_url
        self._batches: dict[str, tuple[Payload, ...]] = {}

    def calls(self, finding: Finding) -> Steps[tuple[Payload, ...]]:
        """Return the calls for failed payouts; raise the error that explains why there is none."""
        if not finding.payments:
            raise NoSuchCall(finding.reason)
        chains = {offer.chain for offer in self.offers}
        payments = [
            payment
            for payment in finding.payments
            if payment.chain in chains or payment.chain not in CALL_CHAINS
        ]
        if not payments:
            chain = finding.payments[0].chain
            raise NoSuchCall(f"what failed of {self.owner} is a payout on {chain}: ask for {chain.lower()}")
        calls: dict[bytes, Payload] = {}
        fates: dict[Fate, Payment] = {}
        for payment in payments:
            payment_fate, payloads = yield from self._fate(payment)
            for call in payloads:
                other = calls.get(call.data, call)  # a batch may make several of the payouts
                calls[call.data] = call if call.transfer == other.transfer else call.whole
            fates.setdefault(payment_fate, payment)
        if calls:
            return tuple(calls.values())
        payment_fate = min(fates, key=_MOST_LEFT_TO_DO.index)
        raise self._reason(payment_fate, fates[payment_fate])

    def unsent(self, chain: str) -> Steps[tuple[Payload, ...]]:
        """Return the batches of a chain that no authority is to send, which are read once."""
        if chain not in self._batches:
            at = yield from rpc(self.session, self.session.rpc_url, "chain_getBlockHash", [])
            offers = [offer for offer in self.offers if offer.chain == chain]
            listed = {call.broadcast_id for offer in offers for call in offer.calls}
            listed.update(number for offer in offers for number in offer.waiting)
            self._batches[chain] = yield from unsent_batches(self.session, chain, at, listed)
        return self._batches[chain]

    def _fate(self, payment: Payment) -> Steps[tuple[Fate, list[Payload]]]:
        """Return the fate of a payout, and the calls that make it."""
        on_list = [call for offer in self.offers for call in offer.calls if fits(payment, call)]
        if on_list and payment.state is not JourneyState.EXPIRED and not payment.is_batch:
            return (yield from self._listed(payment, on_list))
        call = yield from self._unlisted(payment)
        signed = (yield from self._signature(call)) if call is not None else Signed.NOT
        is_batch = payment.is_batch if call is None else call.is_batch
        payment_fate = fate(
            Evidence(payment.chain, payment.state, is_batch, signed, self._is_listed(payment))
        )
        return payment_fate, [call] if call is not None and payment_fate.has_call else []

    def signed_now(self, calls: Iterable[Payload]) -> Steps[list[Payload]]:
        """Return the calls that any account may send now; the others are signed with an earlier key.

        Raises BadPayload for a signature that no key has made.
        """
        signed = yield from self._signatures(calls)
        return [call for call, signature in signed if _of_signature(call, signature).has_call]

    def _signatures(self, calls: Iterable[Payload]) -> Steps[list[tuple[Payload, Signed]]]:
        signatures = list[tuple[Payload, Signed]]()
        for call in calls:
            signatures += [(call, (yield from self._signature(call)))]
        return signatures

    def _listed(self, payment: Payment, calls: list[Payload]) -> Steps[tuple[Fate, list[Payload]]]:
        current = yield from self.signed_now(calls)
        signed = Signed.NOW if current else Signed.EARLIER
        return fate(Evidence(payment.chain, payment.state, signed=signed, is_listed=True)), current

    def _unlisted(self, payment: Payment) -> Steps[Payload | None]:
        """Return the signed call of a payout that is on no list; of a batch the newest one in the storage."""
        is_aborted = payment.state is JourneyState.ABORTED and payment.chain in CALL_CHAINS
        if is_aborted and (payment.is_batch or payment.signed is None):
            for batch in (yield from self.unsent(payment.chain)):
                is_its = payment.broadcast_id in (None, batch.broadcast_id)
                if is_its and (call := paying(payment, batch)) is not None:
                    return call
        return payment.signed

    def _signature(self, call: Payload) -> Steps[Signed]:
        """Return whose key has signed a call.

        With a node of the call's chain a batch is UNCHECKED: the vault itself is queried later.

        Raises BadPayload for a signature that no key has made.
        """
        failed = yield from FetchKeys(call).steps(self.session)
        if failed.is_altered:
            check_key(failed)
        if failed.is_signed_by_current_key:
            return Signed.NOW
        return Signed.UNCHECKED if call.is_batch and self.evm_url is not None else Signed.EARLIER

    def _is_listed(self, payment: Payment) -> bool | None:
        """Return whether the State Chain is having the payout's call signed; None for an unsearched chain."""
        offer = next((offer for offer in self.offers if offer.chain == payment.chain), None)
        if offer is None:
            return None
        number = payment.broadcast_id
        return bool(offer.waiting) if number is None else number in offer.waiting

    def _reason(self, known_fate: Fate, payment: Payment) -> SdkError:
        """Return the error that explains why no call makes a payout."""
        payout = f"a payout of {self.owner} on {payment.chain}"
        batch = f"its batch (broadcast {payment.broadcast_id}) was aborted"
        if known_fate is Fate.UNSIGNED:
            on_list = [call for offer in self.offers for call in offer.calls if fits(payment, call)]
            return being_signed_again(on_list) if on_list else being_signed(self.offers)
        if known_fate is Fate.EXPIRED and payment.is_batch:
            return Expired(
                f"{payout} failed: {batch}, and is signed by an earlier key of the State Chain, which the "
                "vault gives up when it gets the present one (--eth-rpc URL checks that): ask Chainflip to "
                "sign it again"
            )
        if known_fate is Fate.EXPIRED:
            return Expired(
                f"{payout} failed, but its call is not on offer: it has expired, as calls do two epochs "
                "after the failure"
            )
        if known_fate is Fate.UNKNOWN and payment.is_batch:
            return NoSuchCall(
                f"no call pays {self.owner}: {payout} has not arrived: {batch}; any account may send its "
                "signed transaction, which was not found"
            )
        return NoSuchCall(f"{payout} failed. {EXPLANATIONS[known_fate]}")


def _of_signature(call: Payload, signed: Signed) -> Fate:
    """Return the fate of a payout by the signature of its call alone."""
    return fate(Evidence(call.chain, is_batch=call.is_batch, signed=signed, is_listed=call.is_offered))
