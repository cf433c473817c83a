"""Library for market makers: exact prices, typed orders, clients of a liquidity provider's node.

    from cfnode.sdk.lp import LimitOrder, LiquidityProvider

    with LiquidityProvider("http://127.0.0.1:9944", "cF…", cancel_on_exit=True) as lp:
        lp.set_orders([LimitOrder("BTC", "sell", 1, "0.5", price="100100")])

`AsyncLiquidityProvider` has the same methods as coroutines, for trio and asyncio.
"""

from cfnode.sdk.lp.answers import BlockFills, Fill, Level, OrderBook
from cfnode.sdk.lp.client import AsyncLiquidityProvider, LiquidityProvider
from cfnode.sdk.lp.errors import OrdersIncomplete
from cfnode.sdk.lp.live import live_balances, live_book
from cfnode.sdk.lp.market import Market, Strategy
from cfnode.sdk.lp.orders import LimitOrder, OpenOrder, RangeOrder, RangeOrderByAmounts
from cfnode.sdk.lp.planning import Plan
from cfnode.sdk.lp.prices import base_units, price_of_tick, rounded, tick_of_price, whole_units
from cfnode.sdk.lp.streaming import live_fills

__all__ = [
    "AsyncLiquidityProvider",
    "BlockFills",
    "Fill",
    "Level",
    "LimitOrder",
    "LiquidityProvider",
    "Market",
    "OpenOrder",
    "OrderBook",
    "OrdersIncomplete",
    "Plan",
    "RangeOrder",
    "RangeOrderByAmounts",
    "Strategy",
    "base_units",
    "live_balances",
    "live_book",
    "live_fills",
    "price_of_tick",
    "rounded",
    "tick_of_price",
    "whole_units",
]
