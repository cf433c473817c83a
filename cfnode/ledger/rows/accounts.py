"""Rows of accounts: changes of free balances, fees of transactions, and affiliates."""

from __future__ import annotations

from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers, account_text
from cfnode.ledger.rows.swaps import STABLE

__all__ = ["BALANCES", "PAYMENT", "SWAPPING"]


def _credited(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    account = account_text(fields["account_id"])
    amount, asset = fields["amount_credited"], fields["asset"]
    is_moved = _moved(context, event, account, "amount_credited")
    if asset == STABLE and isinstance(amount, int):
        context.credits.append((account, amount))
    return is_moved


def _debited(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    context.last_debit = fields["account_id"], fields["asset"], fields["amount_debited"]
    return _moved(context, event, account_text(fields["account_id"]), "amount_debited")


def _moved(context: Context, event: DecodedEvent, account: str, member: str) -> bool:
    if not context.mentions(event):
        return False
    fields = event.fields
    context.move(event, account, fields["asset"], fields[member], credit=member == "amount_credited",
                 balance=fields.get("new_balance"))  # fmt: skip
    return True


def _paid(context: Context, event: DecodedEvent) -> bool:
    """Add the fee of a transaction."""
    if not context.mentions(event):
        return False
    fields = event.fields
    context.charge(event, "transaction", "Flip", fields["actual_fee"], account=account_text(fields["who"]))
    context.hold(event, fields["who"], "fee", -fields["actual_fee"])
    return True


def _registered(context: Context, event: DecodedEvent) -> bool:
    if not context.mentions(event):
        return False
    fields = event.fields
    context.known.track(fields["affiliate_id"])
    _affiliate(context, event, fields["affiliate_id"], "0x" + fields["withdrawal_address"].hex())
    return True


def _deregistered(context: Context, event: DecodedEvent) -> bool:
    if not context.mentions(event):
        return False
    _affiliate(context, event, event.fields["affiliate_account_id"], None)
    return True


def _affiliate(context: Context, event: DecodedEvent, affiliate: bytes, address: str | None) -> None:
    """Add a row of `affiliates`: registered if there is an address."""
    context.add(
        event,
        "affiliates",
        broker=account_text(event.fields["broker_id"]),
        short_id=event.fields["short_id"],
        account=account_text(affiliate),
        address=address,
        registered=address is not None,
    )


BALANCES: Handlers = {"AccountCredited": _credited, "AccountDebited": _debited}
PAYMENT: Handlers = {"TransactionFeePaid": _paid}
SWAPPING: Handlers = {"AffiliateRegistration": _registered, "AffiliateDeregistration": _deregistered}
