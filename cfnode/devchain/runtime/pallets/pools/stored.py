"""A pool taken out of the state: its orders, and where each provider's orders are.

An order is named by its provider and a number of the provider's own. Besides the orders themselves the state
has, for each provider, the tick or the range of each of its orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from cfnode.core.amm import AmmPool, position_of
from cfnode.devchain.runtime import values

__all__ = ["SIDES", "STABLE", "StoredPool", "pair_of"]

STABLE = "Usdc"
SIDES = {"Sell": "base", "Buy": "quote"}
"""Side of the pool that an order sells, by the side of the order."""

T = TypeVar("T")
Ranges = dict[bytes, dict[int, tuple[int, int]]]
Limits = dict[str, dict[bytes, dict[int, int]]]


@dataclass(slots=True)
class StoredPool:
    """A pool taken out of the state, to be changed and put back."""

    asset: str
    pool: AmmPool
    ranges: Ranges
    limits: Limits

    @classmethod
    def from_value(cls, asset: str, value: values.Pool) -> StoredPool:
        """Read a value of `pallet_cf_pools::Pool`."""
        ranges = {
            lp: {number: (ticks["start"], ticks["end"]) for number, ticks in orders}
            for lp, orders in value.range_orders_cache
        }
        limits = {
            side: {lp: dict(orders) for lp, orders in cache}
            for side, cache in value.limit_orders_cache.items()
        }
        return cls(asset, AmmPool.from_value(value.pool_state), ranges, limits)

    def to_value(self) -> values.Pool:
        """Return the pool as a value of `pallet_cf_pools::Pool`."""
        ranges = [
            (lp, [(number, {"start": low, "end": high}) for number, (low, high) in sorted(orders.items())])
            for lp, orders in sorted(self.ranges.items())
        ]
        limits = {
            side: [(lp, sorted(orders.items())) for lp, orders in sorted(cache.items())]
            for side, cache in self.limits.items()
        }
        return values.Pool(
            range_orders_cache=ranges, limit_orders_cache=limits, pool_state=self.pool.to_value()
        )

    def asset_of(self, side: str) -> str:
        """Return the asset of the "base" or the "quote" side."""
        return self.asset if side == "base" else STABLE

    def note(self, cache: dict[bytes, dict[int, T]], lp: bytes, number: int, place: T | None) -> None:
        """Store the place of a provider's order; None removes the order."""
        orders = {key: old for key, old in cache.get(lp, {}).items() if key != number}
        if place is not None:
            orders[number] = place
        if orders:
            cache[lp] = orders
        else:
            cache.pop(lp, None)

    def providers(self) -> list[bytes]:
        """Return the providers that have orders."""
        return sorted({*self.ranges, *(lp for cache in self.limits.values() for lp in cache)})

    def owned_by(self, lp: bytes) -> dict[str, int]:
        """Return what a provider's orders would give back if closed now, by side, without their earnings."""
        owned = {"base": 0, "quote": 0}
        for side, cache in self.limits.items():
            for number, tick in cache.get(lp, {}).items():
                order = self.pool.limit_orders.order(side, (lp, number), tick)
                owned[side] += order.amount if order else 0
        for number, (low, high) in self.ranges.get(lp, {}).items():
            position = position_of(self.pool.range_orders, (lp, number), low, high)
            value = self.pool.range_orders.value(low, high, position["liquidity"], up=True)
            owned = {side: owned[side] + value[side] for side in owned}
        return owned

    def range_orders(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield (provider, number, start, end) of each range order."""
        for lp, orders in sorted(self.ranges.items()):
            for number, (low, high) in sorted(orders.items()):
                yield lp, number, low, high

    def limit_orders(self, side: str) -> Iterator[tuple[bytes, int, int]]:
        """Yield (provider, number, tick) of each limit order that sells "base" or "quote"."""
        for lp, orders in sorted(self.limits[side].items()):
            for number, tick in sorted(orders.items()):
                yield lp, number, tick


def pair_of(asset: str) -> values.AssetPair:
    """Return the `AssetPair` of an asset's pool."""
    return values.AssetPair({"base": asset, "quote": STABLE})
