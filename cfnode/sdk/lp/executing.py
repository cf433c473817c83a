"""Execution of a plan of orders: its calls in batches, one phase after the other.

A failure is reported with the orders that stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfnode.sdk.errors import RpcCallError, TransportError
from cfnode.sdk.exchange import Steps, rpc_outcomes
from cfnode.sdk.lp.errors import OrdersIncomplete
from cfnode.sdk.lp.orders import LimitOrder, OpenOrder, Order, RangeOrder, RangeOrderByAmounts, pool_json
from cfnode.sdk.lp.planning import MAX_CANCELLED_PER_CALL, Plan, batches
from cfnode.sdk.lp.session import ProviderSession
from cfnode.sdk.lp.standing import MAX_BATCHED_CALLS, open_orders

__all__ = ["Change", "changes_of", "executed"]

Change = tuple[Sequence[Order], str, list[Any]]
"""The orders of one call, its method and its parameters."""


def changes_of(plan: Plan, wait_for: str) -> list[list[Change]]:
    """Return the calls of a plan in their three groups; each group needs the ones before it."""
    closing = [_cancel(part, wait_for) for part in batches(plan.cancel, MAX_CANCELLED_PER_CALL)]
    return [closing, *([_set(order, wait_for) for order in part] for part in (plan.shrink, plan.grow))]


def executed(session: ProviderSession, plan: Plan) -> Steps[list[Any]]:
    """Make a plan's calls; return their answers. Raises OrdersIncomplete."""
    requests = [
        phase[start : start + MAX_BATCHED_CALLS]
        for phase in changes_of(plan, session.wait_for)
        for start in range(0, len(phase), MAX_BATCHED_CALLS)
    ]
    answers, done = list[Any](), list[Order]()
    refused = list[tuple[Order, RpcCallError]]()
    for place, changes in enumerate(requests):
        try:
            calls = [(method, params) for _, method, params in changes]
            outcomes = yield from rpc_outcomes(session, session.rpc_url, calls)
        except TransportError as error:
            tried, later = (
                _orders(changes),
                [order for request in requests[place + 1 :] for order in _orders(request)],
            )
            unsure, unsent = (tried, later) if error.sent else ([], tried + later)
            standing = yield from _standing(session)
            raise OrdersIncomplete(
                done=done, refused=refused, unsure=unsure, unsent=unsent, standing=standing, cause=error
            ) from error
        for (orders, _, _), outcome in zip(changes, outcomes, strict=True):
            if isinstance(outcome, RpcCallError):
                refused += [(order, outcome) for order in orders]
            else:
                done += orders
                answers.append(outcome)
    if refused:
        standing = yield from _standing(session)
        raise OrdersIncomplete(
            done=done, refused=refused, unsure=(), unsent=(), standing=standing, cause=None
        )
    return answers


def _standing(session: ProviderSession) -> Steps[tuple[OpenOrder, ...] | None]:
    """Return the open orders, or None if the node does not answer."""
    try:
        standing = yield from open_orders(session, None)
    except (TransportError, RpcCallError):
        return None
    return standing.orders


def _orders(changes: Sequence[Change]) -> list[Order]:
    return [order for orders, _, _ in changes for order in orders]


def _cancel(orders: Sequence[Order], wait_for: str) -> Change:
    return orders, "lp_cancel_orders_batch", [[order.identity() for order in orders], wait_for]


def _set(order: Order, wait_for: str) -> Change:
    pool = list(pool_json(order.pool).values())
    if isinstance(order, LimitOrder):
        amount = [order.tick, hex(order.amount), None]
        return [order], "lp_set_limit_order", [*pool, order.side, hex(order.id), *amount, wait_for]
    ends = {"start": order.lower, "end": order.upper}
    return [order], "lp_set_range_order", [*pool, hex(order.id), ends, _size(order), wait_for]


def _size(order: RangeOrder | RangeOrderByAmounts) -> dict[str, Any]:
    """Return the `RangeOrderSize` of a range order."""
    if isinstance(order, RangeOrder):
        return {"Liquidity": {"liquidity": hex(order.liquidity)}}
    maximum = {"base": hex(order.base_amount), "quote": hex(order.quote_amount)}
    minimum = {"base": hex(order.min_base), "quote": hex(order.min_quote)}
    return {"AssetAmounts": {"maximum": maximum, "minimum": minimum}}
