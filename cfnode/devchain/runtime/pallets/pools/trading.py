"""Swaps in a pool, and quotes of what a swap would give.

All pools are against USDC. `core.amm` computes what a pool sells, or would sell; governance limits how far
one swap may move a price.
"""

from __future__ import annotations

from cfnode.core.amm import AmmPool, OutOfLiquidity, Sold

from .storage import PoolsStorage
from .stored import STABLE, pair_of

__all__ = ["direction", "quote", "swap"]

MAX_U128 = 2**128 - 1


def swap(pools: PoolsStorage, from_asset: str, to_asset: str, amount: int) -> int:
    """Swap an amount, and return the output; one of the assets is USDC.

    Fails with InsufficientLiquidity, and changes nothing then. An amount of 0 can always be swapped, into 0.
    """
    asset, sold = direction(from_asset, to_asset)
    stored = pools.stored_pool(asset)
    sale = _tried(pools, asset, stored.pool, sold, amount)
    stored.pool = sale.pool
    pools.put_back(stored)
    pools.deposit(
        pools.Event.AssetSwapped,
        **{"from": from_asset},
        to=to_asset,
        input_amount=amount,
        output_amount=sale.output,
    )
    return sale.output


def quote(pools: PoolsStorage, from_asset: str, to_asset: str, amount: int) -> int:
    """Return what `swap` would give, without a change. Fails with InsufficientLiquidity."""
    asset, sold = direction(from_asset, to_asset)
    return _tried(pools, asset, pools.pool(asset), sold, amount).output


def _tried(pools: PoolsStorage, asset: str, pool: AmmPool, sold: str, amount: int) -> Sold:
    if not amount:
        return Sold(0, 0, pool)
    try:
        sale = pool.sell(sold, amount)
    except OutOfLiquidity:
        pools.fail(pools.Error.InsufficientLiquidity)
    limit = pools.MaximumPriceImpact.get(pair_of(asset))
    pools.ensure(limit is None or sale.impact <= limit, pools.Error.InsufficientLiquidity)
    pools.ensure(sale.output <= MAX_U128, pools.Error.OutputOverflow)
    return sale


def direction(from_asset: str, to_asset: str) -> tuple[str, str]:
    """Return the asset of the pool between two assets, and which side of the pool is sold."""
    return (from_asset, "base") if to_asset == STABLE else (to_asset, "quote")
