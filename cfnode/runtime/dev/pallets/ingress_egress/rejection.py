"""How does a broker refuse a deposit that it does not want to be part of?

It marks the transaction (or its channel) before the deposit counts. Such a deposit becomes no swap: it is
sent back to the refund address, less what both ways cost. A mark lasts an hour, or until the deposit is final
if it has been noticed before that.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import CHAINS
from cfnode.runtime.dev.pallets.broadcast.pallet import BROADCASTERS
from cfnode.runtime.dev.pallets.system import System

from .batching import (
    fetch_params,
    finalise_fetches,
    message_call,
    reject_call,
    schedule_fetch,
    with_message,
)
from .deposits import Deposit, is_boosted
from .fees import egress_estimate, ingress_estimate, withhold
from .storage import IngressEgressStorage

__all__ = [
    "expire_marks",
    "is_marked",
    "mark_channel",
    "mark_transaction",
    "note_prewitnessed",
    "reject_if_marked",
    "send_rejected",
]

MARK_BLOCKS = 600


def mark_transaction(pallet: IngressEgressStorage, broker: bytes, transaction: Any) -> None:
    """Refuse a transaction's deposits. TransactionAlreadyPrewitnessed if a mark has been noticed already."""
    pallet.ensure(pallet.Constant.AllowTransactionReports, pallet.Error.UnsupportedChain)
    known = pallet.TransactionsMarkedForRejection.get(broker, transaction)
    too_late = known is not None and known["prewitnessed"]
    pallet.ensure(not too_late, pallet.Error.TransactionAlreadyPrewitnessed)
    expires_at = pallet.other(System).Number.get() + MARK_BLOCKS
    mark = {"expires_at": expires_at, "prewitnessed": False}
    pallet.TransactionsMarkedForRejection.put(broker, transaction, mark)
    if known is None:  # else the first entry is put off when it is due
        _expire_at(pallet, expires_at, broker, transaction)
    pallet.deposit(
        pallet.Event.TransactionRejectionRequestReceived,
        account_id=broker,
        tx_id=transaction,
        expires_at=expires_at,
    )


def mark_channel(pallet: IngressEgressStorage, broker: bytes, address: Any) -> None:
    """Refuse all further deposits of a channel. CannotMarkChannel if it is another's."""
    pallet.ensure(pallet.Constant.AllowTransactionReports, pallet.Error.UnsupportedChain)
    channel = pallet.DepositChannelLookup.get(address)
    pallet.ensure(channel is not None, pallet.Error.InvalidDepositAddress)
    pallet.ensure(channel["owner"] == broker, pallet.Error.CannotMarkChannel)
    boosted = is_boosted(channel["boost_status"])
    pallet.ensure(not boosted, pallet.Error.TransactionAlreadyPrewitnessed)
    pallet.DepositChannelLookup.put(address, channel | {"is_marked_for_rejection": True})
    pallet.deposit(pallet.Event.ChannelRejectionRequestReceived, account_id=broker, deposit_address=address)


def expire_marks(pallet: IngressEgressStorage, number: int) -> None:
    """Marks whose deposit has not come in time are gone; those that have been noticed wait for it."""
    for broker, transaction in pallet.ReportExpiresAt.take(number):
        mark = pallet.TransactionsMarkedForRejection.get(broker, transaction)
        if mark is None or mark["prewitnessed"]:
            continue
        if mark["expires_at"] > number:  # it was renewed
            _expire_at(pallet, mark["expires_at"], broker, transaction)
            continue
        pallet.TransactionsMarkedForRejection.remove(broker, transaction)
        pallet.deposit(pallet.Event.TransactionRejectionRequestExpired, account_id=broker, tx_id=transaction)


def is_marked(pallet: IngressEgressStorage, deposit: Deposit) -> bool:
    """Whether somebody wants a deposit sent back, by its transaction or by its channel."""
    if not pallet.Constant.AllowTransactionReports:
        return False
    return deposit.is_marked or bool(_marked_transactions(pallet, deposit))


def note_prewitnessed(pallet: IngressEgressStorage, deposit: Deposit) -> None:
    """The marks of these transactions have been noticed: they do not expire any more."""
    for transaction in _marked_transactions(pallet, deposit):
        pallet.TransactionsMarkedForRejection.mutate(
            deposit.broker, transaction, lambda mark: mark | {"prewitnessed": True}
        )


