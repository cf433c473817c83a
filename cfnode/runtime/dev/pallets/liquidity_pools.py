"""At what price does an asset change into dollars?

LiquidityPools (35, pallet_cf_pools): one pool for each asset against USDC. Liquidity providers fill the main
net's; those of the development chain belong to one account that nobody has the key of, with one order over
all prices.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS, assets_since
from cfnode.runtime.dev.amm import (
    MAX_TICK,
    MIN_TICK,
    OutOfLiquidity,
    RangePool,
    liquidity_for_quote,
    sqrt_price_of_amounts,
)
from cfnode.runtime.dev.config import DevGenesis, DevPool
from cfnode.runtime.dev.frame import ErrorSet, EventSet, Map, Pallet, event

__all__ = ["MAKER", "STABLE", "LiquidityPools", "pair_of"]

STABLE = "Usdc"
MAKER = b"cfnode-dev/liquidity".ljust(32, b"\0")
"""The account whose order is all the liquidity of the development pools."""

POOL_FEE = 20  # parts per million
MAX_AMOUNT = 2**128 - 1
_NO_LIMIT_ORDERS = {
    "next_pool_instance": 0,
    "fixed_pools": {"base": [], "quote": []},
    "positions": {"base": [], "quote": []},
    "total_swap_inputs": {"base": 0, "quote": 0},
    "total_swap_outputs": {"base": 0, "quote": 0},
}


class LiquidityPools(Pallet):
    """Pools of an asset against USDC."""

    index = 35
    crate = "pallet_cf_pools"

    Pools = Map("Twox64Concat", "AssetPair", "Pool", optional=True)

    class Event(EventSet):
        NewPoolCreated = event(
            0, base_asset="Asset", quote_asset="Asset", fee_hundredth_pips="u32", initial_price="Price"
        )
        AssetSwapped = event(3, from_="Asset", to="Asset", input_amount="u128", output_amount="u128")

    class Error(ErrorSet):
        PoolAlreadyExists = "The specified exchange pool already exists."
        PoolDoesNotExist = "The specified exchange pool does not exist."
        UnspecifiedOrderPrice = (
            "For previously unused order ids, you must specific a tick/tick range for the order,\n"
            "thereby specifying the order price associated with that order id"
        )
        PoolDisabled = "The exchange pool is currently disabled."
        InvalidFeeAmount = "the Fee BIPs must be within the allowed range."
        InvalidInitialPrice = "the initial price must be within the allowed range."
        InvalidTickRange = "The Upper or Lower tick is invalid."
        InvalidTick = "The tick is invalid."
        MaximumGrossLiquidity = "One of the referenced ticks reached its maximum gross liquidity"
        OrderDoesNotExist = "The user's order does not exist."
        MaximumPoolInstances = (
            "It is no longer possible to mint limit orders due to reaching the maximum pool\n"
            "instances, other than for ticks where a fixed pool currently exists."
        )
        InsufficientLiquidity = "The pool does not have enough liquidity left to process the swap."
        OutputOverflow = "The swap output is past the maximum allowed amount."

    def genesis(self, config: DevGenesis) -> None:
        stated = {pool.asset: pool for pool in config.pools}
        for asset in assets_since("2.2"):
            if asset.name != STABLE:
                self._fill(stated.get(asset.name) or DevPool(asset.name))

    def range_pool(self, asset: str) -> RangePool:
        """The range orders of an asset's pool. PoolDoesNotExist."""
        pool = self.Pools.get(pair_of(asset))
        self.ensure(pool is not None, self.Error.PoolDoesNotExist)
        return RangePool.from_value(pool["pool_state"]["range_orders"])

    def swap(self, from_asset: str, to_asset: str, amount: int) -> int:
        """Change an amount; one of the assets is USDC. InsufficientLiquidity, and nothing has happened."""
        asset, sold = direction(from_asset, to_asset)
        output, pool = self._tried(self.range_pool(asset), sold, amount)
        self._store(asset, pool)
        self.deposit(
            self.Event.AssetSwapped,
            **{"from": from_asset},
            to=to_asset,
            input_amount=amount,
            output_amount=output,
        )
        return output

    def quote(self, from_asset: str, to_asset: str, amount: int) -> int:
        """What `swap` would give, changing nothing."""
        asset, sold = direction(from_asset, to_asset)
        return self._tried(self.range_pool(asset), sold, amount)[0]

    def refill(self, asset: str, price: int | None, depth: int | None) -> dict[str, int]:
        """Set a pool's price (of a whole unit) and its USDC, both in microdollars, or keep either.

        Returns what is in the pool then, by side. The liquidity that is there is replaced; sums of past swaps
        stay.
        """
        old = self.range_pool(asset)
        unit = 10 ** ASSETS[asset].decimals
        sqrt_price = old.current_sqrt_price if price is None else sqrt_price_of_amounts(unit, price)
        liquidity = old.current_liquidity if depth is None else liquidity_for_quote(sqrt_price, depth)
        made = RangePool.full_range((MAKER, 0), sqrt_price, liquidity, old.fee_hundredth_pips)
        kept = ("total_fees_earned", "total_swap_inputs", "total_swap_outputs")
        self._store(asset, RangePool.from_value(made.to_value() | {n: getattr(old, n) for n in kept}))
        return made.value(MIN_TICK, MAX_TICK, liquidity)

    def _tried(self, pool: RangePool, sold: str, amount: int) -> tuple[int, RangePool]:
        try:
            swapped = pool.swap(sold, amount)
        except OutOfLiquidity:
            self.fail(self.Error.InsufficientLiquidity)
        self.ensure(swapped.output <= MAX_AMOUNT, self.Error.OutputOverflow)
        return swapped.output, swapped.pool

    def _fill(self, pool: DevPool) -> None:
        sqrt_price = sqrt_price_of_amounts(10 ** ASSETS[pool.asset].decimals, pool.microdollars)
        liquidity = liquidity_for_quote(sqrt_price, pool.depth)
        self._store(pool.asset, RangePool.full_range((MAKER, 0), sqrt_price, liquidity, POOL_FEE))

    def _store(self, asset: str, pool: RangePool) -> None:
        ranges = [(order, {"start": low, "end": high}) for ((_, order), low, high), _ in pool.positions]
        self.Pools.put(
            pair_of(asset),
            {
                "range_orders_cache": [(MAKER, ranges)],
                "limit_orders_cache": {"base": [], "quote": []},
                "pool_state": {"limit_orders": _NO_LIMIT_ORDERS, "range_orders": pool.to_value()},
            },
        )


def pair_of(asset: str) -> dict[str, Any]:
    """The `AssetPair` of an asset's pool."""
    return {"assets": {"base": asset, "quote": STABLE}}


def direction(from_asset: str, to_asset: str) -> tuple[str, str]:
    """The pool between two assets, and which of its sides is sold."""
    return (from_asset, "base") if to_asset == STABLE else (to_asset, "quote")
