"""Sweeping: payout of what orders have earned, without a change of them (the chain's `inner_sweep`)."""

from __future__ import annotations

from collections.abc import Iterable

from cfnode.core.amm import other

from .minting import NO_LIQUIDITY, burn_limit, burn_range
from .storage import PoolsStorage
from .stored import SIDES

__all__ = ["auto_sweep", "sweep"]

_NEVER = 2**128


def sweep(pools: PoolsStorage, *providers: bytes) -> None:
    """Pay out what all orders of these providers have earned; of all providers if none is named."""
    for asset in pools.assets(*providers):
        stored = pools.stored_pool(asset)
        old_pool = stored.pool
        for lp in stored.providers():
            if providers and lp not in providers:
                continue
            for number, ticks in sorted(stored.ranges.get(lp, {}).items()):
                burn_range(pools, stored, (lp, number), ticks, NO_LIQUIDITY)
            for side, sold in SIDES.items():
                for number, tick in sorted(stored.limits[sold].get(lp, {}).items()):
                    burn_limit(pools, stored, lp, side, number, tick, 0)
        if stored.pool != old_pool:
            pools.put_back(stored)


def auto_sweep(pools: PoolsStorage, assets: Iterable[str]) -> None:
    """Pay out every limit order that has bought more than a threshold."""
    thresholds = dict(pools.LimitOrderAutoSweepingThresholds.get())
    for asset in assets:
        stored, is_swept = pools.stored_pool(asset), False
        for side, sold in SIDES.items():
            threshold = thresholds.get(stored.asset_of(other(sold)), _NEVER)
            for order in list(stored.pool.limit_orders.orders(sold)):
                if order.collected.bought >= threshold:
                    lp, number = order.owner
                    burn_limit(pools, stored, lp, side, number, order.tick, 0)
                    is_swept = True
        if is_swept:
            pools.put_back(stored)
