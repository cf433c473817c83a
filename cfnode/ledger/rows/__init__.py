"""Rows of the books' tables, made of a block's events; each module has those of one group of tables."""

from __future__ import annotations

from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, fields_text
from cfnode.ledger.rows import accounts, channels, deposits, holdings, payouts, swaps
from cfnode.ledger.rows.context import Context, Handler, Handlers, Rows
from cfnode.ledger.rows.known import Known

__all__ = ["Known", "Rows", "UnknownShape", "rows_of"]

MAX_REASON_CHARACTERS = 300
"""Most characters of the reason why an event could not be read."""
_BY_PALLET: dict[str, Handlers] = {
    "Swapping": channels.SWAPPING | swaps.SWAPPING | payouts.SWAPPING | accounts.SWAPPING,
    "LiquidityProvider": channels.LIQUIDITY | payouts.LIQUIDITY,
    "AssetBalances": accounts.BALANCES,
    "TransactionPayment": accounts.PAYMENT,
    "Funding": holdings.FUNDING,
    "Flip": holdings.FLIP_EVENTS,
    "Validator": payouts.KEYS,
    "EvmThresholdSigner": payouts.KEYS,
}
_INGRESS_EGRESS = deposits.INGRESS_EGRESS | payouts.INGRESS_EGRESS
_BROADCASTER = payouts.BROADCASTER


class UnknownShape(ValueError):
    """An event has other fields than this version of cfnode knows; the text has the reason."""


def rows_of(block: DecodedBlock, known: Known) -> Rows:
    """Return the rows of a block, by table; an event of an unknown shape has only one, in `unread`."""
    context = Context(block, known)
    for event in block.events:
        handler = _handler(event)
        if handler is None and known.keeps_all:
            continue
        known.mark((block.number, event.index))
        try:
            _add(context, event, handler)
        except UnknownShape as error:
            known.undo()
            context.forget(event)
            context.add(event, "unread", pallet=event.pallet, name=event.name,
                        fields=fields_text(event.fields),
                        reason=str(error)[:MAX_REASON_CHARACTERS])  # fmt: skip
    return context.rows


def _add(context: Context, event: DecodedEvent, handler: Handler | None) -> None:
    """Add the rows of an event. Raises UnknownShape."""
    try:
        if context.mentions(event) if handler is None else handler(context, event):
            context.add(event, "events", pallet=event.pallet, name=event.name,
                        fields=fields_text(event.fields))  # fmt: skip
            context.check(event)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise UnknownShape(f"{type(error).__name__}: {error}") from None


def _handler(event: DecodedEvent) -> Handler | None:
    if event.pallet.endswith("IngressEgress"):
        return _INGRESS_EGRESS.get(event.name)
    if event.pallet.endswith("Broadcaster"):
        return _BROADCASTER.get(event.name)
    return _BY_PALLET.get(event.pallet, {}).get(event.name)
