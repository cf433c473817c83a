"""How does a broker refuse a deposit that it does not want to be part of?

It marks the transaction (or its channel) before the deposit counts. Such a deposit becomes no swap: it is
sent back to the refund address, less the fee of the transfer. A mark lasts an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.runtime.dev.pallets.broadcast.pallet import BROADCASTERS
from cfnode.runtime.dev.pallets.system import System

from .batching import evm_broadcaster, transfer_params
from .deposits import deposit_failed
from .fees import egress_estimate, withhold

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = [
    "expire_marks",
    "is_rejected",
    "mark_channel",
    "mark_transaction",
    "note_prewitnessed",
    "reject",
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


def is_rejected(pallet: IngressEgress, channel: dict[str, Any], witness: dict[str, Any]) -> bool:
    """Whether a deposit is marked, by its transaction or by its channel."""
    if channel["is_marked_for_rejection"]:
        return True
    marks = pallet.TransactionsMarkedForRejection
    found = [marks.get(channel["owner"], each) for each in _transactions(pallet, witness)]
    return any(mark is not None and not mark["prewitnessed"] for mark in found)


def note_prewitnessed(pallet: IngressEgress, channel: dict[str, Any], witness: dict[str, Any]) -> None:
    """From now on it is too late to mark these transactions."""
    if not pallet.Constant.AllowTransactionReports:
        return
    for transaction in _transactions(pallet, witness):
        expires_at = pallet.other(System).Number.get() + MARK_BLOCKS
        mark = {"expires_at": expires_at, "prewitnessed": True}
        pallet.TransactionsMarkedForRejection.put(channel["owner"], transaction, mark)
        _expire_at(pallet, expires_at, channel["owner"], transaction)


def reject(pallet: IngressEgress, channel: dict[str, Any], witness: dict[str, Any], height: int) -> None:
    """Have a marked deposit sent back at the end of the block."""
    for transaction in _transactions(pallet, witness):
        pallet.TransactionsMarkedForRejection.remove(channel["owner"], transaction)
    _, action = channel["action"]
    details = {
        "deposit_address": witness["deposit_address"],
        "refund_address": action["refund_params"]["refund_address"],
        "asset": witness["asset"],
        "amount": witness["amount"],
        "deposit_details": witness["deposit_details"],
        "refund_ccm_metadata": None,
    }
    pallet.ScheduledTransactionsForRejection.mutate(lambda queue: [*queue, details])
    deposit_failed(pallet, witness, height, "TransactionRejectedByBroker")


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
    channel = pallet.DepositChannelLookup.get(details["deposit_address"])["deposit_channel"]
    fetch: dict[str, list[Any]] = {"fetch_deploy_params": [], "fetch_params": []}
    if channel["state"] == "Undeployed":
        fetch["fetch_deploy_params"] = [{"channel_id": channel["channel_id"], "asset": pay["asset"]}]
    else:
        fetch["fetch_params"] = [{"contract_address": channel["address"], "asset": pay["asset"]}]
    return evm_broadcaster(pallet).bound_call("RejectCall", {**fetch, "transfer_params": [pay]})


def _transactions(pallet: IngressEgress, witness: dict[str, Any]) -> list[bytes]:
    """By what a broker names the transactions of a deposit; none where it cannot."""
    details = witness["deposit_details"]
    if pallet.chain.is_evm:
        return list(details["tx_hashes"] or ())
    return [details["id"]["tx_id"]] if pallet.chain.name == "Bitcoin" else []
