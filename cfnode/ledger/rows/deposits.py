"""Rows of deposits and their fees, and of boosts, which lenders advance."""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.addresses import NETWORKS
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers
from cfnode.ledger.rows.known import BOOST_POOL
from cfnode.swaps.events import Name, is_deposit, transaction_text, transactions_of, variant

__all__ = ["INGRESS_EGRESS"]

BOOST_ACCOUNT: Final = b"cfnode-dev/boost".ljust(32, b"\0")
"""Account that lends for boosts on development chains."""


def _finalised(context: Context, event: DecodedEvent) -> bool:
    action, details = variant(event.fields["action"])
    if not is_deposit(event.name, event.fields):
        return _repaid(context, event, action, details)
    request = details.get("swap_request_id")
    if not _concerns(context, event, request):
        return False
    fee = event.fields["ingress_fee"]
    _deposit(context, event, "finalised", action, request=request, ingress_fee=fee, reason=_reason(details))
    _charge(context, event, "ingress", fee, request)
    if action == "Refund":
        _refund(context, event, details)
    return True


def _repaid(context: Context, event: DecodedEvent, action: str, details: dict[str, Any]) -> bool:
    """Add a boosted deposit that is final now, and pays the lenders back."""
    prewitnessed = details["prewitnessed_deposit_id"]
    request = context.known.boosted_request(event.chain, prewitnessed)
    if request is None and not _concerns(context, event, None):
        return False
    _deposit(context, event, "repaid", action, request=request, prewitnessed=prewitnessed)
    if _has_boost_account(context):
        owed = context.known.boosted_amount(event.chain, prewitnessed) - details["network_fee_from_boost"]
        context.hold(event, BOOST_ACCOUNT, "boost", owed, event.fields["asset"])
    return True


