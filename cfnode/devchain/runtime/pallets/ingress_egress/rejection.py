"""Rejection of deposits that a broker has marked.

A broker marks a transaction (or its channel) before the deposit counts. Such a deposit becomes no swap: it is
sent back to the refund address, less what both ways cost, however little remains. A mark lasts an hour, or
until the deposit is final if it has been noticed before that; a mark that has been used is removed in the
next block. Brokers that the network trusts to screen (`WhitelistedBrokers`) mark in the name of one account,
and their marks count for the deposits of all brokers.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.core.addresses import ForeignAddress
from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS
from cfnode.devchain.runtime.pallets.swap_requests.ccm import tables_of
from cfnode.devchain.runtime.pallets.system import System

from .batching import (
    BatchPayment,
    fetch_id,
    fetch_params,
    finalise_fetches,
    message_call,
    reject_call,
)
from .deposits import Account, Details, PendingDeposit, Transaction, is_boosted
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
Refundable = (
    values.ChannelActionSwap[bytes, values.CheckedCcmDeposit]
    | values.ChannelActionRefund[Account, values.CheckedCcmDeposit]
    | values.ChannelActionLiquidityProvision[bytes]
)
Rejected = values.TransactionRejectionDetails
USED = 0
"""Expiry block of a mark for which a deposit has been rejected."""
SCREENING_ID = bytes.fromhex("026de9d675fae14536ce79a478f4d16215571984b8bad180463fa27ea78d9c4f")


def mark_transaction(pallet: IngressEgressStorage, broker: bytes, transaction: Transaction) -> None:
    """Mark a transaction, so that its deposits are rejected.

    Fails with TransactionAlreadyPrewitnessed if a mark has been noticed already, UnsupportedChain where the
    chain has no marks.
    """
    pallet.ensure(pallet.Constant.AllowTransactionReports, pallet.Error.UnsupportedChain)
    marker = SCREENING_ID if pallet.WhitelistedBrokers.contains(broker) else broker
    expires_at = pallet.other(System).Number.get() + MARK_BLOCKS
    _put_mark(pallet, marker, transaction, expires_at)
    pallet.deposit(
        pallet.Event.TransactionRejectionRequestReceived,
        account_id=broker,
        tx_id=transaction,
        expires_at=expires_at,
    )


def _put_mark(pallet: IngressEgressStorage, marker: bytes, transaction: Transaction, expires_at: int) -> None:
    old_status = pallet.TransactionsMarkedForRejection.get(marker, transaction)
    if old_status is not None and old_status.expires_at == USED:
        return
    is_prewitnessed = old_status is not None and old_status.prewitnessed
    pallet.ensure(not is_prewitnessed, pallet.Error.TransactionAlreadyPrewitnessed)
    mark = values.TransactionRejectionStatus(expires_at=expires_at, prewitnessed=False)
    pallet.TransactionsMarkedForRejection.put(marker, transaction, mark)
    if old_status is None:  # else `expire_marks` puts the first entry off when it is due
        _expire_at(pallet, expires_at, marker, transaction)


def mark_channel(pallet: IngressEgressStorage, broker: bytes, address: Account) -> None:
    """Mark a channel, so that all its further deposits are rejected.

    Fails with CannotMarkChannel if the channel is another broker's, unless the caller screens; with
    InvalidDepositAddress, TransactionAlreadyPrewitnessed, UnsupportedChain.
    """
    pallet.ensure(pallet.Constant.AllowTransactionReports, pallet.Error.UnsupportedChain)
    stored_channel = pallet.DepositChannelLookup.get(address)
    channel = pallet.require(stored_channel, pallet.Error.InvalidDepositAddress)
    may_mark = channel.owner == broker or pallet.WhitelistedBrokers.contains(broker)
    pallet.ensure(may_mark, pallet.Error.CannotMarkChannel)
    boosted = is_boosted(channel.boost_status)
    pallet.ensure(not boosted, pallet.Error.TransactionAlreadyPrewitnessed)
    pallet.DepositChannelLookup.put(address, replace(channel, is_marked_for_rejection=True))
    pallet.deposit(pallet.Event.ChannelRejectionRequestReceived, account_id=broker, deposit_address=address)


def expire_marks(pallet: IngressEgressStorage, number: int) -> None:
    """Remove the marks that were used, and those whose deposit has not come in time.

    A mark that has been noticed waits for its deposit.
    """
    for marker, transaction in pallet.ReportExpiresAt.take(number):
        mark = pallet.TransactionsMarkedForRejection.get(marker, transaction)
        if mark is None:
            continue
        if mark.expires_at == USED:
            pallet.TransactionsMarkedForRejection.remove(marker, transaction)
        elif not mark.prewitnessed and mark.expires_at > number:  # it was renewed
            _expire_at(pallet, mark.expires_at, marker, transaction)
        elif not mark.prewitnessed:
            pallet.TransactionsMarkedForRejection.remove(marker, transaction)
            pallet.deposit(
                pallet.Event.TransactionRejectionRequestExpired, account_id=marker, tx_id=transaction
            )


def is_marked(pallet: IngressEgressStorage, deposit: PendingDeposit) -> bool:
    """Return whether a deposit is to be sent back, by a mark of its transaction or of its channel."""
    if not pallet.Constant.AllowTransactionReports:
        return False
    return deposit.is_marked or bool(_marks(pallet, deposit))


def note_prewitnessed(pallet: IngressEgressStorage, deposit: PendingDeposit) -> None:
    """Note that a deposit's marks have been noticed: they do not expire any more."""
    for marker, transaction in _marks(pallet, deposit):
        mark = pallet.TransactionsMarkedForRejection.known(marker, transaction)
        pallet.TransactionsMarkedForRejection.put(marker, transaction, replace(mark, prewitnessed=True))


