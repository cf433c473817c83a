"""What does a pool give for an amount?

All pools are against USDC. What a pool has sold, and what it would give, is the arithmetic of `core.amm`;
governance limits how far one swap may move a price.
"""

from __future__ import annotations

from cfnode.core.amm import OutOfLiquidity, Pool, Sold

from .storage import PoolsStorage
from .stored import STABLE, pair_of

__all__ = ["direction", "quote", "swap"]

MAX_AMOUNT = 2**128 - 1


def swap(pools: PoolsStorage, from_asset: str, to_asset: str, amount: int) -> int:
    """Change an amount; one of the assets is USDC. InsufficientLiquidity, and nothing has happened.

    Nothing can always be changed, into nothing.
    """
    asset, sold = direction(from_asset, to_asset)
    stored = pools.stored_pool(asset)
    made = _tried(pools, asset, stored.pool, sold, amount)
    stored.pool = made.pool
    pools.put_back(stored)
    pools.deposit(
        pools.Event.AssetSwapped,
        **{"from": from_asset},
        to=to_asset,
        input_amount=amount,
        output_amount=made.output,
    )
    return made.output


def quote(pools: PoolsStorage, from_asset: str, to_asset: str, amount: int) -> int:
    """What `swap` would give, changing nothing."""
    asset, sold = direction(from_asset, to_asset)
    return _tried(pools, asset, pools.pool(asset), sold, amount).output


def _tried(pools: PoolsStorage, asset: str, pool: Pool, sold: str, amount: int) -> Sold:
    if not amount:
        return Sold(0, 0, pool)
    try:
        made = pool.sell(sold, amount)
    except OutOfLiquidity:
        pools.fail(pools.Error.InsufficientLiquidity)
    limit = pools.MaximumPriceImpact.get(pair_of(asset))
    pools.ensure(limit is None or made.impact <= limit, pools.Error.InsufficientLiquidity)
    pools.ensure(made.output <= MAX_AMOUNT, pools.Error.OutputOverflow)
    return made


def direction(from_asset: str, to_asset: str) -> tuple[str, str]:
    """The pool between two assets, and which of its sides is sold."""
    return (from_asset, "base") if to_asset == STABLE else (to_asset, "quote")
