"""The `cf_*` methods of pools: prices, orders, simulated swaps, and scheduled swaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.node.chain.runtime_api import ApiMissing
from cfnode.rpc.cf import legacy_shapes
from cfnode.rpc.cf.method import Arguments, custom, method, value
from cfnode.rpc.cf.params import (
    ADDITIONAL_ORDERS,
    BASE,
    CCM_DATA,
    EXCLUDE_FEES,
    FROM,
    PRICE_PAIR,
    QUOTE_ASSET_PARAM,
    TICK_RANGE,
    TO,
    U256,
)
from cfnode.rpc.table.blocks import block_asked
from cfnode.rpc.table.broker_params import DCA, write_asset
from cfnode.rpc.table.convert import ACCOUNT, BOOL, NUMBER_OR_HEX, U16, U32, U128
from cfnode.rpc.table.rows import Param
from cfnode.swaps.limits import MAX_CCM_MESSAGE_BYTES

if TYPE_CHECKING:
    from cfnode.node.node import Node


def price_v2(result: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Return a price with its assets."""
    pair = {name: write_asset(arguments[name]) for name in ("base_asset", "quote_asset")}
    return {**pair, **result}


def pool_info(result: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Return a pool's figures.

    Limit orders pay no fee any more, so two members are constant.
    """
    if "limit_order_fee_hundredth_pips" in result:  # a runtime in which limit orders paid fees
        return result
    return {
        "limit_order_fee_hundredth_pips": 0,
        "range_order_fee_hundredth_pips": result["range_order_fee_hundredth_pips"],
        "range_order_total_fees_earned": result["range_order_total_fees_earned"],
        "limit_order_total_fees_earned": {"base": "0x0", "quote": "0x0"},
        "range_total_swap_inputs": result["range_total_swap_inputs"],
        "limit_total_swap_inputs": result["limit_total_swap_inputs"],
        **result,
    }


def scheduled(result: list[Any], arguments: Arguments) -> list[dict[str, Any]]:
    """Return scheduled swaps, each with the block of its execution."""
    return [_scheduled(leg, execute_at) for leg, execute_at in result]


def _scheduled(leg: dict[str, Any], execute_at: int) -> dict[str, Any]:
    last_members = {name: leg[name] for name in ("remaining_chunks", "chunk_interval")}
    first_members = {name: entry for name, entry in leg.items() if name not in last_members}
    return {**first_members, "execute_at": execute_at, **last_members}


# Simulated swaps


async def _simulate(node: Node, block: bytes, source: str, target: str, amount: int, **options: Any) -> Any:
    if amount >> 128:
        raise RpcError(ErrorCode.INVALID_PARAMS, "Swap input amount too large.")
    if amount == 0:
        raise RpcError(ErrorCode.INVALID_PARAMS, "Swap input amount cannot be zero.")
    ccm = options.get("ccm_data")
    if ccm is not None and ccm["message_length"] > MAX_CCM_MESSAGE_BYTES:
        raise RpcError(ErrorCode.INVALID_PARAMS, "CCM message size too large.")
    plain: dict[str, Any] = {
        "broker_commission": 0,
        "dca_parameters": None,
        "ccm_data": None,
        "exclude_fees": [],
        "additional_limit_orders": None,
        "is_internal": None,
    }
    arguments = {**plain, **options, "from": source, "to": target, "amount": amount}
    return await value(node, block, "cf_pool_simulate_swap", **arguments)


def hex_or_none(amount: int | None) -> str | None:
    """Return an amount as hex, or None."""
    return None if amount is None else hex(amount)


def _fee(asset: str, amount: int) -> dict[str, str]:
    return {**write_asset(asset), "amount": hex(amount)}


def _output(source: str, target: str, swap: dict[str, Any]) -> dict[str, Any]:
    if "network_fee" not in swap:
        raise ApiMissing("cf_pool_simulate_swap of this runtime does not return the fees of a swap")
    return {
        "intermediary": hex_or_none(swap["intermediary"]),
        "output": hex(swap["output"]),
        "network_fee": _fee("Usdc", swap["network_fee"]),
        "ingress_fee": _fee(source, swap["ingress_fee"]),
        "egress_fee": _fee(target, swap["egress_fee"]),
        "broker_commission": _fee("Usdc", swap["broker_fee"]),
    }


async def swap_rate(
    node: Node, source: str, target: str, amount: int, at: bytes | None
) -> dict[str, str | None]:
    """Return the output of a swap at this block."""
    swap = await _simulate(node, block_asked(node, at), source, target, amount)
    return {"intermediary": hex_or_none(swap["intermediary"]), "output": hex(swap["output"])}


async def swap_rate_v2(
    node: Node, source: str, target: str, amount: int, orders: list[Any] | None, at: bytes | None
) -> dict[str, Any]:
    """Return the output of a swap at this block, and its fees."""
    options = {"additional_limit_orders": orders}
    return _output(
        source, target, await _simulate(node, block_asked(node, at), source, target, amount, **options)
    )


async def swap_rate_v3(
    node: Node,
    source: str,
    target: str,
    amount: int,
    commission: int,
    dca: dict[str, int] | None,
    ccm: dict[str, int] | None,
    exclude_fees: list[str] | None,
    orders: list[Any] | None,
    is_internal: bool | None,
    at: bytes | None,
) -> dict[str, Any]:
    """Return the output of a swap at this block, and its fees, with commission, chunks and a message."""
    options = {
        "broker_commission": commission,
        "dca_parameters": dca,
        "ccm_data": ccm,
        "exclude_fees": list(dict.fromkeys(exclude_fees or ())),
        "additional_limit_orders": orders,
        "is_internal": is_internal,
    }
    return _output(
        source, target, await _simulate(node, block_asked(node, at), source, target, amount, **options)
    )


PAIR: Final = (BASE, QUOTE_ASSET_PARAM)
_MORE_ORDERS: Final = Param("additional_orders", ADDITIONAL_ORDERS, optional=True)
_SIMULATED: Final = (FROM, TO, Param("amount", U256))
_FROM_TO: Final = {"from_asset": "from", "to_asset": "to"}

METHODS: Final = (
    method(
        "cf_pool_price",
        "The price of one asset in another as 128-bit fixed point, null without a pool.",
        params=(FROM, TO),
        names=_FROM_TO,
        reshape=legacy_shapes.price,
    ),
    method(
        "cf_pool_price_v2",
        "A pool's square root prices: for a seller, for a buyer, and of its range orders.",
        params=PAIR,
        reshape=price_v2,
    ),
    custom("cf_swap_rate", swap_rate, FROM, TO, Param("amount", NUMBER_OR_HEX)),
    custom("cf_swap_rate_v2", swap_rate_v2, *_SIMULATED, _MORE_ORDERS),
    custom(
        "cf_swap_rate_v3",
        swap_rate_v3,
        *_SIMULATED,
        Param("broker_commission", U16),
        Param("dca_parameters", DCA, optional=True),
        Param("ccm_data", CCM_DATA, optional=True),
        Param("exclude_fees", EXCLUDE_FEES, optional=True),
        _MORE_ORDERS,
        Param("is_internal", BOOL, optional=True),
    ),
    method(
        "cf_required_asset_ratio_for_range_order",
        "The ratio of amounts that a range order requires.",
        params=(*PAIR, TICK_RANGE),
    ),
    method(
        "cf_pool_orderbook",
        "The best bids and asks of a pool, range orders included.",
        params=(*PAIR, Param("orders", U32)),
    ),
    method(
        "cf_pool_info", "A pool's fee, its earned fees and its swap inputs.", params=PAIR, reshape=pool_info
    ),
    method(
        "cf_pool_depth",
        "The depth of a range of ticks, by side.",
        params=(*PAIR, TICK_RANGE),
        reshape=legacy_shapes.depth,
    ),
    method(
        "cf_pool_liquidity", "The liquidity of a pool by tick.", params=PAIR, reshape=legacy_shapes.liquidity
    ),
    method(
        "cf_pool_orders",
        "The open orders of a pool, or those of one provider.",
        params=(*PAIR, Param("lp", ACCOUNT, optional=True), Param("filled_orders", BOOL, optional=True)),
        arguments=lambda arguments: {**arguments, "filled_orders": bool(arguments["filled_orders"])},
        reshape=legacy_shapes.orders,
    ),
    method(
        "cf_pool_range_order_liquidity_value",
        "The amounts that liquidity over a range is worth.",
        params=(*PAIR, TICK_RANGE, Param("liquidity", U128)),
    ),
    method("cf_available_pools", "All pools.", function="cf_pools"),
    method(
        "cf_scheduled_swaps",
        "The scheduled swaps of a pool.",
        params=PAIR,
        reshape=scheduled,
    ),
    method(
        "cf_validate_dca_params",
        "null, or the fault of the number of chunks or their interval.",
        params=(Param("number_of_chunks", U32), Param("chunk_interval", U32)),
    ),
    method(
        "cf_validate_refund_params",
        "null, or the fault of a retry duration or an oracle slippage.",
        params=(
            Param("input_asset", FROM.reader),
            Param("output_asset", TO.reader),
            Param("retry_duration", U32),
            Param("max_oracle_price_slippage", U16, optional=True),
        ),
    ),
    method(
        "cf_oracle_prices",
        "The oracle prices that the authorities have witnessed.",
        params=(Param("base_and_quote_asset", PRICE_PAIR, optional=True),),
    ),
)
