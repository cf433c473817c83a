"""Rows of changes of accounts' FLIP on the State Chain, other than by fees and channels."""

from __future__ import annotations

from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers

__all__ = ["FLIP_EVENTS", "FUNDING"]


def _funded(context: Context, event: DecodedEvent) -> bool:
    return _changed(context, event, "account_id", "funded", event.fields["funds_added"])


def _redeemed(context: Context, event: DecodedEvent) -> bool:
    return _changed(context, event, "account_id", "redemption", -event.fields["amount"])


def _only_taxed(context: Context, event: DecodedEvent) -> bool:
    """Add a redemption of which the tax has left nothing."""
    return _changed(context, event, "account_id", "redemption", 0)


def _rebalanced(context: Context, event: DecodedEvent) -> bool:
    if not context.mentions(event):
        return False
    fields = event.fields
    for account, amount in (
        (fields["source_account_id"], -fields["amount"]),
        (fields["recipient_account_id"], fields["amount"]),
    ):
        if context.keeps(account):
            context.hold(event, account, "rebalanced", amount)
    return True


def _slashed(context: Context, event: DecodedEvent) -> bool:
    return _changed(context, event, "who", "slashed", -event.fields["amount"])


def _reaped(context: Context, event: DecodedEvent) -> bool:
    return _changed(context, event, "who", "reaped", -event.fields["dust_burned"])


def _minted(context: Context, event: DecodedEvent) -> bool:
    """Add a reward of an authority; books of all accounts leave them out, as each block has one."""
    if context.known.keeps_all:
        return False
    return _changed(context, event, "to", "minted", event.fields["amount"])


def _distributed(context: Context, event: DecodedEvent) -> bool:
    if context.known.keeps_all or not context.mentions(event):
        return False
    for account, amount in event.fields["amounts"]:
        if context.keeps(account):
            context.hold(event, account, "reward", amount)
    return True


def _changed(context: Context, event: DecodedEvent, owner: str, kind: str, amount: int) -> bool:
    if not context.mentions(event):
        return False
    context.hold(event, event.fields[owner], kind, amount)
    return True


FUNDING: Handlers = {
    "Funded": _funded,
    "RedemptionRequested": _redeemed,
    "RedemptionAmountZero": _only_taxed,
    "Rebalance": _rebalanced,
}
FLIP_EVENTS: Handlers = {
    "SlashingPerformed": _slashed,
    "AccountReaped": _reaped,
    "FlipMinted": _minted,
    "FlipDistributed": _distributed,
}
