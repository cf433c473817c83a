"""Output of --json: orders, books and fills, amounts in base units and prices in whole units, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.cli.lp.tables import price_text
from cfnode.sdk.times import time_text

if TYPE_CHECKING:
    from cfnode.sdk.lp import BlockFills, OrderBook
    from cfnode.sdk.lp.orders import OpenOrder, StandingOrder

__all__ = ["block_document", "book_document", "document", "open_document"]


def document(order: StandingOrder) -> dict[str, Any]:
    """Return an order as JSON: its pool, side, id, and tick or ticks; amounts in base units as text."""
    from cfnode.sdk.lp import LimitOrder

    pool = {"asset": order.asset, "quote": order.quote}
    if isinstance(order, LimitOrder):
        price = price_text(order.price)
        values = {"tick": order.tick, "price": price, "amount": str(order.amount)}
        return {**pool, "side": order.side, "id": order.id, **values}
    values = {"lower": order.lower, "upper": order.upper, "liquidity": str(order.liquidity)}
    return {**pool, "side": "range", "id": order.id, **values}


def open_document(open_order: OpenOrder) -> dict[str, Any]:
    """Return an open order as JSON, with its original amount and the fees it has earned."""
    original = None if open_order.original_amount is None else str(open_order.original_amount)
    fees = _texts(open_order.fees_earned)
    return {**document(open_order.order), "originalAmount": original, "feesEarned": fees}


def book_document(order_book: OrderBook) -> dict[str, Any]:
    """Return the order book of a pool as JSON: bids and asks by tick, and the best prices."""
    sides = {
        name: [
            {"tick": level.tick, "price": price_text(level.price), "amount": str(level.amount)}
            for level in levels
        ]
        for name, levels in (("bids", order_book.bids), ("asks", order_book.asks))
    }
    best_prices = {
        "bestBid": order_book.best_bid,
        "bestAsk": order_book.best_ask,
        "rangePrice": order_book.range_price,
    }
    prices = {name: None if price is None else price_text(price) for name, price in best_prices.items()}
    head = {"blockHash": order_book.block_hash, "asset": order_book.asset, "quote": order_book.quote}
    return {**head, **sides, **prices}


def block_document(block: BlockFills) -> dict[str, Any]:
    """Return the fills of a block as JSON, amounts in base units as text."""
    rows = [
        {
            "asset": fill.asset,
            "quote": fill.quote,
            "side": fill.side or "range",
            "id": fill.id,
            "ticks": fill.ticks,
            "sold": _texts(fill.sold),
            "bought": _texts(fill.bought),
            "fees": _texts(fill.fees),
            "left": str(fill.left),
        }
        for fill in block.fills
    ]
    head = {"blockNumber": block.block_number, "blockHash": block.block_hash}
    return {**head, "time": time_text(block.timestamp), "fills": rows}


def _texts(balances: dict[str, int]) -> dict[str, str]:
    return {asset: str(amount) for asset, amount in balances.items()}
