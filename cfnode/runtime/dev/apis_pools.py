"""What does the node ask about prices and pools? (`CustomRuntimeApi`)

Results that may be an error carry the name of a pallet's error (`DispatchErrorWithMessage::Module`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .amm import RangePool, price_of, sqrt_price_of, tick_at
from .frame import DispatchError, RuntimeApi, method
from .pallets.liquidity_pools import STABLE, LiquidityPools

__all__ = ["PoolsApi", "or_message"]

PIPS = 10**6


def or_message(answer: Callable[[], Any]) -> tuple[str, Any]:
    """The answer as a `Result<_, DispatchErrorWithMessage>`."""
    try:
        return "Ok", answer()
    except DispatchError as error:
        if error.name is not None:
            return "Err", ("Module", error.name.encode())
        return "Err", ("Other", error.value)


class PoolsApi(RuntimeApi):
    """Prices, depths and orders of the pools."""

    api = "CustomRuntimeApi"

    @method("Vec<PoolPairsMap<Asset>>")
    def cf_pools(self) -> list[dict[str, str]]:
        """All pools, each by its two assets."""
        return [pair["assets"] for pair, _ in self.other(LiquidityPools).Pools.items()]

    @method("Option<PoolPriceV1>", from_="Asset", to="Asset")
    def cf_pool_price(self, from_: str, to: str) -> dict[str, int] | None:
        """What a swap in this direction begins at, None if there is no such pool."""
        if (from_ == STABLE) == (to == STABLE):
            return None
        pool = self._pool(to if from_ == STABLE else from_, STABLE)
        sqrt_price = _price(pool, "quote" if from_ == STABLE else "base")
        if sqrt_price is None:
            return None
        return {"price": price_of(sqrt_price), "sqrt_price": sqrt_price, "tick": tick_at(sqrt_price)}

    @method("Result<PoolPrice<SqrtPrice>, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_price_v2(self, base_asset: str, quote_asset: str) -> Any:
        """Selling, buying and middle price, as square roots."""

        def answer() -> dict[str, Any]:
            pool = self._pool(base_asset, quote_asset)
            prices = {"sell": _price(pool, "base"), "buy": _price(pool, "quote")}
            return prices | {"range_order": pool.current_sqrt_price}

        return or_message(answer)

    @method("Result<PoolInfo, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_info(self, base_asset: str, quote_asset: str) -> Any:
        """A pool's fee, and sums of its swaps."""

        def answer() -> dict[str, Any]:
            pool = self._pool(base_asset, quote_asset)
            return {
                "range_order_fee_hundredth_pips": pool.fee_hundredth_pips,
                "range_order_total_fees_earned": pool.total_fees_earned,
                "range_total_swap_inputs": pool.total_swap_inputs,
                "limit_total_swap_inputs": {"base": 0, "quote": 0},
            }

        return or_message(answer)

    @method(
        "Result<AskBidMap<UnidirectionalPoolDepth>, DispatchErrorWithMessage>",
        base_asset="Asset",
        quote_asset="Asset",
        tick_range="Range<i32>",
    )
    def cf_pool_depth(self, base_asset: str, quote_asset: str, tick_range: dict[str, int]) -> Any:
        """What the pool pays out in all between two ticks."""

        def answer() -> dict[str, Any]:
            pools = self.other(LiquidityPools)
            pool = self._pool(base_asset, quote_asset)
            pools.ensure(tick_range["start"] <= tick_range["end"], pools.Error.InvalidTickRange)
            depth = pool.depth(tick_range["start"], tick_range["end"])
            return {"asks": _side(pool, depth["base"]), "bids": _side(pool, depth["quote"])}

        return or_message(answer)

    @method("Result<PoolLiquidity, DispatchErrorWithMessage>", base_asset="Asset", quote_asset="Asset")
    def cf_pool_liquidity(self, base_asset: str, quote_asset: str) -> Any:
        """The liquidity that begins at each tick."""

        def answer() -> dict[str, Any]:
            total, ranges = 0, []
            for tick, end in sorted(self._pool(base_asset, quote_asset).liquidity_map.items()):
                total += end["liquidity_delta"]
                ranges.append({"tick": tick, "liquidity": total})
            return {"limit_orders": {"asks": [], "bids": []}, "range_orders": ranges}

        return or_message(answer)

    def _pool(self, base: str, quote: str) -> RangePool:
        pools = self.other(LiquidityPools)
        pools.ensure(quote == STABLE, pools.Error.PoolDoesNotExist)
        return pools.range_pool(base)


def _price(pool: RangePool, sold: str) -> int | None:
    """The price's square root for the first unit sold, the pool's fee in it."""
    if not pool.has_price(sold):
        return None
    price, net = price_of(pool.current_sqrt_price), PIPS - pool.fee_hundredth_pips
    return sqrt_price_of(price * net // PIPS if sold == "base" else price * PIPS // net)


def _side(pool: RangePool, depth: int) -> dict[str, Any]:
    return {
        "limit_orders": {"price": None, "depth": 0},
        "range_orders": {"price": pool.current_sqrt_price, "depth": depth},
    }
