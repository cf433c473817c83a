"""Rows of opened deposit channels, with their account, terms and opening fee."""

from __future__ import annotations

from typing import Any

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import ASSETS
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.rows.context import Context, Handlers, account_text
from cfnode.ledger.rows.known import OTHER, KnownChannel
from cfnode.swaps.events import PRIVATE_ASSET, Name
from cfnode.swaps.identity import opened_channel

__all__ = ["LIQUIDITY", "SWAPPING"]

_NOTHING: dict[str, Any] = dict.fromkeys(
    (
        *("address", "source", "target", "destination", "refund_address", "commission_bps", "boost_bps"),
        *("opening_fee", "expiry_block", "chunks", "chunk_interval", "min_price", "retry_blocks"),
    )
)


def _swap_channel(context: Context, event: DecodedEvent) -> bool:
    fields = event.fields
    if not context.mentions(event):
        return _other(context, event, fields["broker_id"])
    refund, chunks = fields["refund_parameters"] or {}, fields["dca_parameters"] or {}
    _open(
        context,
        event,
        "swap",
        fields["broker_id"],
        fields["source_asset"],
        target=fields["destination_asset"],
        address=address_to_text(fields["deposit_address"]),
        destination=address_to_text(fields["destination_address"]),
        refund_address=address_to_text(refund["refund_address"]) if refund else None,
        commission_bps=fields["broker_commission_rate"],
        boost_bps=fields["boost_fee"],
        opening_fee=fields["channel_opening_fee"],
        expiry_block=fields["source_chain_expiry_block"],
        chunks=chunks.get("number_of_chunks"),
        chunk_interval=chunks.get("chunk_interval"),
        min_price=str(refund["min_price"]) if refund else None,
        retry_blocks=refund["retry_duration"] if refund else None,
        has_message=fields["channel_metadata"] is not None,
    )
    return True


def _liquidity_channel(context: Context, event: DecodedEvent) -> bool:
    return _deposit_only(context, event, "liquidity", "account_id")


def _account_channel(context: Context, event: DecodedEvent) -> bool:
    return _deposit_only(context, event, "account", "requested_by")


def _deposit_only(context: Context, event: DecodedEvent, kind: str, owner: str) -> bool:
    """Add a channel without a swap."""
    fields = event.fields
    if not context.mentions(event):
        return _other(context, event, fields[owner])
    refund = fields.get("refund_address")
    _open(
        context,
        event,
        kind,
        fields[owner],
        fields["asset"],
        address=address_to_text(fields["deposit_address"]),
        refund_address=None if refund is None else address_to_text(refund),
        boost_bps=fields["boost_fee"],
        opening_fee=fields["channel_opening_fee"],
        expiry_block=fields["deposit_chain_expiry_block"],
    )
    return True


def _private_channel(context: Context, event: DecodedEvent) -> bool:
    if not context.mentions(event):
        return False
    _open(context, event, "private", event.fields["broker_id"], PRIVATE_ASSET)
    return True


def _other(context: Context, event: DecodedEvent, owner: bytes) -> bool:
    """Add the channel of another account, if its number is that of a channel in the books.

    Without it, a deposit to it would count as one to the channel that had the number before.
    """
    chain, number = opened_channel(event.name, event.fields) or ("", None)
    if context.known.opening(chain, number) is None:
        return False
    assert number is not None
    opened = KnownChannel(number, account_text(owner), context.block.number, is_other=True)
    address = address_to_text(event.fields["deposit_address"])
    context.known.channels.put_last((chain, number), opened)
    context.known.addresses.put_last((chain, address), opened)
    context.add(event, "channels", kind=OTHER, chain=chain, channel=number, account=opened.account,
                **{**_NOTHING, "has_message": False, "address": address})  # fmt: skip
    return True


def _open(context: Context, event: DecodedEvent, kind: str, owner: bytes, source: str, **terms: Any) -> None:
    chain, number, account = ASSETS[source].chain, event.fields["channel_id"], account_text(owner)
    values = {**_NOTHING, "has_message": False, **terms}
    opened = KnownChannel(number, account, context.block.number, values["expiry_block"])
    context.known.channels.put_last((chain, number), opened)
    if values["address"] is not None:
        context.known.addresses.put_last((chain, values["address"]), opened)
    context.add(event, "channels", kind=kind, chain=chain, channel=number, account=account,
                **{**values, "source": source})  # fmt: skip
    fee = values["opening_fee"] or 0
    context.charge(event, "opening", "Flip", fee, account=account, chain=chain, channel=number,
                   opened=context.block.number)  # fmt: skip
    if fee:
        context.hold(event, owner, "opening", -fee)


SWAPPING: Handlers = {
    Name.SWAP_CHANNEL: _swap_channel,
    Name.ACCOUNT_CHANNEL: _account_channel,
    Name.PRIVATE_CHANNEL: _private_channel,
}
LIQUIDITY: Handlers = {Name.LIQUIDITY_CHANNEL: _liquidity_channel}
