"""Order fills of a block, from the difference between its pools and its parent's.

No runtime API returns the fills. So the pools of the block are compared with those of its parent
(`core.amm.fills`); `cf_lp_events` lists the orders that were collected in the block. Pools can be large, so a
thread compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.amm import AmmPool
from cfnode.core.amm.fills import LimitFill, RangeFill, limit_fills, range_fills
from cfnode.core.assets import ASSETS
from cfnode.core.state import BlockState
from cfnode.node.chain.runtime_api import ApiMissing
from cfnode.node.threads import convert_in_thread
from cfnode.rpc.cf.method import custom, value
from cfnode.rpc.cf.updates import block_update
from cfnode.rpc.substrate.storage import in_state
from cfnode.rpc.table.broker_params import write_asset
from cfnode.rpc.table.convert import account
from cfnode.rpc.table.errors import PROCESSING

if TYPE_CHECKING:
    from cfnode.core.scale.metadata import StorageItem
    from cfnode.node.node import Node

__all__ = ["METHODS", "fills_of"]

SIDES: Final = {"base": "sell", "quote": "buy"}
Owner = tuple[bytes, int]


async def order_fills(node: Node, at: bytes | None) -> dict[str, Any]:
    """Return the orders that a block (default: the last finalized one) has filled, and how far."""
    block = node.chain.finalized.hash if at is None else at
    header = node.chain.header(block)
    if header is None:
        raise PROCESSING
    fills = await fills_of(node, block)
    return {**block_update(header, block), **fills}


async def fills_of(node: Node, block: bytes) -> dict[str, Any]:
    """Return the member `fills`: the orders that a block has filled."""
    pairs = await value(node, block, "cf_pools")
    events = await value(node, block, "cf_lp_events")
    header = node.chain.header(block)
    if header is None or not header.number:  # genesis fills nothing
        return {"fills": []}
    stored_after, stored_before = [await _read(node, at, pairs) for at in (block, header.parent_hash)]
    return {
        "fills": await convert_in_thread(lambda: list(_fills(stored_after, stored_before, _changed(events))))
    }


@dataclass(frozen=True, slots=True)
class _StoredPools:
    """The stored pools of one block, by base and quote asset."""

    item: StorageItem
    values: Mapping[tuple[str, str], bytes | None]

    def pool(self, pair: tuple[str, str]) -> AmmPool | None:
        """Return one pool; None if it did not exist yet. Raises ApiMissing for pools of another shape."""
        raw = self.values[pair]
        if raw is None:
            return None
        try:
            return AmmPool.from_value(self.item.decode(raw)["pool_state"])
        except (KeyError, TypeError) as error:
            raise ApiMissing("the pools of this runtime have a shape that this build cannot read") from error


async def _read(node: Node, block: bytes, pairs: Sequence[Mapping[str, str]]) -> _StoredPools:
    item = (await node.chain.runtime_at(block)).metadata.storage("LiquidityPools", "Pools")
    keys = {(pair["base"], pair["quote"]): item.key({"assets": dict(pair)}) for pair in pairs}

    def read(state: BlockState) -> dict[tuple[str, str], bytes | None]:
        return {pair: state.get(key) for pair, key in keys.items()}

    return _StoredPools(item, await in_state(node, block, read, list(keys.values())))


Changed = tuple[set[tuple[str, str, Owner]], set[tuple[str, Owner]]]


def _changed(events: Sequence[Any]) -> Changed:
    """Return the limit orders (by side and base asset) and range orders that were collected in the block."""
    sides = {"Sell": "base", "Buy": "quote"}
    limits, ranges = set[tuple[str, str, Owner]](), set[tuple[str, Owner]]()
    for name, event in (event for event in events if isinstance(event, tuple)):
        if name == "LimitOrderUpdated":
            limits.add((sides[event["side"]], event["base_asset"], (event["lp"], event["id"])))
        elif name == "RangeOrderUpdated":
            ranges.add((event["base_asset"], (event["lp"], event["id"])))
    return limits, ranges


def _fills(
    stored_after: _StoredPools, stored_before: _StoredPools, changed: Changed
) -> Iterator[dict[str, Any]]:
    limits, ranges = changed
    changed_pairs = [
        pair for pair, value in stored_after.values.items() if value != stored_before.values[pair]
    ]
    for pair in sorted(changed_pairs, key=lambda pair: ASSETS[pair[0]].index):
        after, before = stored_after.pool(pair), stored_before.pool(pair)
        if after is None or before is None:
            continue
        for side in SIDES:
            limit_owners = {
                owner for order_side, asset, owner in limits if (order_side, asset) == (side, pair[0])
            }
            for fill in limit_fills(before, after, side, limit_owners):
                yield {"limit_order": _limit_order(pair, fill)}
        range_owners = {owner for asset, owner in ranges if asset == pair[0]}
        for range_fill in range_fills(before, after, range_owners):
            yield {"range_order": _range_order(pair, range_fill)}


def _provider_and_assets(pair: tuple[str, str], owner: Owner) -> dict[str, Any]:
    assets = {"base_asset": write_asset(pair[0]), "quote_asset": write_asset(pair[1])}
    return {"lp": account(owner[0]), **assets}


def _limit_order(pair: tuple[str, str], fill: LimitFill) -> dict[str, Any]:
    return {
        **_provider_and_assets(pair, fill.owner),
        "side": SIDES[fill.side],
        "id": hex(fill.owner[1]),
        "tick": fill.tick,
        "sold": hex(fill.sold),
        "bought": hex(fill.bought),
        "fees": hex(0),
        "remaining": hex(fill.remaining),
    }


def _range_order(pair: tuple[str, str], fill: RangeFill) -> dict[str, Any]:
    return {
        **_provider_and_assets(pair, fill.owner),
        "id": hex(fill.owner[1]),
        "range": {"start": fill.lower, "end": fill.upper},
        "bought_amounts": {side: hex(amount) for side, amount in fill.bought.items()},
        "fees": {side: hex(amount) for side, amount in fill.fees.items()},
        "liquidity": hex(fill.liquidity),
    }


METHODS: Final = (custom("cf_lp_get_order_fills", order_fills),)
