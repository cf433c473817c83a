"""Market that a strategy decides by: a block, prices, balances, orders and fills.

A strategy is a function of a `Market` that returns all orders that shall stand. A live market maker gives its
result to `set_orders`; a replay (`cfnode.testing.replay`) calls it at each block of a recorded market.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from cfnode.core.assets import text_of
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.sdk.amounts import whole_units
from cfnode.sdk.assets import asset_given
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.exchange import Steps, rpc_batch
from cfnode.sdk.lp.answers import (
    Balances,
    Fill,
    block_fills,
    read_balances,
    read_open,
    read_pools,
    reading,
)
from cfnode.sdk.lp.orders import LimitOrder, OpenOrder, Order, Pool, pool_json
from cfnode.sdk.lp.session import account_of
from cfnode.sdk.names import AssetName
from cfnode.sdk.options import ClientSession

__all__ = ["GetMarket", "Market", "Strategy", "market_at"]


@dataclass(frozen=True)
class Market:
    """The market after one block, for a liquidity provider.

    `time`: of the block, Unix milliseconds. `prices`: dollars for a whole unit by asset name, from the feed.
    `balances`: free base units by asset name. `orders`: the account's open orders. `fills`: the amounts that
    swaps took from them in this block. `pools`: names of base and quote asset of each pool.
    """

    block_number: int
    block_hash: str
    time: int
    prices: Mapping[str, Decimal]
    balances: Balances
    orders: tuple[OpenOrder, ...]
    fills: tuple[Fill, ...]
    pools: tuple[Pool, ...]

    def price(self, asset: AssetName) -> Decimal:
        """Return the feed's price of an asset in any spelling; raise ValidationError without one."""
        name = asset_given(asset, "asset").name
        if name not in self.prices:
            names = ", ".join(map(text_of, self.prices)) or "none"
            raise ValidationError.at(
                "asset", f"the feed has no price of {text_of(name)} yet; it has: {names}"
            )
        return self.prices[name]

    def owned(self, asset: AssetName) -> Decimal:
        """Return the whole units that limit orders may offer together: free, and in limit orders now."""
        return whole_units(self.owned_units(asset), asset)

    def owned_units(self, asset: AssetName) -> int:
        """Return the base units that limit orders may offer together: free, and in limit orders now."""
        name = asset_given(asset, "asset").name
        limits = (open_order.order for open_order in self.orders if isinstance(open_order.order, LimitOrder))
        return self.balances.get(name, 0) + sum(order.amount for order in limits if order.sold_asset == name)


Strategy: TypeAlias = Callable[[Market], Iterable[Order]]
"""A function that returns all orders that shall stand."""


@dataclass(frozen=True)
class GetMarket(Call[Market]):
    """Return the market at the best block; `prices` (dollars by asset name) are your feed's.

    `set_orders(strategy(get_market(prices)))` is one round of a market maker.
    """

    prices: Mapping[str, Decimal]

    def __post_init__(self) -> None:
        """Keep `prices` as passed, without the conversion of other calls."""

    def steps(self, session: ClientSession) -> Steps[Market]:
        """Read time, prices, balances, orders and fills at the best block."""
        pool_list, block = yield from rpc_batch(
            session, session.rpc_url, [("cf_available_pools", []), ("chain_getBlockHash", [])]
        )
        pools = reading(session, read_pools, pool_list)
        prices = {asset_given(asset, "prices").name: price for asset, price in self.prices.items()}
        return (yield from market_at(session, block, prices, pools))


def market_at(
    session: ClientSession,
    block: str,
    prices: Mapping[str, Decimal],
    pools: Sequence[Pool],
    pools_with_orders: Collection[Pool] | None = None,
) -> Steps[Market]:
    """Read the market at a block in one exchange; `prices` by asset name.

    Orders are read from all `pools`, or from `pools_with_orders`: then the others must have none.
    """
    account = account_of(session)
    pools_read = [pool for pool in pools if pools_with_orders is None or pool in pools_with_orders]
    questions: list[tuple[str, list[Any]]] = [
        ("state_getStorage", ["0x" + TIMESTAMP_NOW.hex(), block]),
        ("cf_free_balances", [account, block]),
        ("lp_order_fills", [block]),
        *(("cf_pool_orders", [*pool_json(pool).values(), account, False, block]) for pool in pools_read),
    ]
    stored, free, filled, *orders = yield from rpc_batch(session, session.rpc_url, questions)
    block_of_fills = reading(session, block_fills, account, filled)
    return Market(
        block_number=block_of_fills.block_number,
        block_hash=block_of_fills.block_hash,
        time=reading(session, _timestamp, stored),
        prices=MappingProxyType(dict(prices)),
        balances=reading(session, read_balances, free),
        orders=tuple(
            order
            for pool, answer in zip(pools_read, orders, strict=True)
            for order in reading(session, read_open, pool, answer)
        ),
        fills=block_of_fills.fills,
        pools=tuple(pools),
    )


def _timestamp(stored: Any) -> int:
    return int.from_bytes(bytes.fromhex((stored or "0x")[2:]), "little")
