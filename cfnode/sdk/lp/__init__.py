"""Library for market makers: exact prices, typed orders, clients of a liquidity provider's node.

    from cfnode.sdk.lp import LimitOrder, LiquidityProvider

    account = "cFM6ZcrDUtrcUDFCDJZQ6bX9iA9z8w1zVd3PhBukicFpnK6FD"  # that of --dev-lp //Bob
    with LiquidityProvider("http://127.0.0.1:9944", account, cancel_on_exit=True) as lp:
        plan = lp.set_orders([LimitOrder("ETH", "sell", 1, "0.5", price="100100")])
        print(plan.calls, "call:", lp.get_orders()[0].order)

`AsyncLiquidityProvider` has the same methods as coroutines, for trio and asyncio.
"""

from cfnode.sdk.amounts import Quantity, base_units, whole_units
from cfnode.sdk.lp.answers import Balances, BlockFills, Fill, Level, OrderBook
from cfnode.sdk.lp.best_block_feeds import live_balances, live_book
from cfnode.sdk.lp.client import AsyncLiquidityProvider, LiquidityProvider
from cfnode.sdk.lp.errors import OrdersIncomplete
from cfnode.sdk.lp.market import Market, Strategy
from cfnode.sdk.lp.orders import (
    Key,
    LimitOrder,
    OpenOrder,
    Order,
    Pool,
    RangeOrder,
    RangeOrderByAmounts,
    StandingOrder,
)
from cfnode.sdk.lp.planning import Plan
from cfnode.sdk.lp.prices import Side, price_of_tick, rounded, tick_of_price
from cfnode.sdk.lp.session import WaitFor
from cfnode.sdk.lp.streaming import live_fills

__all__ = [
    "AsyncLiquidityProvider",
    "Balances",
    "BlockFills",
    "Fill",
    "Key",
    "Level",
    "LimitOrder",
    "LiquidityProvider",
    "Market",
    "OpenOrder",
    "Order",
    "OrderBook",
    "OrdersIncomplete",
    "Plan",
    "Pool",
    "Quantity",
    "RangeOrder",
    "RangeOrderByAmounts",
    "Side",
    "StandingOrder",
    "Strategy",
    "WaitFor",
    "base_units",
    "live_balances",
    "live_book",
    "live_fills",
    "price_of_tick",
    "rounded",
    "tick_of_price",
    "whole_units",
]
