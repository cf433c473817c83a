"""Rows of payouts, of the broadcasts that carry them, and of their outcomes and failures."""

from __future__ import annotations

from functools import partial
from typing import Any

from cfnode.core.addresses import address_to_text
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers, account_text
from cfnode.swaps.events import (
    KEY_PALLETS,
    Name,
    is_key_event,
    transaction_text,
    transactions_of,
    variant,
)

__all__ = ["BROADCASTER", "INGRESS_EGRESS", "KEYS", "LIQUIDITY", "SWAPPING"]


def _output(context: Context, event: DecodedEvent) -> bool:
    return _from_request(context, event, "swap")


def _refund(context: Context, event: DecodedEvent) -> bool:
    return _from_request(context, event, "refund")


def _from_request(context: Context, event: DecodedEvent, kind: str) -> bool:
    """Add a payout: by the event's fields scheduled, ignored, or credited to an account of the chain."""
    fields = event.fields
    number = fields["swap_request_id"]
    request = context.known.request(number)
    if request is None and not context.mentions(event):
        return False
    account = None if request is None else request.account
    columns: dict[str, Any] = {"request": number, "account": account}
    if request is not None:
        columns["destination"] = request.destination if kind == "swap" else request.refund_address
    if "account_id" in fields:
        columns |= {"destination": account_text(fields["account_id"]), "state": "credited"}
    elif "reason" in fields:
        reason, explanation = context.explained(fields["reason"])
        columns |= {"state": "ignored", "reason": reason, "explanation": explanation}
    context.pay(event, kind, fields.get("egress_id"), fields["asset"], fields["amount"], **columns)
    if "egress_fee" in fields:
        amount, asset = fields["egress_fee"]
        context.charge(event, "egress", asset, amount, account=account, request=number)
    context.charge(
        event, "refund", fields["asset"], fields.get("refund_fee", 0), account=account, request=number
    )
    return True


def _withdrawal(context: Context, event: DecodedEvent) -> bool:
    if not context.mentions(event):
        return False
    fields = event.fields
    account = account_text(fields["account_id"])
    context.pay(event, "withdrawal", fields["egress_id"], fields["egress_asset"], fields["egress_amount"],
                account=account, destination=address_to_text(fields["destination_address"]))  # fmt: skip
    context.charge(event, "egress", fields["egress_asset"], fields["egress_fee"], account=account)
    return True


def _liquidity_withdrawal(context: Context, event: DecodedEvent) -> bool:
    """Add a withdrawal of liquidity, of the account whose debit of the amount and its fee comes before it.

    The event does not name the account.
    """
    fields = event.fields
    owner, *debited = context.last_debit or (b"", "", 0)
    is_known = debited == [fields["asset"], fields["amount"] + fields["fee"]]
    if not context.known.keeps_all and not (is_known and context.keeps(owner)):
        return False
    account = account_text(owner) if is_known else None
    context.pay(event, "liquidity", fields["egress_id"], fields["asset"], fields["amount"], account=account,
                destination=address_to_text(fields["destination_address"]))  # fmt: skip
    context.charge(event, "egress", fields["asset"], fields["fee"], account=account)
    return True


def _batch(context: Context, event: DecodedEvent) -> bool:
    return _broadcast(context, event, event.fields["egress_ids"])


def _message(context: Context, event: DecodedEvent) -> bool:
    return _broadcast(context, event, [event.fields["egress_id"]])


def _broadcast(context: Context, event: DecodedEvent, egresses: list[tuple[str, int]]) -> bool:
    known, number = context.known, event.fields["broadcast_id"]
    known_egresses = [
        egress_id for egress_id in egresses if known.keeps_all or known.payout(*egress_id) is not None
    ]
    for chain, egress in known_egresses:
        context.add_part(event, "broadcasts", chain=chain, broadcast=number, egress=egress)
    if known_egresses:
        known.broadcasts.put_last((event.chain, number), True)
    return bool(known_egresses)