def _boosted(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    action, details = variant(fields["action"])
    request, number = details.get("swap_request_id"), fields["prewitnessed_deposit_id"]
    if not _concerns(context, event, request):
        return False
    lent, charged = _by_source(fields["amounts"]), _by_source(fields["boost_fee"])
    fee = sum(charged.values())
    _deposit(context, event, "boosted", action, request=request, prewitnessed=number, boost_fee=fee,
             ingress_fee=fields["ingress_fee"], amount=sum(lent.values()))  # fmt: skip
    for source, amount in lent.items():
        context.add_part(event, "boosts", state="lent", chain=event.chain, prewitnessed=number, source=source,
                         asset=fields["asset"], amount=amount, fee=charged.get(source, 0),
                         channel=fields["channel_id"],
                         opened=_opened(context, event))  # fmt: skip
    context.known.prewitnessed.put_last((event.chain, number), request)
    if _has_boost_account(context):
        pool = lent.get(BOOST_POOL, 0)
        context.known.boosted.put_last((event.chain, number), pool)
        context.hold(event, BOOST_ACCOUNT, "boost", charged.get(BOOST_POOL, 0) - pool, fields["asset"])
    _charge(context, event, "ingress", fields["ingress_fee"], request)
    _charge(context, event, "boost", fee, request)
    return True


def _has_boost_account(context: Context) -> bool:
    """Return whether the chain keeps its boost pools' funds as the balance of one account without events.

    Development chains do; books of chosen accounts leave it out.
    """
    return context.known.keeps_all and context.known.network is NETWORKS["Development"]


def _not_boosted(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    if not _concerns(context, event, None):
        return False
    context.add_part(event, "boosts", state="refused", chain=event.chain, source=None, asset=fields["asset"],
                     prewitnessed=fields["prewitnessed_deposit_id"], amount=fields["amount_attempted"],
                     fee=0, channel=fields["channel_id"],
                     opened=_opened(context, event))  # fmt: skip
    return True


def _lost(context: Context, event: DecodedEvent) -> bool:
    """Add a boost whose deposit never came: the lenders lose what they advanced."""
    number = event.fields["prewitnessed_deposit_id"]
    if not context.known.keeps_all and context.known.boosted_request(event.chain, number) is None:
        return False
    context.add_part(event, "boosts", state="lost", chain=event.chain, source=None, asset=None,
                     prewitnessed=number, amount=event.fields["amount"], fee=0,
                     channel=event.fields.get("channel_id"),
                     opened=_opened(context, event))  # fmt: skip
    return True


def _failed(context: Context, event: DecodedEvent) -> bool:
    kind, details = variant(event.fields["details"])
    witness = details.get("deposit_witness") or details.get("vault_witness") or {}
    is_vault = "Vault" in kind
    address = None if is_vault else context.address(event.chain, witness.get("deposit_address"))
    channel = context.known.channel_at(event.chain, address)
    if not context.mentions(event) and channel is None:
        return False
    reason = variant(event.fields["reason"])
    asset: str = witness["asset"] if "asset" in witness else witness["input_asset"]
    amount = witness["amount"] if "amount" in witness else witness["deposit_amount"]
    transactions = transactions_of(event.chain, witness.get("deposit_details"))
    transaction = transaction_text(event.chain, transactions[0]) if transactions else None
    account = None if channel is None else channel.account
    context.add(
        event,
        "deposits",
        state="failed",
        chain=event.chain,
        channel=None if channel is None else channel.number,
        opened=None if channel is None else channel.opened,
        account=account,
        address=address,
        asset=asset,
        amount=amount,
        ingress_fee=0,
        boost_fee=0,
        request=None,
        prewitnessed=None,
        action="None",
        reason=reason[0] if reason[0] != "DepositWitnessRejected" else context.error_name(reason[1]),
        origin="Vault" if is_vault else "DepositChannel",
        transaction=transaction,
    )
    if transaction is not None:
        context.known.rejected.put_last((event.chain, transaction), (asset, account))
    return True


def _concerns(context: Context, event: DecodedEvent, request: int | None) -> bool:
    if context.mentions(event):
        return True
    if request is not None:
        return context.known.request(request) is not None
    opening = context.opening(event)
    return opening is not None and not opening.is_other


def _opened(context: Context, event: DecodedEvent) -> int | None:
    opening = context.opening(event)
    return None if opening is None else opening.opened


def _deposit(context: Context, event: DecodedEvent, state: str, action: str, **columns: Any) -> None:
    fields = event.fields
    number = fields["channel_id"]
    transactions = transactions_of(event.chain, fields["deposit_details"])
    values: dict[str, Any] = {
        "state": state,
        "chain": event.chain,
        "channel": number,
        "opened": _opened(context, event),
        "account": _account(context, event, columns.get("request")),
        "address": context.address(event.chain, fields["deposit_address"]),
        "asset": fields["asset"],
        "amount": fields.get("amount"),
        "ingress_fee": 0,
        "boost_fee": 0,
        "prewitnessed": None,
        "action": action,
        "reason": None,
        "origin": variant(fields["origin_type"])[0],
        "transaction": transaction_text(event.chain, transactions[0]) if transactions else None,
    }
    context.add(event, "deposits", **{**values, **columns})


def _account(context: Context, event: DecodedEvent, request: int | None) -> str | None:
    channel = context.opening(event)
    if channel is not None:
        return channel.account
    swap_request = None if request is None else context.known.request(request)
    return None if swap_request is None else swap_request.account


def _charge(context: Context, event: DecodedEvent, kind: str, amount: int, request: int | None) -> None:
    fields = event.fields
    context.charge(event, kind, fields["asset"], amount, request=request, chain=event.chain,
                   channel=fields["channel_id"], opened=_opened(context, event),
                   account=_account(context, event, request))  # fmt: skip


def _refund(context: Context, event: DecodedEvent, details: dict[str, Any]) -> None:
    """Add the payout of a deposit whose swap could not begin, and which is paid back."""
    if details["egress_id"] is not None:
        context.pay(event, "deposit", details["egress_id"], event.fields["asset"], details["amount"],
                    reason=_reason(details))  # fmt: skip


def _reason(details: dict[str, Any]) -> str | None:
    return variant(details["reason"])[0] if "reason" in details else None


def _by_source(amounts: Any) -> dict[str, int]:
    """Return the amounts of a map by lender; its keys are variants with or without a value."""
    by_lender: dict[str, int] = {}
    for source, amount in amounts.items() if isinstance(amounts, dict) else amounts:
        name, details = variant(source)
        text = name if details == {} else f"{name} {details}"
        by_lender[text] = by_lender.get(text, 0) + amount
    return by_lender


INGRESS_EGRESS: Handlers = {
    Name.DEPOSIT_FINALISED: _finalised,
    Name.DEPOSIT_BOOSTED: _boosted,
    Name.DEPOSIT_FAILED: _failed,
    Name.NOT_BOOSTED: _not_boosted,
    Name.BOOST_LOST: _lost,
}
