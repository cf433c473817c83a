"""Comparison of a swap's price with the oracle, and the limit that stops a swap.

Each leg is compared with the oracle, before fees; the differences of both legs add up. A swap may set its own
limit; where it does not, the pools' own limits hold. An asset without a price is not compared; an asset whose
price is old stops a swap only if the swap asked for protection. (`check_swap_price_violation` of the swapping
pallet.)
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.oracle import OracleFeed
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE, pair_of

from .parameters import ORACLE_ASSETS
from .storage import SwappingStorage

__all__ = ["Stale", "Violated", "delta_to_oracle", "protected_delta", "relative_price", "rounded"]

HUNDREDTHS = 10**6
PER_BASIS_POINT = 100
MOST = 2**31 - 1
LARGEST = 2**16 - 1


class Stale(Exception):
    """The oracle's price of an asset is too old to be compared with."""


class Violated(Exception):
    """A swap must not run, and why."""

    def __init__(self, reason: values.SwapFailureReason) -> None:
        super().__init__(reason)
        self.reason = reason


def relative_price(swapping: SwappingStorage, asset: str, in_asset: str) -> int | None:
    """Return the oracle's price of an asset in another (X128); None without a reading of both."""
    feed = swapping.other(OracleFeed)
    price, unit = feed.oracle_price(asset), feed.oracle_price(in_asset)
    return None if price is None or unit is None else (price.price << 128) // unit.price


def delta_to_oracle(
    swapping: SwappingStorage, source: str, amount: int, target: str, output: int
) -> int | None:
    """Return how much better a price is than the oracle's, in hundredths of a basis point.

    None without a price: none was read, or nothing was sold. Raises Stale.
    """
    expected = relative_price(swapping, source, target)
    if not amount or expected is None:
        return None
    feed = swapping.other(OracleFeed)
    if any(feed.is_stale(asset) for asset in (source, target)):
        raise Stale
    actual = (output << 128) // amount
    if not expected:
        return None
    difference = min(-(-abs(actual - expected) * HUNDREDTHS // expected), MOST)
    return -difference if actual < expected else difference


def protected_delta(
    swapping: SwappingStorage, swap: values.Swap, gross_stable: int, net_stable: int, output: int
) -> int | None:
    """Return the difference of both legs to the oracle, without fees, in hundredths of a basis point.

    Raises Violated if it is more than the swap bears, or if a protected swap meets an old price.
    """
    refund = swap.refund_params
    limit = None if refund is None else refund.price_limits.max_oracle_price_slippage
    try:
        delta = _of_both_legs(swapping, swap, gross_stable, net_stable, output)
    except Stale:
        if limit is not None:
            raise Violated("OraclePriceStale") from None
        return None
    if refund is None or delta is None:
        return delta
    if limit is None:
        limit = _usual_limit(swapping, swap.from_, swap.to)
    if limit is not None and delta < -limit * PER_BASIS_POINT:
        raise Violated("OraclePriceSlippageExceeded")
    return delta


def rounded(delta: int | None) -> int | None:
    """Return a difference in basis points, rounded away from zero."""
    if delta is None:
        return None
    points = delta // PER_BASIS_POINT if delta < 0 else -(-delta // PER_BASIS_POINT)
    return max(-LARGEST, min(points, LARGEST))


def _of_both_legs(
    swapping: SwappingStorage, swap: values.Swap, gross: int, net: int, output: int
) -> int | None:
    source, target = swap.from_, swap.to
    legs = []
    if source != STABLE:
        legs.append(delta_to_oracle(swapping, source, swap.input_amount, STABLE, gross))
    if target != STABLE:
        legs.append(delta_to_oracle(swapping, STABLE, net, target, output))
    legs_with_delta = [leg for leg in legs if leg is not None]
    return sum(legs_with_delta) if legs_with_delta else None


def _usual_limit(swapping: SwappingStorage, *assets: str) -> int | None:
    """Return the pools' limits on the difference to the oracle, in basis points; None without a feed."""
    limits: list[int] = [
        swapping.DefaultOraclePriceSlippageProtection.get(pair_of(asset))
        for asset in assets
        if asset != STABLE and asset in ORACLE_ASSETS
    ]
    return sum(limits) if limits else None
