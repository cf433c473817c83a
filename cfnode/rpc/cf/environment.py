"""The environment: what swaps, deposits, withdrawals and funding cost and are bounded by.

It is put together from many small answers, one for each asset and chain, all of the same block. They cannot
change, so the whole is kept as JSON for the blocks that were asked for last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cfnode.core.scale.types import Variants
from cfnode.rpc.blocks import Remembered, at_or_best
from cfnode.rpc.broker_params import write_asset
from cfnode.rpc.cf.by_asset import by_asset, by_chain
from cfnode.rpc.cf.method import custom, query, value
from cfnode.rpc.cf.pools import pool_info

if TYPE_CHECKING:
    from cfnode.node.node import Node

QUOTE_ASSET: Final = "Usdc"

_remembered: Remembered[tuple[bytes, bytes, str]] = Remembered(16)
Part = Callable[["Node", bytes], Awaitable[dict[str, Any]]]


async def _names(node: Node, block: bytes, *path: str) -> list[str]:
    """The cases of an enum of the runtime, in the order of their numbers."""
    registry = (await node.chain.runtime_at(block)).metadata.registry
    definition = registry.find(*path).definition
    assert isinstance(definition, Variants)
    return [case.name for case in sorted(definition.variants, key=lambda case: case.index)]


async def assets_of_runtime(node: Node, block: bytes) -> list[str]:
    """The names of all assets that the runtime of a block knows."""
    return await _names(node, block, "any", "Asset")


async def _chains(node: Node, block: bytes) -> list[str]:
    return await _names(node, block, "chains", "ForeignChain")


async def _amounts(node: Node, block: bytes, function: str, empty: Any = "0x0") -> dict[str, Any]:
    """Amounts by asset: hex, or null."""
    values = {
        asset: await value(node, block, function, asset=asset)
        for asset in await assets_of_runtime(node, block)
    }
    return by_asset({asset: _hex_or_none(amount) for asset, amount in values.items()}, empty)


async def _by_chain(
    node: Node, block: bytes, function: str, empty: Any, form: Callable[[Any], Any] = lambda entry: entry
) -> dict[str, Any]:
    chains = await _chains(node, block)
    return by_chain({chain: form(await value(node, block, function, chain=chain)) for chain in chains}, empty)


def _hex_or_none(amount: int | None) -> str | None:
    return None if amount is None else hex(amount)


async def _ingress_egress(node: Node, block: bytes) -> dict[str, Any]:
    boost = await value(node, block, "cf_boost_config")
    return {
        "minimum_deposit_amounts": await _amounts(node, block, "cf_min_deposit_amount"),
        "ingress_fees": await _amounts(node, block, "cf_ingress_fee", None),
        "egress_fees": await _amounts(node, block, "cf_egress_fee", None),
        "witness_safety_margins": await _by_chain(node, block, "cf_witness_safety_margin", None),
        "egress_dust_limits": await _amounts(node, block, "cf_egress_dust_limit"),
        "channel_opening_fees": await _by_chain(node, block, "cf_channel_opening_fee", "0x0", hex),
        "ingress_delays": await _by_chain(node, block, "cf_ingress_delay", 0),
        "boost_delays": await _by_chain(node, block, "cf_boost_delay", 0),
        "boost_minimum_add_funds_amounts": _boost_minimums(boost["minimum_add_funds_amount"]),
    }


def _boost_minimums(minimums: Iterable[tuple[str, int]]) -> dict[str, Any]:
    return by_asset({asset: hex(amount) for asset, amount in minimums}, "0x0")


async def _swapping(node: Node, block: bytes) -> dict[str, Any]:
    limits = await value(node, block, "cf_swap_limits")
    fees = await query(node, block, "cf_network_fees")
    return {
        "maximum_swap_amounts": await _amounts(node, block, "cf_max_swap_amount", None),
        "network_fee_hundredth_pips": fees["regular_network_fee"]["standard_rate_and_minimum"]["rate"],
        "swap_retry_delay_blocks": await value(node, block, "cf_swap_retry_delay_blocks"),
        "max_swap_retry_duration_blocks": limits["max_swap_retry_duration_blocks"],
        "max_swap_request_duration_blocks": limits["max_swap_request_duration_blocks"],
        "minimum_chunk_size": await _amounts(node, block, "cf_minimum_chunk_size"),
        "network_fees": fees,
        "default_oracle_price_protection": await query(node, block, "cf_default_oracle_price_protection"),
    }


async def _funding(node: Node, block: bytes) -> dict[str, Any]:
    return {
        "redemption_tax": hex(await value(node, block, "cf_redemption_tax")),
        "minimum_funding_amount": hex(await value(node, block, "cf_min_funding")),
    }


async def _pools(node: Node, block: bytes) -> dict[str, Any]:
    pools = await value(node, block, "cf_pools")
    fees = {
        pool["base"]: {
            **pool_info(
                await query(node, block, "cf_pool_info", base_asset=pool["base"], quote_asset=pool["quote"]),
                {},
            ),
            "quote_asset": write_asset(pool["quote"]),
        }
        for pool in pools
    }
    return {"fees": by_asset(fees, None)}


async def _all(node: Node, block: bytes) -> dict[str, Any]:
    return {
        "ingress_egress": await _ingress_egress(node, block),
        "swapping": await _swapping(node, block),
        "funding": await _funding(node, block),
        "pools": await _pools(node, block),
    }


async def _kept(node: Node, at: bytes | None, name: str, part: Part) -> msgspec.Raw:
    block = at_or_best(node, at)
    key = node.chain.genesis_hash, block, name
    return await _remembered.wait(key, lambda: part(node, block))


async def environment(node: Node, at: bytes | None) -> Any:
    """All four parts."""
    return await _kept(node, at, "all", _all)


async def ingress_egress(node: Node, at: bytes | None) -> Any:
    """Deposits and withdrawals: minimums, fees, margins, delays."""
    return await _kept(node, at, "ingress_egress", _ingress_egress)


async def swapping(node: Node, at: bytes | None) -> Any:
    """Swaps: limits, network fees, retry times, price protection."""
    return await _kept(node, at, "swapping", _swapping)


async def funding(node: Node, at: bytes | None) -> Any:
    """FLIP: the least funding and the price of a redemption."""
    return await _kept(node, at, "funding", _funding)


async def pools(node: Node, at: bytes | None) -> Any:
    """The figures of every asset's pool, null where there is none."""
    return await _kept(node, at, "pools", _pools)


METHODS: Final = (
    custom("cf_environment", environment),
    custom("cf_ingress_egress_environment", ingress_egress),
    custom("cf_swapping_environment", swapping),
    custom("cf_funding_environment", funding),
    custom("cf_pools_environment", pools, aliases=("cf_pool_environment",)),
)
