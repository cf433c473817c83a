"""Fills of orders by a block, calculated from the pools before and after it.

The fill of an order is the amounts that it can collect after the block, less those before. An order that was
collected in the block began at zero again, so all its amounts are of this block; a range order counts only if
it was not changed. (Chainflip's node, `order_fills`.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .limit_orders import CollectedAmounts
from .pool import AmmPool
from .range_positions import position_of

__all__ = ["LimitFill", "RangeFill", "limit_fills", "range_fills"]

PIPS = 10**6
Owner = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class LimitFill:
    """The amounts that an order has sold and bought, and the amount that it still sells.

    `side` is what it sells: "base" or "quote".
    """

    side: str
    owner: Owner
    tick: int
    sold: int
    bought: int
    remaining: int


@dataclass(frozen=True, slots=True)
class RangeFill:
    """The approximate amounts that an order between two ticks has bought, and its fees.

    Both are by asset, "base" and "quote".
    """

    owner: Owner
    lower: int
    upper: int
    bought: dict[str, int]
    fees: dict[str, int]
    liquidity: int


def limit_fills(
    before: AmmPool, after: AmmPool, side: str, collected: Collection[Owner]
) -> Iterator[LimitFill]:
    """Yield the fills of orders that sell "base" or "quote".

    `collected` are the owners whose orders were collected in the block.
    """
    for order in after.limit_orders.orders(side):
        previous = None
        if order.owner not in collected:
            previous = before.limit_orders.order(side, order.owner, order.tick)
        old = CollectedAmounts() if previous is None else previous.collected
        sold, bought = order.collected.sold - old.sold, order.collected.bought - old.bought
        if sold > 0 or bought > 0:
            yield LimitFill(side, order.owner, order.tick, max(sold, 0), max(bought, 0), order.amount)


def range_fills(before: AmmPool, after: AmmPool, collected: Collection[Owner]) -> Iterator[RangeFill]:
    """Yield the fills of range orders that have earned fees.

    Orders of the owners in `collected`, and orders that are new, are left out.
    """
    ranges = after.range_orders
    for owner, lower, upper in ranges.positions:
        if owner in collected or (owner, lower, upper) not in before.range_orders.positions:
            continue
        current = position_of(ranges, owner, lower, upper)
        previous = position_of(before.range_orders, owner, lower, upper)
        fees = {side: (current["fees"][side] - previous["fees"][side]) % 2**256 for side in current["fees"]}
        if any(fees.values()):
            rate = ranges.fee_hundredth_pips
            bought = {side: fee * PIPS // rate if rate else 0 for side, fee in fees.items()}
            yield RangeFill(owner, lower, upper, bought, fees, current["liquidity"])
