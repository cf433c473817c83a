"""Failed calls that a chain has on offer.

The State Chain keeps lists of the failed calls of the current and the previous epoch: all calls that can
still be recovered. A call in neither list has expired.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps, rpc, rpc_batch
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import BeingSigned
from cfnode.sdk.recovery.offered_call import chain_named, failed_calls, list_question, payloads_of
from cfnode.sdk.recovery.payload import Payload, checked_account
from cfnode.sdk.recovery.storage import hex_bytes, hex_number, storage_key

__all__ = ["FindFailedCalls", "Offer", "being_signed", "being_signed_again", "on_offer"]

MAX_OFFERED_CALLS = 2_000
"""Maximum number of calls read for a chain, newest first: each costs a request."""
_AT_ONCE = 50  # payloads fetched in one exchange


@dataclass(frozen=True, slots=True)
class Offer:
    """The payloads of a chain, newest first, and the broadcasts without a payload.

    A broadcast without a payload is being signed: for the first time or, from the previous epoch's list,
    again. `chain_id` is the chain's own, None if the node does not return it.
    """

    chain: str
    calls: tuple[Payload, ...]
    waiting: tuple[int, ...]
    chain_id: int | None = None


@dataclass(frozen=True)
class FindFailedCalls(Call[tuple[Payload, ...]]):
    """Return the payloads on offer on a chain, newest first; with `recipient` (20 bytes) those that pay it.

    Raises BeingSigned if none pays the recipient, but some calls still wait for their signature;
    ValidationError for a recipient that is not 20 bytes, such as an address as text.
    """

    chain: str
    recipient: bytes | None = None

    def __post_init__(self) -> None:
        """Check the arguments. Raises ValidationError."""
        super().__post_init__()
        if self.recipient is not None:
            checked_account(self.recipient, "recipient")

    def steps(self, session: ClientSession) -> Steps[tuple[Payload, ...]]:
        """Read the failed calls of a chain, of one recipient or of all."""
        offer = yield from on_offer(session, chain_named(self.chain))
        if self.recipient is None:
            return offer.calls
        calls = tuple(call for call in offer.calls if call.transfer.recipient == self.recipient)
        if offer.waiting and not calls:
            raise being_signed([offer])
        return calls


def on_offer(session: ClientSession, chain: str) -> Steps[Offer]:
    """Return the calls on offer of a chain at the node's best block."""
    at = yield from rpc(session, session.rpc_url, "chain_getBlockHash", [])
    numbers, offered, known_id = yield from _alive(session, chain, at)
    payloads: dict[int, Payload] = {}
    for start in range(0, len(offered), _AT_ONCE):
        chunk = offered[start : start + _AT_ONCE]
        payloads |= yield from payloads_of(session, chain, chunk, known_id, at)
    waiting = tuple(number for number in numbers if number not in payloads)
    return Offer(chain, tuple(payloads.values()), waiting, known_id)


def being_signed(offers: Iterable[Offer]) -> BeingSigned:
    """Return the error for a call that may be one of those that wait for their signature."""
    waiting = [offer for offer in offers if offer.waiting]
    count = sum(len(offer.waiting) for offer in waiting)
    return BeingSigned(
        f"{count} failed calls on {' and '.join(offer.chain for offer in waiting)} are being signed, and "
        "their receivers are not known until then: try again in a minute"
    )


def being_signed_again(calls: Iterable[Payload]) -> BeingSigned:
    """Return the error for calls on offer whose signatures are of an earlier key."""
    names = " and ".join(f"{call.chain} broadcast {call.broadcast_id}" for call in calls)
    return BeingSigned(
        f"the payload of {names} is being signed again after an epoch change: try again in a minute"
    )


def _alive(session: ClientSession, chain: str, at: str) -> Steps[tuple[list[int], list[int], int | None]]:
    """Return the broadcasts of failed calls at a block, and the EVM chain's id.

    The first list has the failed calls of this epoch and the previous one, newest first, the second those
    that may have been signed in this epoch.
    """
    url = session.rpc_url
    keys = (storage_key("Validator", "CurrentEpoch"), storage_key("Environment", f"{chain}ChainId"))
    stored = yield from rpc_batch(session, url, [("state_getStorage", [key, at]) for key in keys])
    epoch, known_id = hex_number(stored[0], url), hex_number(stored[1], url, 8) or None
    questions = [list_question(chain, list_epoch, at) for list_epoch in (epoch, epoch - 1)]
    entries = yield from rpc_batch(session, url, questions)
    lists = [dict(failed_calls(hex_bytes(entry, url))) for entry in entries]
    alive = {number for first_epochs in lists for number, first in first_epochs.items() if first + 1 >= epoch}
    numbers = sorted(alive, reverse=True)[:MAX_OFFERED_CALLS]
    return numbers, [number for number in numbers if number in lists[0]], known_id
