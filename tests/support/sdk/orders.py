"""A market maker on a node: a ladder of orders, and its transactions."""

from __future__ import annotations

from cfnode.sdk.lp import LimitOrder, RangeOrder
from cfnode.sdk.lp.orders import Order
from tests.sdk.lp.place import ACCOUNT, Market


def ladder(tick: int, levels: int) -> list[Order]:
    """Return orders on both sides of a price, and a range around it."""
    sells = [LimitOrder("ETH", "sell", n, "0.01", tick=tick + 500 + n) for n in range(levels)]
    buys = [LimitOrder("ETH", "buy", n, "20", tick=tick - 500 - n) for n in range(levels)]
    return [*sells, *buys, RangeOrder("ETH", 0, tick - 10_000, tick + 10_000, 10**12)]


def nonce(place: Market) -> int:
    """Return the number of transactions that the provider has sent."""
    next_nonce: int = place.node.call("system_accountNextIndex", ACCOUNT)
    return next_nonce
