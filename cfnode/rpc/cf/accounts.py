"""The `cf_*` methods of accounts: balances, roles, and the information of each role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.node.chain.runtime_api import ApiMissing
from cfnode.rpc.cf import legacy_shapes
from cfnode.rpc.cf.method import CUSTOM, Arguments, answers, custom, method, query, to_json, value
from cfnode.rpc.cf.params import ACCOUNT_ID, ROLES
from cfnode.rpc.table.blocks import block_asked
from cfnode.rpc.table.convert import account
from cfnode.rpc.table.rows import Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

ROLE_INFO: Final = {
    "Broker": "cf_broker_info",
    "LiquidityProvider": "cf_liquidity_provider_info",
    "Validator": "cf_validator_info",
    "Operator": "cf_operator_info",
}
ROLE_NAMES: Final = {
    "Unregistered": "unregistered",
    "Broker": "broker",
    "LiquidityProvider": "liquidity_provider",
    "Validator": "validator",
    "Operator": "operator",
}
SWEPT: Final = "Yes"
"""The choice to collect the pools' debts to an account before its balances are read."""
_IN_COMMON: Final = frozenset(
    {"balance", "bond", "bound_redeem_address", "restricted_balances", "estimated_redeemable_balance"}
)
"""Members of a validator's info that every account has."""


async def account_info(node: Node, account_id: bytes, at: bytes | None) -> dict[str, Any]:
    """Return an account's information by its role; an unknown account is `unregistered`, with zeros."""
    block = block_asked(node, at)
    arguments: dict[str, Any] = {"account_id": account_id, "should_sweep": SWEPT}
    try:
        role, common = await _role_and_common(node, block, arguments)
        info = await query(node, block, ROLE_INFO[role], **arguments) if role in ROLE_INFO else {}
    except ApiMissing:  # the runtime is older
        role = _role(await value(node, block, "cf_account_role", account_id=account_id))
        common = await legacy_shapes.account_items(node, block, account_id)
        info = (
            await legacy_shapes.role_items(node, block, role, ROLE_INFO[role], arguments)
            if role in ROLE_INFO
            else {}
        )
    return _joined({"account_id": account(account_id), **common}, role, info)


async def _role_and_common(node: Node, block: bytes, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the role of an account and what every account has, in one message. Raises ApiMissing."""
    names = ("cf_account_role", "cf_common_account_info")
    role, common = await answers(node, block, [(f"{CUSTOM}_{name}", arguments) for name in names])
    return _role(role.value), await to_json(node, block, common)


def _role(value: str | None) -> str:
    return "Unregistered" if value in (None, "None") else value


def _joined(common: dict[str, Any], role: str, info: dict[str, Any]) -> dict[str, Any]:
    if role == "Validator":
        info = {name: entry for name, entry in info.items() if name not in _IN_COMMON}
        if info.get("operator") is None:
            info.pop("operator", None)
    return {**common, "role": ROLE_NAMES.get(role, role.lower()), **info}


def _all(result: list[dict[str, Any]], arguments: Arguments) -> list[dict[str, Any]]:
    return [_one_of_all(entry) for entry in result]


def _one_of_all(entry: dict[str, Any]) -> dict[str, Any]:
    role = entry["role"]
    name, info = (role, {}) if isinstance(role, str) else next(iter(role.items()))
    return _joined(entry["common_items"], name, info)


def info_v2(result: dict[str, Any]) -> dict[str, Any]:
    """Return a validator's information in the older shape, without operators."""
    return {name: entry for name, entry in result.items() if name != "operator"}


METHODS: Final = (
    custom("cf_account_info", account_info, ACCOUNT_ID),
    method(
        "cf_account_info_v2",
        "A validator account's balances and status.",
        params=(ACCOUNT_ID,),
        function="cf_validator_info",
        reshape=lambda result, arguments: info_v2(result),
    ),
    method(
        "cf_all_account_infos",
        "All accounts, or those of some roles, each as in cf_account_info.",
        params=(Param("roles", ROLES, optional=True),),
        reshape=_all,
    ),
    method(
        "cf_free_balances",
        "An account's free balance of every asset.",
        params=(ACCOUNT_ID,),
        aliases=("cf_asset_balances",),
    ),
    method(
        "cf_withdrawal_whitelist",
        "The destinations that an account may withdraw to, and the changes that wait for its timelock. For "
        "runtimes whose CustomRuntimeApi has version 21 or later.",
        params=(ACCOUNT_ID,),
    ),
    method(
        "cf_lp_total_balances",
        "A liquidity provider's total of every asset, its orders and boosts included.",
        params=(ACCOUNT_ID,),
        aliases=("lp_total_balances",),
    ),
)