def reject_if_marked(pallet: IngressEgressStorage, deposit: PendingDeposit) -> str | None:
    """Have a marked deposit sent back at the end of the block.

    Return the reason for the deposit's failure, or None if it is not marked.
    """
    if not is_marked(pallet, deposit):
        return None
    for marker, transaction in _marks(pallet, deposit):
        _use_mark(pallet, marker, transaction)
    if deposit.action == "Unrefundable":
        return "Unrefundable"
    address, message = _refund_to(pallet, deposit.action)
    details = values.TransactionRejectionDetails(
        deposit_address=deposit.address,
        refund_address=address,
        asset=deposit.asset,
        amount=deposit.amount,
        deposit_details=deposit.details,
        refund_ccm_metadata=message,
    )
    pallet.ScheduledTransactionsForRejection.mutate(lambda queue: [*queue, details])
    return "TransactionRejectedByBroker"


def _use_mark(pallet: IngressEgressStorage, marker: bytes, transaction: Transaction) -> None:
    """Use a mark: it counts for all deposits of its block, and is removed in the next.

    In 2.2.3 it counts for one deposit.
    """
    if not pallet.runtime.release.rules.used_marks_stay:
        return pallet.TransactionsMarkedForRejection.remove(marker, transaction)
    mark = pallet.TransactionsMarkedForRejection.known(marker, transaction)
    if mark.expires_at != USED:
        _expire_at(pallet, pallet.other(System).Number.get() + 1, marker, transaction)
        pallet.TransactionsMarkedForRejection.put(marker, transaction, replace(mark, expires_at=USED))
    return None


def _refund_to(
    pallet: IngressEgressStorage, action: Refundable
) -> tuple[ForeignAddress, values.CheckedCcmDeposit | None]:
    """Return where a deposit is sent back to, and the message that goes with it."""
    match action:
        case values.ChannelActionSwap(refund_params=terms):
            return terms.refund_address, terms.refund_ccm_metadata
        case values.ChannelActionRefund():
            variant = CHAINS[pallet.chain.name].address
            return (variant, action.refund_address), action.refund_ccm_metadata
        case values.ChannelActionLiquidityProvision():
            return action.refund_address, None


