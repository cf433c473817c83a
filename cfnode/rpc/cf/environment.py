"""The `cf_*_environment` methods: costs and limits of swaps, deposits, withdrawals and funding.

An environment is assembled from many small answers, one for each asset and chain, all of the same block. So
they are requested in batches; and since they cannot change, the whole is cached as JSON for the most recently
requested blocks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cfnode.rpc.cf.by_asset import by_asset
from cfnode.rpc.cf.method import CUSTOM, answers, custom, to_json, value
from cfnode.rpc.cf.pools import hex_or_none, pool_info
from cfnode.rpc.table.blocks import JsonCache, block_asked
from cfnode.rpc.table.broker_params import write_asset
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.runtime_names import RuntimeNames, names_at

if TYPE_CHECKING:
    from cfnode.node.chain.runtime_api import ApiAnswer
    from cfnode.node.node import Node

Form = Callable[[Any], Any]

_CACHE: Final = PerNode(lambda: JsonCache[tuple[bytes, str]](16))
Part = Callable[["Node", bytes], Awaitable[dict[str, Any]]]


# The members


@dataclass(frozen=True, slots=True)
class _Each:
    """The answers of a function for every asset or every chain (`of`), each converted by `form`."""

    of: str
    function: str
    form: Form

    def _names(self, names: RuntimeNames) -> tuple[str, ...]:
        return names.assets if self.of == "asset" else names.chains

    def arguments(self, names: RuntimeNames) -> list[dict[str, str]]:
        return [{self.of: name} for name in self._names(names)]

    async def encode(
        self, node: Node, block: bytes, names: RuntimeNames, results: Sequence[ApiAnswer]
    ) -> Any:
        values = {
            name: self.form(answer.value) for name, answer in zip(self._names(names), results, strict=True)
        }
        return by_asset(names.assets, values, None) if self.of == "asset" else values


@dataclass(frozen=True, slots=True)
class _One:
    """The answer of a function: encoded by its type, or converted by `form`."""

    function: str
    form: Form | None = None

    def arguments(self, names: RuntimeNames) -> list[dict[str, str]]:
        return [{}]

    async def encode(
        self, node: Node, block: bytes, names: RuntimeNames, results: Sequence[ApiAnswer]
    ) -> Any:
        return await to_json(node, block, results[0]) if self.form is None else self.form(results[0].value)


@dataclass(frozen=True, slots=True)
class _Minimums(_One):
    """The answers of a function by asset; one unit for every other asset."""

    async def encode(
        self, node: Node, block: bytes, names: RuntimeNames, results: Sequence[ApiAnswer]
    ) -> Any:
        minimums = results[0].value["minimum_add_funds_amount"]
        return by_asset(names.assets, {asset: hex(amount) for asset, amount in minimums}, "0x1")


def _amounts(function: str) -> _Each:
    """Return a member of amounts by asset: hex, or null."""
    return _Each("asset", function, hex_or_none)


def _blocks(function: str) -> _Each:
    """Return a member of numbers of blocks by chain."""
    return _Each("chain", function, lambda blocks: blocks)


_INGRESS_EGRESS: Final[dict[str, _Each | _One]] = {
    "minimum_deposit_amounts": _amounts("cf_min_deposit_amount"),
    "ingress_fees": _amounts("cf_ingress_fee"),
    "egress_fees": _amounts("cf_egress_fee"),
    "witness_safety_margins": _blocks("cf_witness_safety_margin"),
    "egress_dust_limits": _amounts("cf_egress_dust_limit"),
    "channel_opening_fees": _Each("chain", "cf_channel_opening_fee", hex),
    "ingress_delays": _blocks("cf_ingress_delay"),
    "boost_delays": _blocks("cf_boost_delay"),
    "boost_minimum_add_funds_amounts": _Minimums("cf_boost_config"),
}
_SWAPPING: Final[dict[str, _Each | _One]] = {
    "maximum_swap_amounts": _amounts("cf_max_swap_amount"),
    "network_fee_hundredth_pips": _One(
        "cf_network_fees", lambda fees: fees["regular_network_fee"]["standard_rate_and_minimum"]["rate"]
    ),
    "swap_retry_delay_blocks": _One("cf_swap_retry_delay_blocks"),
    "max_swap_retry_duration_blocks": _One(
        "cf_swap_limits", lambda limits: limits["max_swap_retry_duration_blocks"]
    ),
    "max_swap_request_duration_blocks": _One(
        "cf_swap_limits", lambda limits: limits["max_swap_request_duration_blocks"]
    ),
    "minimum_chunk_size": _amounts("cf_minimum_chunk_size"),
    "network_fees": _One("cf_network_fees"),
    "default_oracle_price_protection": _One("cf_default_oracle_price_protection"),
}
_FUNDING: Final[dict[str, _Each | _One]] = {
    "redemption_tax": _One("cf_redemption_tax", hex),
    "minimum_funding_amount": _One("cf_min_funding", hex),
}


# The assembly


def _part(members: Mapping[str, _Each | _One]) -> Part:
    """Return the function that requests the members of a part together, and encodes them."""

    async def part(node: Node, block: bytes) -> dict[str, Any]:
        names = await names_at(node, block)
        questions = [
            (f"{CUSTOM}_{member.function}", arguments)
            for member in members.values()
            for arguments in member.arguments(names)
        ]
        remaining_answers = iter(await answers(node, block, questions))
        return {
            name: await member.encode(
                node, block, names, list(islice(remaining_answers, len(member.arguments(names))))
            )
            for name, member in members.items()
        }

    return part


async def _pools(node: Node, block: bytes) -> dict[str, Any]:
    pools = await value(node, block, "cf_pools")
    questions = [
        (f"{CUSTOM}_cf_pool_info", {"base_asset": pool["base"], "quote_asset": pool["quote"]})
        for pool in pools
    ]
    fees = {
        pool["base"]: {
            **pool_info(await to_json(node, block, info), {}),
            "quote_asset": write_asset(pool["quote"]),
        }
        for pool, info in zip(pools, await answers(node, block, questions), strict=True)
    }
    return {"fees": by_asset((await names_at(node, block)).assets, fees, None)}


_PARTS: Final[dict[str, Part]] = {
    "ingress_egress": _part(_INGRESS_EGRESS),
    "swapping": _part(_SWAPPING),
    "funding": _part(_FUNDING),
    "pools": _pools,
}


async def _all(node: Node, block: bytes) -> dict[str, Any]:
    return {name: await part(node, block) for name, part in _PARTS.items()}


async def _kept(node: Node, at: bytes | None, name: str, part: Part) -> msgspec.Raw:
    block = block_asked(node, at)
    return await _CACHE.of(node).wait((block, name), lambda: part(node, block))


async def environment(node: Node, at: bytes | None) -> Any:
    """Return all four parts of the environment."""
    return await _kept(node, at, "all", _all)


async def ingress_egress(node: Node, at: bytes | None) -> Any:
    """Return the terms of deposits and withdrawals: minimums, fees, margins, delays."""
    return await _kept(node, at, "ingress_egress", _PARTS["ingress_egress"])


async def swapping(node: Node, at: bytes | None) -> Any:
    """Return the terms of swaps: limits, network fees, retry times, price protection."""
    return await _kept(node, at, "swapping", _PARTS["swapping"])


async def funding(node: Node, at: bytes | None) -> Any:
    """Return the minimum funding in FLIP and the price of a redemption."""
    return await _kept(node, at, "funding", _PARTS["funding"])


async def pools(node: Node, at: bytes | None) -> Any:
    """Return the figures of every asset's pool, null for an asset without a pool."""
    return await _kept(node, at, "pools", _PARTS["pools"])


METHODS: Final = (
    custom("cf_environment", environment),
    custom("cf_ingress_egress_environment", ingress_egress),
    custom("cf_swapping_environment", swapping),
    custom("cf_funding_environment", funding),
    custom("cf_pools_environment", pools, aliases=("cf_pool_environment",)),
)