def reject_if_marked(pallet: IngressEgressStorage, deposit: Deposit) -> str | None:
    """Have a marked deposit sent back at the end of the block: the reason why it leads to nothing."""
    if not is_marked(pallet, deposit):
        return None
    for transaction in _transactions(pallet, deposit):
        pallet.TransactionsMarkedForRejection.remove(deposit.broker, transaction)
    if deposit.action == "Unrefundable":
        return "Unrefundable"
    address, message = _refund_to(pallet, deposit)
    details = {
        "deposit_address": deposit.address,
        "refund_address": address,
        "asset": deposit.asset,
        "amount": deposit.amount,
        "deposit_details": deposit.details,
        "refund_ccm_metadata": message,
    }
    pallet.ScheduledTransactionsForRejection.mutate(lambda queue: [*queue, details])
    return "TransactionRejectedByBroker"


def _refund_to(pallet: IngressEgressStorage, deposit: Deposit) -> tuple[Any, Any]:
    """Where a deposit is sent back to, and the message that goes with it."""
    kind, terms = deposit.action
    if kind == "Swap":
        terms = terms["refund_params"]
    elif kind == "Refund":
        terms = terms | {"refund_address": (CHAINS[pallet.chain.name].address, terms["refund_address"])}
    return terms["refund_address"], terms.get("refund_ccm_metadata")


def send_rejected(pallet: IngressEgressStorage) -> None:
    """Send the deposits back that were rejected; one that cannot be fetched yet has to wait."""
    waiting = []
    for details in pallet.ScheduledTransactionsForRejection.take():
        try:
            broadcast_id = _send_back(pallet, details)
        except _CannotBeFetched:
            waiting.append(details)
            continue
        about = {"tx_id": details["deposit_details"]}
        if broadcast_id is None:
            pallet.FailedRejections.put([*pallet.FailedRejections.get(), details])
            pallet.deposit(pallet.Event.TransactionRejectionFailed, **about)
        else:
            pallet.deposit(pallet.Event.TransactionRejectedByBroker, broadcast_id=broadcast_id, **about)
    if waiting:
        pallet.ScheduledTransactionsForRejection.put(waiting)


class _CannotBeFetched(Exception):
    """A deposit lies in a contract that is being deployed."""


def _send_back(pallet: IngressEgressStorage, details: dict[str, Any]) -> int | None:
    """Fetch a deposit and pay what both ways cost less; None if that is too little to be sent.

    The fees of a deposit that is too small to be sent back are taken all the same.
    """
    asset, fetch, origin = details["asset"], None, "Vault"
    address = details["deposit_address"]
    if address is not None and pallet.DepositChannelLookup.contains(address):
        fetch, origin = schedule_fetch(pallet, address), "DepositChannel"
        if fetch is None:
            raise _CannotBeFetched
    message = details["refund_ccm_metadata"]
    came = withhold(pallet, asset, details["amount"], ingress_estimate(pallet, asset, origin))
    wanted = egress_estimate(pallet, asset, message and message["channel_metadata"])
    left = withhold(pallet, asset, came.remaining, wanted).remaining
    if left < pallet.EgressDustLimit.get(asset):
        return None
    transfer = {"asset": asset, "amount": left, "destination_address": details["refund_address"][1]}
    fetches = [] if fetch is None else [(asset, fetch)]
    if message is None:
        return _broadcast(pallet, details, reject_call(pallet, fetches, [transfer]))
    if any(fetch_params(pallet, fetches).values()):
        _broadcast(pallet, details, reject_call(pallet, fetches, []))
    return _broadcast(pallet, details, message_call(pallet, with_message(transfer, message)))


def _broadcast(pallet: IngressEgressStorage, details: dict[str, Any], call: Any) -> int:
    broadcast_id = pallet.other(BROADCASTERS[pallet.chain.name]).start(call)
    finalise_fetches(pallet, broadcast_id, [details["deposit_address"]])
    return broadcast_id


def _expire_at(pallet: IngressEgressStorage, number: int, broker: bytes, transaction: Any) -> None:
    pallet.ReportExpiresAt.mutate(number, lambda marks: [*marks, (broker, transaction)])


def _marked_transactions(pallet: IngressEgressStorage, deposit: Deposit) -> list[bytes]:
    marks = pallet.TransactionsMarkedForRejection
    return [each for each in _transactions(pallet, deposit) if marks.contains(deposit.broker, each)]


def _transactions(pallet: IngressEgressStorage, deposit: Deposit) -> list[bytes]:
    """By what a broker names the transactions of a deposit; none where it cannot."""
    if deposit.broker is None:
        return []
    if pallet.chain.is_evm:
        return list(deposit.details["tx_hashes"] or ())
    return [deposit.details["id"]["tx_id"]] if pallet.chain.name == "Bitcoin" else []