def _invalid_message(context: Context, event: DecodedEvent) -> bool:
    chain, number = event.fields["egress_id"]
    payout = context.known.payout(chain, number)
    if payout is None:
        return context.known.keeps_all
    context.pay(event, payout.kind, (chain, number), payout.asset, payout.amount, state="invalid",
                account=payout.account, request=payout.request, destination=payout.destination,
                reason=variant(event.fields["error"])[0])  # fmt: skip
    return True


def _rejected(context: Context, event: DecodedEvent) -> bool:
    """Add the payout of a deposit that its broker rejected; the event has no amount."""
    chain, number = event.chain, event.fields["broadcast_id"]
    transactions = transactions_of(chain, event.fields["tx_id"])
    transaction = transaction_text(chain, transactions[0]) if transactions else None
    deposit = None if transaction is None else context.known.rejected_deposit(chain, transaction)
    if deposit is None:
        return context.known.keeps_all
    asset, account = deposit
    context.pay(event, "rejection", None, asset, None, account=account, broadcast=number, reason=transaction)
    context.add_part(event, "broadcasts", chain=chain, broadcast=number, egress=None)
    context.known.broadcasts.put_last((chain, number), True)
    return True


def _not_taken(context: Context, event: DecodedEvent) -> bool:
    """Add a transfer that its receiver rejected; a call that pays it again is being signed."""
    fields, chain = event.fields, event.chain
    asset, amount = fields["asset"], fields["amount"]
    destination = context.address(chain, fields["destination_address"])
    assert destination is not None
    egress = context.known.failed_payout(asset, amount, destination, _succeeded(context, chain))
    if egress is None and not context.known.keeps_all:
        return False
    context.add(event, "failures", chain=chain, asset=asset, amount=amount, destination=destination,
                broadcast=fields["broadcast_id"], egress=egress)  # fmt: skip
    context.known.broadcasts.put_last((chain, fields["broadcast_id"]), True)
    return True


def _succeeded(context: Context, chain: str) -> list[int]:
    """Return the broadcasts of a chain that succeed in this block."""
    ended = [event for event in context.block.events if event.name == Name.SUCCEEDED and event.chain == chain]
    return [event.fields["broadcast_id"] for event in ended]


def _outcome(context: Context, event: DecodedEvent, state: str) -> bool:
    number = event.fields["broadcast_id"]
    if not context.known.broadcast(event.chain, number):
        return False
    transaction = transaction_text(event.chain, event.fields.get("transaction_ref"))
    context.add(event, "outcomes", chain=event.chain, broadcast=number, state=state, transaction=transaction)
    return True


def _key(context: Context, event: DecodedEvent) -> bool:
    """Keep an event of a rotation, which decides whether the signature of a payout is an old one."""
    return is_key_event(event.pallet, event.name, event.fields)


SWAPPING: Handlers = {
    Name.OUTPUT_SCHEDULED: _output,
    Name.OUTPUT_IGNORED: _output,
    Name.OUTPUT_CREDITED: _output,
    Name.REFUND_SCHEDULED: _refund,
    Name.REFUND_IGNORED: _refund,
    Name.REFUND_CREDITED: _refund,
    "WithdrawalRequested": _withdrawal,
}
LIQUIDITY: Handlers = {"WithdrawalEgressScheduled": _liquidity_withdrawal}
INGRESS_EGRESS: Handlers = {
    Name.BATCH: _batch,
    Name.MESSAGE: _message,
    Name.MESSAGE_INVALID: _invalid_message,
    Name.MESSAGE_FAILED: partial(_outcome, state="refused"),
    Name.DEPOSIT_REJECTED: _rejected,
    Name.TRANSFER_REJECTED: _not_taken,
    Name.CALL_EXPIRED: partial(_outcome, state="expired"),
    Name.CALL_OUTDATED: partial(_outcome, state="outdated"),
}
BROADCASTER: Handlers = {
    Name.SIGNED: partial(_outcome, state="sent"),
    Name.SUCCEEDED: partial(_outcome, state="success"),
    Name.ABORTED: partial(_outcome, state="aborted"),
    Name.TIMED_OUT: partial(_outcome, state="timeout"),
    Name.RESIGNED: partial(_outcome, state="signed"),
}
KEYS: Handlers = dict.fromkeys(KEY_PALLETS, _key)