def send_rejected(pallet: IngressEgressStorage) -> None:
    """Send rejected deposits back; one that cannot be fetched yet has to wait."""
    remaining = []
    for details in pallet.ScheduledTransactionsForRejection.take():
        fields = {"tx_id": details.deposit_details}
        try:
            broadcast_id = _send_back(pallet, details)
        except _CannotBeFetched:
            remaining.append(details)
        except _CannotBeSentBack as failure:
            pallet.FailedRejections.put([*pallet.FailedRejections.get(), details])
            pallet.deposit(pallet.Event.TransactionRejectionFailed, **fields, reason=str(failure))
        else:
            pallet.deposit(pallet.Event.TransactionRejectedByBroker, broadcast_id=broadcast_id, **fields)
    if remaining:
        pallet.ScheduledTransactionsForRejection.put(remaining)


class _CannotBeFetched(Exception):
    """A deposit lies in a contract that is being deployed."""


class _CannotBeSentBack(Exception):
    """The text is a `RefundFailureReason`."""


def _send_back(pallet: IngressEgressStorage, details: Rejected) -> int:
    """Fetch a deposit, and pay what is left of it after both ways; until 2.3 even if that is nothing.

    Return the broadcast's id. Raises _CannotBeFetched; _CannotBeSentBack for dust, and for a message to
    Solana with lookup tables. Fees are taken even so.
    """
    asset, fetch, origin = details.asset, None, "Vault"
    address = details.deposit_address
    if address is not None and pallet.DepositChannelLookup.contains(address):
        fetch, origin = fetch_id(pallet, address), "DepositChannel"
        if fetch is None:
            raise _CannotBeFetched
    message = details.refund_ccm_metadata
    after_ingress = withhold(pallet, asset, details.amount, ingress_estimate(pallet, asset, origin))
    egress_fee = egress_estimate(pallet, asset, None if message is None else message.channel_metadata)
    net = withhold(pallet, asset, after_ingress.remaining, egress_fee).remaining
    if pallet.runtime.release.rules.rejections_below_dust_fail and net < pallet.EgressDustLimit.get(asset):
        raise _CannotBeSentBack("BelowDustLimit")
    payment = BatchPayment(asset, net, details.refund_address[1])
    fetches = [] if fetch is None else [(asset, fetch)]
    if message is None:
        return _broadcast(pallet, details, reject_call(pallet, fetches, [payment]))
    if any(fetch_params(pallet, fetches)):
        _broadcast(pallet, details, reject_call(pallet, fetches, []))
    if _has_lookup_tables(message):
        raise _CannotBeSentBack("SolanaCcmWithAltsNotSupported")
    return _broadcast(pallet, details, message_call(pallet, payment, message))


def _has_lookup_tables(message: values.CheckedCcmDeposit) -> bool:
    data = message.channel_metadata.ccm_additional_data
    return data != "NotRequired" and bool(tables_of(data.value))


def _broadcast(pallet: IngressEgressStorage, details: Rejected, call: values.EvmApi | None) -> int:
    broadcast_id = pallet.other(BROADCASTERS[pallet.chain.name]).start(call)
    finalise_fetches(pallet, broadcast_id, [details.deposit_address])
    return broadcast_id


def _expire_at(pallet: IngressEgressStorage, number: int, broker: bytes, transaction: Transaction) -> None:
    pallet.ReportExpiresAt.mutate(number, lambda marks: [*marks, (broker, transaction)])


def _marks(pallet: IngressEgressStorage, deposit: PendingDeposit) -> list[tuple[bytes, Transaction]]:
    """Return the marks of a deposit's broker and of the screening account: marker and transaction."""
    if deposit.broker is None:
        return []
    marks = pallet.TransactionsMarkedForRejection
    pairs = [
        (who, transaction)
        for transaction in _transactions(deposit.details)
        for who in (SCREENING_ID, deposit.broker)
    ]
    return [(who, transaction) for who, transaction in pairs if marks.contains(who, transaction)]


def _transactions(details: Details) -> list[Transaction]:
    """Return the names by which a broker marks a deposit's transactions; none where it cannot."""
    match details:
        case values.EvmDepositDetails(hashes):
            return list(hashes or ())
        case values.SolanaDepositChannel(account):
            return [(account, 0)]
        case values.SolanaDepositVaultSwapAccount(account):
            return [account]
        case values.Utxo(id=output):
            return [output.tx_id]
    return []
