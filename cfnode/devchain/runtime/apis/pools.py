"""`CustomRuntimeApi` methods for pools, their prices, depth and order books, and for oracle prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cfnode.core.amm import (
    MAX_TICK,
    MIN_TICK,
    AmmPool,
    OrderRefused,
    price_of,
    required_ratio,
    sqrt_price_of_amounts,
    tick_at,
)
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, method, struct
from cfnode.devchain.runtime.pallets.oracle import FEEDS, OracleFeed
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.stored import STABLE
from cfnode.devchain.runtime.pallets.pools.trading import direction

from .answers import Answer, or_message

__all__ = ["PoolsApi"]

MAX_OFFERS = 16_384

struct(
    "pallet_cf_elections::electoral_systems::oracle_price::chainlink::OraclePrice",
    price="Price",
    updated_at_oracle_timestamp="u64",
    updated_at_statechain_block="u32",
    base_asset="PriceAsset",
    quote_asset="PriceAsset",
    price_status="PriceStatus",
)


class PoolsApi(RuntimeApi):
    """Prices, depths and orders of the pools."""

    api = "CustomRuntimeApi"

    @method("Vec<PoolPairsMap<Asset>>")
    def cf_pools(self) -> list[Mapping[str, str]]:
        """All pools, each by its two assets."""
        return [pair.assets for pair, _ in self.other(PoolsStorage).Pools.items()]

    @method("Option<PoolPriceV1>", from_="Asset", to="Asset")
    def cf_pool_price(self, from_: str, to: str) -> values.PoolPriceV1 | None:
        """Return the price at which a swap in this direction begins, None if there is no such pool."""
        if (from_ == STABLE) == (to == STABLE):
            return None
        asset, sold = direction(from_, to)
        if asset not in self.other(PoolsStorage).assets():
            return None
        sqrt_price = self._pool(asset, STABLE).price(sold)
        if sqrt_price is None:
            return None
        return values.PoolPriceV1(price=price_of(sqrt_price), sqrt_price=sqrt_price, tick=tick_at(sqrt_price))

    @method("Result<PoolPrice<SqrtPrice>, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_price_v2(self, base_asset: str, quote_asset: str) -> Answer[values.PoolPrice[int]]:
        """Selling, buying and middle price, as square roots."""

        def answer() -> values.PoolPrice[int]:
            pool = self._pool(base_asset, quote_asset)
            return values.PoolPrice(
                sell=pool.price("base"),
                buy=pool.price("quote"),
                range_order=pool.range_orders.current_sqrt_price,
            )

        return or_message(answer)

    @method("Result<PoolInfo, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_info(self, base_asset: str, quote_asset: str) -> Answer[values.PoolInfo]:
        """Return a pool's fee, and sums of its swaps."""

        def answer() -> values.PoolInfo:
            pool = self._pool(base_asset, quote_asset)
            return values.PoolInfo(
                range_order_fee_hundredth_pips=pool.range_orders.fee_hundredth_pips,
                range_order_total_fees_earned=pool.range_orders.total_fees_earned,
                range_total_swap_inputs=pool.range_orders.total_swap_inputs,
                limit_total_swap_inputs=pool.limit_orders.total_swap_inputs,
            )

        return or_message(answer)

    @method(
        "Result<AskBidMap<UnidirectionalPoolDepth>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        tick_range="Range<i32>",
    )
    def cf_pool_depth(
        self, base_asset: str, quote_asset: str, tick_range: Mapping[str, int]
    ) -> Answer[values.AskBidMap[values.UnidirectionalPoolDepth]]:
        """Return what the pool pays out in all between two ticks."""

        def answer() -> values.AskBidMap[values.UnidirectionalPoolDepth]:
            pools, pool = self.other(PoolsStorage), self._pool(base_asset, quote_asset)
            lower, upper = tick_range["start"], tick_range["end"]
            valid = all(MIN_TICK <= tick <= MAX_TICK for tick in (lower, upper))
            pools.ensure(valid, pools.Error.InvalidTick)
            pools.ensure(lower <= upper, pools.Error.InvalidTickRange)
            return values.AskBidMap(
                asks=_depth(pool, "base", lower, upper), bids=_depth(pool, "quote", lower, upper)
            )

        return or_message(answer)

    @method("Result<PoolLiquidity, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_liquidity(self, base_asset: str, quote_asset: str) -> Answer[values.PoolLiquidity]:
        """Return the liquidity that begins at each tick."""

        def answer() -> values.PoolLiquidity:
            pool, total, ranges = self._pool(base_asset, quote_asset), 0, []
            for tick, tick_data in sorted(pool.range_orders.liquidity_map.items()):
                total += tick_data["liquidity_delta"]
                ranges.append(values.RangeOrderLiquidity(tick=tick, liquidity=total))
            limits = values.AskBidMap(asks=_limits(pool, "base"), bids=_limits(pool, "quote"))
            return values.PoolLiquidity(limit_orders=limits, range_orders=ranges)

        return or_message(answer)

    @method(
        "Result<PoolOrderbook, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        orders="u32",
    )
    def cf_pool_orderbook(
        self, base_asset: str, quote_asset: str, orders: int
    ) -> Answer[values.PoolOrderbook]:
        """Return the liquidity of both sides between prices that are a factor apart, each as one order."""

        def answer() -> values.PoolOrderbook:
            pool, count = self._pool(base_asset, quote_asset), max(1, min(orders, MAX_OFFERS))
            asks = [_offer(base, quote) for quote, base in pool.offers("quote", count)]
            bids = [_offer(base, quote) for base, quote in pool.offers("base", count)]
            return values.PoolOrderbook(bids=bids, asks=asks)

        return or_message(answer)

    @method(
        "Result<PoolPairsMap<U256>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        tick_range="Range<i32>",
    )
    def cf_required_asset_ratio_for_range_order(
        self, base_asset: str, quote_asset: str, tick_range: Mapping[str, int]
    ) -> Answer[Mapping[str, int]]:
        """In which ratio a range order takes both assets at the present price."""

        def answer() -> Mapping[str, int]:
            pools, pool = self.other(PoolsStorage), self._pool(base_asset, quote_asset)
            try:
                return required_ratio(pool.range_orders, tick_range["start"], tick_range["end"])
            except OrderRefused as refusal:
                pools.fail(pools.Error[str(refusal)])

        return or_message(answer)

    @method("Vec<OraclePrice>", base_and_quote_asset="Option<(PriceAsset, PriceAsset)>")
    def cf_oracle_prices(self, base_and_quote_asset: tuple[str, str] | None) -> list[values.OraclePrice]:
        """Return the prices of the oracle in dollars, of all feeds or of one."""
        prices = []
        readings = dict(self.other(OracleFeed).OraclePrices.items())
        for feed in FEEDS:
            reading = readings.get(feed)
            if reading is not None and base_and_quote_asset in (None, (feed, "Usd")):
                prices.append(
                    values.OraclePrice(
                        price=reading.price,
                        updated_at_oracle_timestamp=reading.read_at,
                        updated_at_statechain_block=reading.block,
                        base_asset=feed,
                        quote_asset="Usd",
                        price_status="Stale" if reading.is_stale else "UpToDate",
                    )
                )
        return prices

    def _pool(self, base: str, quote: str) -> AmmPool:
        pools = self.other(PoolsStorage)
        pools.ensure(quote == STABLE, pools.Error.PoolDoesNotExist)
        return pools.pool(base)


def _depth(pool: AmmPool, side: str, lower: int, upper: int) -> values.UnidirectionalPoolDepth:
    """Return the amount of an asset for sale, and the price at which that begins."""
    sold = "quote" if side == "base" else "base"
    ranges, limits = pool.range_orders, pool.limit_orders
    price = ranges.current_sqrt_price if ranges.has_price(sold) else None
    depth = values.UnidirectionalSubPoolDepth
    return values.UnidirectionalPoolDepth(
        limit_orders=depth(price=limits.best(sold), depth=limits.depth(side, lower, upper)),
        range_orders=depth(price=price, depth=ranges.depth(lower, upper)[side]),
    )


def _limits(pool: AmmPool, side: str) -> Sequence[values.LimitOrderLiquidity]:
    return [
        values.LimitOrderLiquidity(tick=tick, amount=amount)
        for tick, amount in pool.limit_orders.liquidity(side)
    ]


def _offer(base: int, quote: int) -> values.PoolOrder:
    return values.PoolOrder(amount=base, sqrt_price=sqrt_price_of_amounts(base, quote))
