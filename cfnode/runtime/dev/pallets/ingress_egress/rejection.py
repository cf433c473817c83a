"""How does a broker refuse a deposit that it does not want to be part of?

It marks the transaction (or its channel) before the deposit counts. Such a deposit becomes no swap: it is
sent back to the refund address, less the fee of the transfer. A mark lasts an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.core.assets import CHAINS
from cfnode.runtime.dev.pallets.broadcast.pallet import BROADCASTERS
from cfnode.runtime.dev.pallets.system import System

from .batching import evm_broadcaster, transfer_params
from .deposits import Deposit
from .fees import egress_estimate, withhold

if TYPE_CHECKING:
    from .pallet import IngressEgress

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


def mark_transaction(pallet: IngressEgress, broker: bytes, transaction: Any) -> None:
    """Refuse a transaction's deposits. TransactionAlreadyPrewitnessed if it is too late."""
    allowed = pallet.Constant.AllowTransactionReports
    pallet.ensure(allowed, pallet.Error.UnsupportedChain)
    known = pallet.TransactionsMarkedForRejection.get(broker, transaction)
    too_late = known is not None and known["prewitnessed"]
    pallet.ensure(not too_late, pallet.Error.TransactionAlreadyPrewitnessed)
    expires_at = pallet.other(System).Number.get() + MARK_BLOCKS
    mark = {"expires_at": expires_at, "prewitnessed": False}
    pallet.TransactionsMarkedForRejection.put(broker, transaction, mark)
    _expire_at(pallet, expires_at, broker, transaction)
    pallet.deposit(
        pallet.Event.TransactionRejectionRequestReceived,
        account_id=broker,
        tx_id=transaction,
        expires_at=expires_at,
    )


def mark_channel(pallet: IngressEgress, broker: bytes, address: Any) -> None:
    """Refuse all further deposits of a channel. CannotMarkChannel if it is another's."""
    channel = pallet.DepositChannelLookup.get(address)
    pallet.ensure(channel is not None, pallet.Error.InvalidDepositAddress)
    pallet.ensure(channel["owner"] == broker, pallet.Error.CannotMarkChannel)
    pallet.DepositChannelLookup.put(address, channel | {"is_marked_for_rejection": True})
    pallet.deposit(pallet.Event.ChannelRejectionRequestReceived, account_id=broker, deposit_address=address)


def expire_marks(pallet: IngressEgress, number: int) -> None:
    """Marks whose deposit has not come in time are gone."""
    marks = pallet.ReportExpiresAt.take(number) if pallet.ReportExpiresAt.contains(number) else ()
    for broker, transaction in marks:
        mark = pallet.TransactionsMarkedForRejection.get(broker, transaction)
        if mark is None or mark["expires_at"] != number:
            continue
        pallet.TransactionsMarkedForRejection.remove(broker, transaction)
        if not mark["prewitnessed"]:
            pallet.deposit(
                pallet.Event.TransactionRejectionRequestExpired, account_id=broker, tx_id=transaction
            )


def is_marked(pallet: IngressEgress, deposit: Deposit) -> bool:
    """Whether somebody wants a deposit sent back, by its transaction or by its channel."""
    if deposit.is_marked:
        return True
    marks = pallet.TransactionsMarkedForRejection
    found = [marks.get(deposit.broker, each) for each in _transactions(pallet, deposit)]
    return any(mark is not None and not mark["prewitnessed"] for mark in found)


def note_prewitnessed(pallet: IngressEgress, deposit: Deposit) -> None:
    """From now on it is too late to mark these transactions."""
    if not pallet.Constant.AllowTransactionReports:
        return
    for transaction in _transactions(pallet, deposit):
        expires_at = pallet.other(System).Number.get() + MARK_BLOCKS
        mark = {"expires_at": expires_at, "prewitnessed": True}
        pallet.TransactionsMarkedForRejection.put(deposit.broker, transaction, mark)
        assert deposit.broker is not None  # there are no transactions without one
        _expire_at(pallet, expires_at, deposit.broker, transaction)


def reject_if_marked(pallet: IngressEgress, deposit: Deposit) -> str | None:
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


def _refund_to(pallet: IngressEgress, deposit: Deposit) -> tuple[Any, Any]:
    """Where a deposit is sent back to, and the message that goes with it."""
    kind, terms = deposit.action
    if kind == "Swap":
        terms = terms["refund_params"]
    elif kind == "Refund":
        terms = terms | {"refund_address": (CHAINS[pallet.chain.name].address, terms["refund_address"])}
    return terms["refund_address"], terms.get("refund_ccm_metadata")


def send_rejected(pallet: IngressEgress) -> None:
    """Send the deposits back that were rejected in this block."""
    for details in pallet.ScheduledTransactionsForRejection.take():
        asset, amount = details["asset"], details["amount"]
        left = withhold(pallet, asset, amount, egress_estimate(pallet, asset)).remaining
        if not left:
            pallet.deposit(pallet.Event.TransactionRejectionFailed, tx_id=details["deposit_details"])
            continue
        broadcast_id = pallet.other(BROADCASTERS[pallet.chain.name]).start(_call(pallet, details, left))
        pallet.deposit(
            pallet.Event.TransactionRejectedByBroker,
            broadcast_id=broadcast_id,
            tx_id=details["deposit_details"],
        )


def _expire_at(pallet: IngressEgress, number: int, broker: bytes, transaction: Any) -> None:
    pallet.ReportExpiresAt.mutate(number, lambda marks: [*marks, (broker, transaction)])


def _call(pallet: IngressEgress, details: dict[str, Any], amount: int) -> Any:
    """On EVM chains: fetch the deposit and send it back, in one call."""
    if not pallet.chain.is_evm:
        return None
    pay = transfer_params(pallet, details["asset"], details["refund_address"][1], amount)
    fetch: dict[str, list[Any]] = {"fetch_deploy_params": [], "fetch_params": []}
    if details["deposit_address"] is None:  # it is in the vault
        return evm_broadcaster(pallet).bound_call("RejectCall", {**fetch, "transfer_params": [pay]})
    channel = pallet.DepositChannelLookup.get(details["deposit_address"])["deposit_channel"]
    if channel["state"] == "Undeployed":
        fetch["fetch_deploy_params"] = [{"channel_id": channel["channel_id"], "asset": pay["asset"]}]
    else:
        fetch["fetch_params"] = [{"contract_address": channel["address"], "asset": pay["asset"]}]
    return evm_broadcaster(pallet).bound_call("RejectCall", {**fetch, "transfer_params": [pay]})


def _transactions(pallet: IngressEgress, deposit: Deposit) -> list[bytes]:
    """By what a broker names the transactions of a deposit; none where it cannot."""
    if deposit.broker is None:
        return []
    if pallet.chain.is_evm:
        return list(deposit.details["tx_hashes"] or ())
    return [deposit.details["id"]["tx_id"]] if pallet.chain.name == "Bitcoin" else []
