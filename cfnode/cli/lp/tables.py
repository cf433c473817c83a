"""Orders and amounts as cells of tables, in whole units and prices of ten digits."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from cfnode.core.assets import text_of

if TYPE_CHECKING:
    from cfnode.sdk.lp.orders import StandingOrder

__all__ = ["amounts_text", "order_row", "price_text", "whole_text"]


def order_row(order: StandingOrder) -> tuple[str, ...]:
    """Return the cells of an order: asset, side, id, ticks, price, and amount or liquidity."""
    from cfnode.sdk.lp import LimitOrder, price_of_tick

    pool, number = text_of(order.asset), str(order.id)
    if isinstance(order, LimitOrder):
        amount = whole_text(order.amount, order.sold_asset)
        return pool, order.side, number, str(order.tick), price_text(order.price), amount
    ends = [price_text(price_of_tick(tick, order.asset, order.quote)) for tick in (order.lower, order.upper)]
    ticks = f"{order.lower} to {order.upper}"
    return pool, "range", number, ticks, " to ".join(ends), f"liquidity {order.liquidity}"


def amounts_text(balances: dict[str, int]) -> str:
    """Return the amounts above zero in whole units, separated by commas; "0" for none."""
    return ", ".join(whole_text(amount, asset) for asset, amount in balances.items() if amount) or "0"


def whole_text(amount: int, asset: str) -> str:
    """Return an amount in whole units with its asset, such as `0.5 BTC`."""
    from cfnode.core.assets import ASSETS
    from cfnode.core.assets import whole_text as counted

    return counted(amount, ASSETS[asset])


def price_text(price: Decimal) -> str:
    """Return a price with ten significant digits."""
    from cfnode.sdk.lp import rounded

    return rounded(price)
