"""Orders and amounts as cells of tables, in whole units and prices of ten digits."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfnode.sdk.lp.orders import StandingOrder

__all__ = ["amounts_text", "order_row", "price_text", "whole_text"]


def order_row(order: StandingOrder) -> tuple[str, ...]:
    from cfnode.sdk.lp import LimitOrder, price_of_tick

    if isinstance(order, LimitOrder):
        amount = whole_text(order.amount, order.sold_asset)
        return order.asset, order.side, str(order.id), str(order.tick), price_text(order.price), amount
    ends = [price_text(price_of_tick(tick, order.asset, order.quote)) for tick in (order.lower, order.upper)]
    ticks = f"{order.lower} to {order.upper}"
    return order.asset, "range", str(order.id), ticks, " to ".join(ends), f"liquidity {order.liquidity}"


def amounts_text(balances: dict[str, int]) -> str:
    return ", ".join(whole_text(amount, asset) for asset, amount in balances.items() if amount) or "0"


def whole_text(amount: int, asset: str) -> str:
    """Return an amount in whole units with its asset, such as `0.5 Btc`."""
    from cfnode.core.assets import ASSETS
    from cfnode.sdk.assets import units

    return f"{units(amount, ASSETS[asset].decimals)} {asset}"


def price_text(price: Decimal) -> str:
    from cfnode.sdk.lp import rounded

    return rounded(price)
