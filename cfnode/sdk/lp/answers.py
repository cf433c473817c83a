"""Records of a node's answers about balances, pools, orders and fills.

A malformed answer raises BadAnswer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from cfnode.core.assets import ASSETS, asset_by_symbol
from cfnode.core.foreign import whole_number
from cfnode.sdk.assets import name_of
from cfnode.sdk.errors import BadAnswer
from cfnode.sdk.exchange import origin_of
from cfnode.sdk.lp.orders import LimitOrder, OpenOrder, Pool, RangeOrder, StandingOrder
from cfnode.sdk.lp.prices import Side, price_at_square_root, price_of_tick
from cfnode.sdk.names import AssetName
from cfnode.sdk.options import ClientSession

__all__ = [
    "Balances",
    "BlockFills",
    "Fill",
    "Level",
    "OrderBook",
    "block_fills",
    "order_book",
    "read_balances",
    "read_closed",
    "read_open",
    "read_pools",
    "read_square_root",
    "reading",
]

T = TypeVar("T")
Balances: TypeAlias = dict[str, int]
"""Base units by asset name (`Btc`, `ArbEth`)."""


@dataclass(frozen=True)
class Level:
    """All limit orders of one side at one tick.

    `price` is the exact price of the tick, in whole units. `amount` is base units of the asset on sale: the
    base asset of an ask, the quote asset of a bid.
    """

    tick: int
    price: Decimal
    amount: int


@dataclass(frozen=True)
class OrderBook:
    """The limit orders of a pool by tick, best first, and its prices, exact and in whole units.

    `bids` buy the base asset, `asks` sell it. `best_bid` and `best_ask` are the prices that a swap meets
    first, range orders and their fee included (None: nothing is on sale); `range_price` is the price of the
    range orders without their fee. All values are of the block `block_hash`.
    """

    asset: AssetName
    quote: AssetName
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    best_bid: Decimal | None
    best_ask: Decimal | None
    range_price: Decimal
    block_hash: str


@dataclass(frozen=True)
class Fill:
    """The amounts that swaps have taken from an order in one block, in base units.

    Limit order: `sold` and `bought` by asset name have one entry each; `left` is the amount that remains to
    be sold. Range order: `side` is None, `sold` is empty, `bought` is what the order gained, `left` is its
    liquidity.
    """

    asset: AssetName
    quote: AssetName
    side: Side | None
    id: int
    ticks: tuple[int, ...]
    sold: Balances
    bought: Balances
    fees: Balances
    left: int


@dataclass(frozen=True)
class BlockFills:
    """The fills of the account's orders in one finalized block; `timestamp` in Unix milliseconds."""

    block_number: int
    block_hash: str
    timestamp: int
    fills: tuple[Fill, ...]


def reading(session: ClientSession, read: Callable[..., T], *arguments: Any) -> T:
    """Return `read(*arguments)`; raise BadAnswer if a member is missing or of another type."""
    try:
        return read(*arguments)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        url = origin_of(session.rpc_url)
        text = f"unexpected answer of {url}: {type(error).__name__}: {error!s:.100}"
        raise BadAnswer(text, url=url, sent=True, retryable=False) from None


def read_balances(answer: Any) -> Balances:
    """Return the balances by asset; assets unknown to this version are left out."""
    units_by_symbol = {
        (chain, symbol): units for chain, row in answer.items() for symbol, units in row.items()
    }
    return {
        asset.name: whole_number(units_by_symbol[asset.chain, asset.symbol])
        for asset in ASSETS.values()
        if (asset.chain, asset.symbol) in units_by_symbol
    }


def read_pools(answer: Any) -> tuple[Pool, ...]:
    """Return all pools, by base and quote asset."""
    return tuple((_asset(pool["base"]), _asset(pool["quote"])) for pool in answer)


def read_open(pool: Pool, answer: Any) -> tuple[OpenOrder, ...]:
    """Return the open orders of a pool: limit orders that sell, that buy, then range orders."""
    return tuple(_open(pool, answer))


