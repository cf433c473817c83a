"""The `lp_*` methods of orders: set, update and cancel range and limit orders; their fills."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from cfnode.node.signing.account import WaitFor
from cfnode.node.signing.provider import MAX_CANCELLED_ORDERS
from cfnode.rpc.cf.method import value
from cfnode.rpc.cf.order_fills import order_fills
from cfnode.rpc.cf.params import BASE, QUOTE_ASSET_PARAM, TICK_RANGE
from cfnode.rpc.lp.account import provider_of
from cfnode.rpc.lp.params import (
    AMOUNT_CHANGE,
    CLOSE_ORDERS,
    OPTIONAL_TICK,
    ORDER_ID,
    SIDE,
    SIZE,
    SIZE_CHANGE,
    WAIT_FOR,
    amount_of,
    changed_amount,
    changed_size,
    close_order,
    order_id,
    size_of,
)
from cfnode.rpc.lp.results import any_orders, limit_orders, range_orders, wait_result
from cfnode.rpc.lp.rows import reading, submitting
from cfnode.rpc.table.blocks import AT
from cfnode.rpc.table.convert import NUMBER_OR_HEX, U32
from cfnode.rpc.table.rows import Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

CloseOrder = tuple[str, dict[str, Any]]


def _range_order(call: str, member: str, read: Callable[[Any], Any], doc: str) -> Callable[..., Any]:
    """Return the handler of a call of the pools pallet that changes a range order.

    `member`: the call's member with the size or the change.
    """

    async def handler(
        node: Node,
        base: str,
        quote: str,
        number: int,
        tick_range: dict[str, int] | None,
        size: tuple[str, Any],
        wait_for: WaitFor | None,
    ) -> dict[str, Any]:
        fields = {
            **_order(base, quote, number),
            "option_tick_range": tick_range,
            member: read(size),
        }
        submitted = await provider_of(node).change_range_order(call, fields, wait_for or WaitFor.FINALIZED)
        return wait_result(submitted, range_orders)

    handler.__doc__ = doc
    return handler


update_range_order: Final = _range_order(
    "update_range_order",
    "size_change",
    changed_size,
    "Resize or move a range order; responds with the order after each change.",
)
set_range_order: Final = _range_order(
    "set_range_order",
    "size",
    size_of,
    "Set the size of a range order; responds with the order after each change.",
)


def _order(base: str, quote: str, number: int) -> dict[str, Any]:
    return {"base_asset": base, "quote_asset": quote, "id": order_id(number)}


async def _change_limit(
    node: Node, call: str, fields: dict[str, Any], wait_for: WaitFor | None
) -> dict[str, Any]:
    submitted = await provider_of(node).change_limit_order(call, fields, wait_for or WaitFor.FINALIZED)
    return wait_result(submitted, limit_orders)


async def update_limit_order(
    node: Node,
    base: str,
    quote: str,
    side: str,
    number: int,
    tick: int | None,
    change: tuple[str, int],
    dispatch_at: int | None,
    wait_for: WaitFor | None,
) -> dict[str, Any]:
    """Let a limit order sell more or less or move, now or at a block; return the order after each change."""
    fields = {
        **_order(base, quote, number),
        "side": side,
        "option_tick": tick,
        "amount_change": changed_amount(change),
        "dispatch_at": dispatch_at,
    }
    return await _change_limit(node, "update_limit_order", fields, wait_for)


async def set_limit_order(
    node: Node,
    base: str,
    quote: str,
    side: str,
    number: int,
    tick: int | None,
    sell_amount: int,
    dispatch_at: int | None,
    wait_for: WaitFor | None,
    close_order_at: int | None,
) -> dict[str, Any]:
    """Let a limit order sell exactly an amount between two blocks; return the order after each change."""
    fields = {
        **_order(base, quote, number),
        "side": side,
        "option_tick": tick,
        "sell_amount": amount_of(sell_amount),
        "dispatch_at": dispatch_at,
        "close_order_at": close_order_at,
    }
    return await _change_limit(node, "set_limit_order", fields, wait_for)


async def cancel_orders_batch(
    node: Node, orders: Sequence[dict[str, Any]], wait_for: WaitFor | None
) -> dict[str, Any]:
    """Cancel up to 100 orders; respond with those that existed, limit orders first."""
    return await _cancel(node, [close_order(order) for order in orders], wait_for)


async def cancel_all_orders(node: Node, wait_for: WaitFor | None) -> list[dict[str, Any]]:
    """Cancel all orders of the account at the best block, 100 with each transaction, one after the other."""
    orders = [order async for order in _open_orders(node)]
    starts = range(0, len(orders), MAX_CANCELLED_ORDERS)
    return [await _cancel(node, orders[start : start + MAX_CANCELLED_ORDERS], wait_for) for start in starts]


async def _cancel(node: Node, orders: Sequence[CloseOrder], wait_for: WaitFor | None) -> dict[str, Any]:
    submitted = await provider_of(node).cancel_orders(orders, wait_for or WaitFor.FINALIZED)
    return wait_result(submitted, any_orders)


async def _open_orders(node: Node) -> AsyncIterator[CloseOrder]:
    """Yield the open orders by pool.

    Range orders come first, then limit orders that sell the base asset, then those that buy it.
    """
    block, account = node.chain.best.hash, provider_of(node).account
    for pool in await value(node, block, "cf_pools"):
        pair = {"base_asset": pool["base"], "quote_asset": pool["quote"]}
        orders = await value(node, block, "cf_pool_orders", **pair, lp=account, filled_orders=False)
        for order in orders["range_orders"]:
            yield "Range", {**pair, "id": order["id"]}
        for side, name in (("Sell", "asks"), ("Buy", "bids")):
            for order in orders["limit_orders"][name]:
                yield "Limit", {**pair, "side": side, "id": order["id"]}


_RANGE: Final = Param("tick_range", TICK_RANGE.reader, optional=True)
_DISPATCH_AT: Final = Param("dispatch_at", U32, optional=True)

METHODS: Final = (
    submitting(
        "lp_update_range_order",
        update_range_order,
        BASE,
        QUOTE_ASSET_PARAM,
        ORDER_ID,
        _RANGE,
        Param("size_change", SIZE_CHANGE),
        WAIT_FOR,
    ),
    submitting(
        "lp_set_range_order",
        set_range_order,
        BASE,
        QUOTE_ASSET_PARAM,
        ORDER_ID,
        _RANGE,
        Param("size", SIZE),
        WAIT_FOR,
    ),
    submitting(
        "lp_update_limit_order",
        update_limit_order,
        BASE,
        QUOTE_ASSET_PARAM,
        SIDE,
        ORDER_ID,
        OPTIONAL_TICK,
        Param("amount_change", AMOUNT_CHANGE),
        _DISPATCH_AT,
        WAIT_FOR,
    ),
    submitting(
        "lp_set_limit_order",
        set_limit_order,
        BASE,
        QUOTE_ASSET_PARAM,
        SIDE,
        ORDER_ID,
        OPTIONAL_TICK,
        Param("sell_amount", NUMBER_OR_HEX),
        _DISPATCH_AT,
        WAIT_FOR,
        Param("close_order_at", U32, optional=True),
    ),
    submitting("lp_cancel_orders_batch", cancel_orders_batch, CLOSE_ORDERS, WAIT_FOR),
    submitting("lp_cancel_all_orders", cancel_all_orders, WAIT_FOR),
    reading("lp_order_fills", order_fills, AT),
)
