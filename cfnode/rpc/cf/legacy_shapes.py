"""Conversion of the answers of older runtimes to today's shape.

One function for each shape renames or adds members, and leaves today's answers as they are. A member that an
older runtime does not return stays missing; members of features that it lacks (boost, lending) are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.scale import NotInMetadataError
from cfnode.core.state import BlockState
from cfnode.rpc.cf.by_asset import by_asset
from cfnode.rpc.cf.json_overrides import vanity_name
from cfnode.rpc.cf.method import Arguments, if_available, query, value
from cfnode.rpc.substrate.storage import in_state
from cfnode.rpc.table.convert import account
from cfnode.rpc.table.runtime_names import names_at, names_of

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["account_items", "depth", "liquidity", "orders", "price", "role_items"]

_SIDES: Final = {"base": "asks", "quote": "bids"}
_FREE: Final = "LiquidityProvider", "FreeBalances"
_EARNED: Final = "Swapping", "EarnedBrokerFees"
_NOT_YET: Final[dict[str, dict[str, Any]]] = {
    "LiquidityProvider": {"lending_positions": [], "collateral_balances": []},
    "Validator": {"max_bid": None},
}
"""Members of features that older runtimes lack, by role.

A provider has a list for each asset, too.
"""


# Accounts


async def account_items(node: Node, block: bytes, account_id: bytes) -> dict[str, Any]:
    """Return the common members of any account, from a runtime without cf_common_account_info."""
    funds = await query(node, block, "cf_validator_info", account_id=account_id)
    names = dict(await value(node, block, "cf_accounts"))
    balances = await if_available(query(node, block, "cf_free_balances", account_id=account_id), None)
    items = {
        "account_id": account(account_id),
        "vanity_name": vanity_name(bytes(names.get(account_id, b""))),
        "flip_balance": funds["balance"],
        "asset_balances": balances or await _stored(node, block, _FREE, account_id),
        "bond": funds["bond"],
        "estimated_redeemable_balance": funds.get("estimated_redeemable_balance"),
        "bound_redeem_address": funds["bound_redeem_address"],
        "restricted_balances": {name: hex(amount) for name, amount in funds["restricted_balances"].items()},
    }
    return {name: entry for name, entry in items.items() if entry not in (None, "", {})}


async def role_items(
    node: Node, block: bytes, role: str, function: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the members of an account's role, as far as the runtime returns them."""
    answer = await if_available(query(node, block, function, **arguments), None)
    if answer is None and role == "Broker":
        fees = await _stored(node, block, _EARNED, arguments["account_id"])
        answer = {} if fees is None else {"earned_fees": fees}
    defaults = dict(_NOT_YET.get(role, {}))
    if role == "LiquidityProvider":
        defaults["boost_balances"] = by_asset((await names_at(node, block)).assets, {}, [])
    return {**defaults, **(answer or {})}


async def _stored(node: Node, block: bytes, item: tuple[str, str], account_id: bytes) -> Any:
    """Return amounts by asset from a storage map by account and asset.

    None if the runtime has no such map.
    """
    metadata = (await node.chain.runtime_at(block)).metadata
    try:
        amounts = metadata.storage(*item)
    except NotInMetadataError:
        return None
    assets = names_of(metadata.registry).assets
    keys = {name: amounts.key(account_id, name) for name in assets}

    def walk(state: BlockState) -> dict[str, int]:
        return {name: amounts.decode(state.get(key)) or 0 for name, key in keys.items()}

    amounts_stored = await in_state(node, block, walk, list(keys.values()))
    return by_asset(assets, {name: hex(amount) for name, amount in amounts_stored.items()}, "0x0")


# Pools


def price(answer: Any, arguments: Arguments) -> Any:
    """Return a price.

    Older runtimes return neither its square root nor its tick.
    """
    return {"price": answer} if isinstance(answer, str) else answer


def depth(answer: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Return the depth of a range of ticks, by side."""
    return {_SIDES.get(name, name): entry for name, entry in answer.items()}


def liquidity(answer: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Return the liquidity of a pool, each entry with the names of its members."""
    return {
        "limit_orders": {
            side: [_members(entry, "tick", "amount") for entry in entries]
            for side, entries in depth(answer["limit_orders"], arguments).items()
        },
        "range_orders": [_members(entry, "tick", "liquidity") for entry in answer["range_orders"]],
    }


def orders(answer: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Return the orders of a pool.

    Older runtimes return only those of one provider, without the provider.
    """
    return {
        "limit_orders": {
            side: [_order(entry, arguments, "id", "tick", "sell_amount") for entry in entries]
            for side, entries in depth(answer["limit_orders"], arguments).items()
        },
        "range_orders": [
            _order(entry, arguments, "id", "range", "liquidity") for entry in answer["range_orders"]
        ],
    }


def _order(entry: Any, arguments: Arguments, *names: str) -> Any:
    if isinstance(entry, dict):
        return entry
    order = {"lp": account(arguments["lp"]), **_members(entry, *names)}
    if "liquidity" in order:
        order["liquidity"] = int(order["liquidity"], 16)
    return {**order, "id": hex(order["id"])}


def _members(entry: Any, *names: str) -> Any:
    return dict(zip(names, entry, strict=True)) if isinstance(entry, list) else entry