def _open(pool: Pool, answer: Any) -> Iterator[OpenOrder]:
    base, quote = pool
    sides: tuple[tuple[Side, str, str], ...] = (("sell", "asks", quote), ("buy", "bids", base))
    for side, name, earned in sides:
        for entry in answer["limit_orders"][name]:
            if amount := whole_number(entry["sell_amount"]):
                order = LimitOrder(
                    base, side, whole_number(entry["id"]), amount, tick=entry["tick"], quote=quote
                )
                fees = {earned: whole_number(entry["fees_earned"])}
                yield OpenOrder(order, whole_number(entry["original_sell_amount"]), fees)
    for entry in answer["range_orders"]:
        if liquidity := whole_number(entry["liquidity"]):
            ends = entry["range"]["start"], entry["range"]["end"]
            range_order = RangeOrder(base, whole_number(entry["id"]), *ends, liquidity, quote=quote)
            yield OpenOrder(range_order, None, _by_asset(pool, entry["fees_earned"]))


def read_square_root(answer: Any) -> int:
    """Return the √price of a pool's range orders, with 96 fractional bits, of `cf_pool_price_v2`."""
    return whole_number(answer["range_order"])


def read_closed(answer: Any) -> tuple[StandingOrder, ...]:
    """Return the orders that a cancellation has closed, as they stood before it.

    An answer with NoWait has none.
    """
    if "tx_details" not in answer:
        return ()
    return tuple(_closed(order) for order in answer["tx_details"]["response"])


def _closed(closed_order: Any) -> StandingOrder:
    ((kind, order),) = closed_order.items()
    pool = _pool(order)
    if kind == "LimitOrder":
        amount = whole_number(order["sell_amount_change"]["decrease"])
        side = order["side"]
        return LimitOrder(pool[0], side, whole_number(order["id"]), amount, tick=order["tick"], quote=pool[1])
    ends = order["tick_range"]["start"], order["tick_range"]["end"]
    liquidity = whole_number(order["size_change"]["decrease"]["liquidity"])
    return RangeOrder(pool[0], whole_number(order["id"]), *ends, liquidity, quote=pool[1])


def order_book(pool: Pool, levels: int, block: Any, liquidity: Any, prices: Any) -> OrderBook:
    """Return the order book of `cf_pool_liquidity` (at most `levels` a side) and `cf_pool_price_v2`."""

    def side(name: str, *, falling: bool) -> tuple[Level, ...]:
        rows = [
            (int(level["tick"]), whole_number(level["amount"])) for level in liquidity["limit_orders"][name]
        ]
        best = sorted((row for row in rows if row[1]), reverse=falling)[:levels]
        return tuple(Level(tick, price_of_tick(tick, *pool), amount) for tick, amount in best)

    def price(root: Any) -> Decimal:
        return price_at_square_root(whole_number(root), ASSETS[pool[0]], ASSETS[pool[1]])

    bid, ask = (None if prices[name] is None else price(prices[name]) for name in ("sell", "buy"))
    bids, asks = side("bids", falling=True), side("asks", falling=False)
    return OrderBook(*pool, bids, asks, bid, ask, price(prices["range_order"]), str(block))


def block_fills(account: str, answer: Any) -> BlockFills:
    """Return the account's fills of one block."""
    entries = (next(iter(entry.items())) for entry in answer["fills"])
    account_fills = tuple(_fill(kind, fill) for kind, fill in entries if fill["lp"] == account)
    milliseconds = int(answer["timestamp"]) * 1000
    return BlockFills(int(answer["block_number"]), str(answer["block_hash"]), milliseconds, account_fills)


def _fill(kind: str, fill: Any) -> Fill:
    base, quote = pool = _pool(fill)
    if kind == "range_order":
        ends = int(fill["range"]["start"]), int(fill["range"]["end"])
        bought, fees = _by_asset(pool, fill["bought_amounts"]), _by_asset(pool, fill["fees"])
        return Fill(
            base,
            quote,
            None,
            whole_number(fill["id"]),
            ends,
            {},
            bought,
            fees,
            whole_number(fill["liquidity"]),
        )
    side: Side = "sell" if fill["side"] == "sell" else "buy"
    gives, gets = (base, quote) if side == "sell" else (quote, base)
    return Fill(
        base,
        quote,
        side,
        whole_number(fill["id"]),
        (int(fill["tick"]),),
        {gives: whole_number(fill["sold"])},
        {gets: whole_number(fill["bought"])},
        {gets: whole_number(fill["fees"])},
        whole_number(fill["remaining"]),
    )


def _by_asset(pool: Pool, pair: Any) -> Balances:
    return {pool[0]: whole_number(pair["base"]), pool[1]: whole_number(pair["quote"])}


def _pool(order: Any) -> Pool:
    return _asset(order["base_asset"]), _asset(order["quote_asset"])


def _asset(value: Any) -> AssetName:
    return name_of(asset_by_symbol(value["chain"], value["asset"]))
