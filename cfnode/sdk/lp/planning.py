"""Plan of the fewest calls from the open orders to the desired ones.

Calls that free funds come first.

The id identifies an order. An order that stands as desired is not touched; one that is not desired is
cancelled, up to 100 with one call; any other one is set, by one call, to exactly its tick and amount. Setting
is absolute, so that repeating a plan, or a part of it, never places anything twice. A range order by amounts
stands as desired if it has the liquidity that its amounts give at the pool's price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cfnode.sdk.lp.orders import LimitOrder, Order, Pool, RangeOrderByAmounts, StandingOrder

__all__ = ["MAX_CANCELLED_PER_CALL", "Plan", "batches", "plan_of"]

MAX_CANCELLED_PER_CALL = 100
"""Maximum orders of one call of `lp_cancel_orders_batch`."""


@dataclass(frozen=True)
class Plan:
    """The calls to make: cancel, then set the orders that need no further funds, then those that may."""

    cancel: tuple[Order, ...]
    shrink: tuple[Order, ...]
    grow: tuple[Order, ...]
    unchanged: tuple[Order, ...]

    @property
    def calls(self) -> int:
        """The number of calls, each of which is one transaction."""
        return len(batches(self.cancel, MAX_CANCELLED_PER_CALL)) + len(self.shrink) + len(self.grow)


def plan_of(
    desired: Sequence[Order], standing: Iterable[StandingOrder], square_roots: Mapping[Pool, int]
) -> Plan:
    """Return the fewest calls that make `desired` stand, and nothing else.

    Amounts are what is left of orders. `square_roots` has the √price (96 fractional bits) of each pool with a
    desired range order by amounts.
    """
    standing_by_key = {order.key: order for order in standing}
    keys = {order.key for order in desired}
    unchanged, shrink, grow = list[Order](), list[Order](), list[Order]()
    for order in desired:
        present = standing_by_key.get(order.key)
        exact = order.at(square_roots[order.pool]) if isinstance(order, RangeOrderByAmounts) else order
        if exact is not None and present == exact:
            unchanged.append(order)
        elif exact is not None and present is not None and _needs_less(exact, present):
            shrink.append(order)
        else:
            grow.append(order)
    cancel = tuple(order for key, order in standing_by_key.items() if key not in keys)
    return Plan(cancel, tuple(shrink), tuple(grow), tuple(unchanged))


def batches(orders: Sequence[Order], size: int) -> list[Sequence[Order]]:
    """Return the orders in parts of at most `size`."""
    return [orders[start : start + size] for start in range(0, len(orders), size)]


def _needs_less(order: StandingOrder, present: StandingOrder) -> bool:
    """Return whether the change certainly needs no funds besides those of the order itself.

    A range order that moves may need more of one asset.
    """
    if isinstance(order, LimitOrder) and isinstance(present, LimitOrder):
        return order.amount <= present.amount
    if isinstance(order, LimitOrder) or isinstance(present, LimitOrder):
        return False
    is_in_place = (order.lower, order.upper) == (present.lower, present.upper)
    return is_in_place and order.liquidity <= present.liquidity
