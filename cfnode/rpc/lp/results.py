"""Results of the `lp_*` methods as JSON: wait results, channels and orders (Chainflip's LP types)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cfnode.core.addresses import address_to_text
from cfnode.node.signing.provider import (
    Change,
    ChangedLimitOrder,
    ChangedRangeOrder,
    Order,
    ProviderAddress,
    Submitted,
)
from cfnode.rpc.table.broker_params import write_asset
from cfnode.rpc.table.convert import to_hex

__all__ = ["any_orders", "deposit_address", "limit_orders", "range_orders", "wait_result"]

T = TypeVar("T")


def wait_result(submitted: Submitted[T], write: Callable[[T], Any]) -> dict[str, Any]:
    """Return the hash of a call that was not waited for, otherwise the hash and the response."""
    tx_hash = to_hex(submitted.tx_hash)
    if submitted.response is None:
        return {"tx_hash": tx_hash}
    return {"tx_details": {"tx_hash": tx_hash, "response": write(submitted.response)}}


def deposit_address(channel: ProviderAddress) -> dict[str, Any]:
    """Return an open deposit channel as clients read it."""
    return {
        "deposit_address": address_to_text(channel.address),
        "deposit_chain_expiry_block": channel.expiry_block,
    }


def limit_orders(orders: list[ChangedLimitOrder]) -> list[dict[str, Any]]:
    """Return limit orders after their change."""
    return list(map(_limit_order, orders))


def range_orders(orders: list[ChangedRangeOrder]) -> list[dict[str, Any]]:
    """Return range orders after their change."""
    return list(map(_range_order, orders))


def any_orders(orders: list[Order]) -> list[dict[str, Any]]:
    """Return orders of both kinds, each under the name of its kind."""
    return [
        {"LimitOrder": _limit_order(order)}
        if isinstance(order, ChangedLimitOrder)
        else {"RangeOrder": _range_order(order)}
        for order in orders
    ]


def _limit_order(order: ChangedLimitOrder) -> dict[str, Any]:
    return {
        "base_asset": write_asset(order.base_asset),
        "quote_asset": write_asset(order.quote_asset),
        "side": order.side.lower(),
        "id": hex(order.id),
        "tick": order.tick,
        "sell_amount_total": hex(order.sell_amount_total),
        "collected_fees": hex(order.collected_fees),
        "bought_amount": hex(order.bought_amount),
        "sell_amount_change": _change(order.sell_amount_change, hex),
    }


def _range_order(order: ChangedRangeOrder) -> dict[str, Any]:
    return {
        "base_asset": write_asset(order.base_asset),
        "quote_asset": write_asset(order.quote_asset),
        "id": hex(order.id),
        "tick_range": {end: order.tick_range[end] for end in ("start", "end")},
        "liquidity_total": hex(order.liquidity_total),
        "collected_fees": _amounts(order.collected_fees),
        "size_change": _change(order.size_change, _size),
    }


def _change(change: Change | None, write: Callable[[Any], Any]) -> dict[str, Any] | None:
    return None if change is None else {change[0].lower(): write(change[1])}


def _size(size: Mapping[str, Any]) -> dict[str, Any]:
    return {"liquidity": hex(size["liquidity"]), "amounts": _amounts(size["amounts"])}


def _amounts(pair: Mapping[str, int]) -> dict[str, str]:
    return {side: hex(pair[side]) for side in ("base", "quote")}
