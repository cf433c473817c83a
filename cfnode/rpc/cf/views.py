"""The `cf_*` methods of channels, affiliates, vaults, failed calls, boost pools and lending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.rpc.cf.method import CUSTOM, answers, custom, method
from cfnode.rpc.cf.params import BROKER_PARAM
from cfnode.rpc.table.blocks import block_asked
from cfnode.rpc.table.broker_params import ASSET, write_asset
from cfnode.rpc.table.convert import ACCOUNT, U32, account
from cfnode.rpc.table.rows import Param
from cfnode.rpc.table.runtime_names import names_at

if TYPE_CHECKING:
    from cfnode.node.node import Node

ANY_ASSET: Final = Param("asset", ASSET, optional=True)
BROADCAST: Final = (Param("broadcast_id", U32),)


# Boost pools


async def _boost_pools(
    node: Node, block: bytes, asset: str | None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each boost pool: its asset and tier as members, and the decoded details."""
    assets = [asset] if asset else (await names_at(node, block)).assets
    questions = [(f"{CUSTOM}_cf_boost_pool_details", {"asset": name}) for name in assets]
    return [
        ({"fee_tier": tier, **write_asset(name)}, details)
        for name, pools in zip(assets, await answers(node, block, questions), strict=True)
        for tier, details in pools.value
    ]


def _owed(amounts: list[Any], member: str) -> list[dict[str, str]]:
    return [
        {"account_id": account(lender), "amount": hex(lender_amounts[member])}
        for lender, lender_amounts in amounts
    ]


async def boost_pool_details(node: Node, asset: str | None, at: bytes | None) -> list[dict[str, Any]]:
    """Return each boost pool: its providers' funds, and the funds that wait for deposits."""
    pools = await _boost_pools(node, block_asked(node, at), asset)
    return [{**pool, **_details(details)} for pool, details in pools]


def _details(details: dict[str, Any]) -> dict[str, Any]:
    return {
        "available_amounts": [
            {"account_id": account(lender), "amount": hex(amount)}
            for lender, amount in details["available_amounts"]
        ],
        "deposits_pending_finalization": [
            {"deposit_id": deposit, "owed_amounts": _owed(amounts, "total")}
            for deposit, amounts in details["pending_boosts"]
        ],
        "pending_withdrawals": [
            {"account_id": account(lender), "pending_deposits": list(deposits)}
            for lender, deposits in details["pending_withdrawals"]
        ],
        "network_fee_deduction_percent": details["network_fee_deduction_percent"],
    }


async def boost_pool_pending_fees(node: Node, asset: str | None, at: bytes | None) -> list[dict[str, Any]]:
    """Return each boost pool: the pending fees of its providers."""
    pools = await _boost_pools(node, block_asked(node, at), asset)
    return [{**pool, "pending_fees": _fees(details)} for pool, details in pools]


def _fees(details: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"deposit_id": deposit, "fees": _owed(amounts, "fee")}
        for deposit, amounts in details["pending_boosts"]
    ]


OPEN_CHANNELS: Final = method(
    "cf_get_open_deposit_channels",
    "The open deposit channels, or those of one account.",
    params=(Param("broker", ACCOUNT, optional=True),),
    names={"broker": "account_id"},
)
ALL_OPEN_CHANNELS: Final = method(
    "cf_all_open_deposit_channels", "The open deposit channels by account and purpose."
)
AFFILIATES: Final = method(
    "cf_get_affiliates",
    "A broker's affiliates, or one of them.",
    params=(BROKER_PARAM, Param("affiliate", ACCOUNT, optional=True)),
    function="cf_affiliate_details",
)
VAULT_ADDRESSES: Final = method(
    "cf_get_vault_addresses",
    "The addresses that receive vault swaps.",
    function="cf_vault_addresses",
)

METHODS: Final = (
    OPEN_CHANNELS,
    ALL_OPEN_CHANNELS,
    AFFILIATES,
    VAULT_ADDRESSES,
    method(
        "cf_get_transaction_screening_events",
        "The outcomes of deposits that brokers marked for rejection, in this block.",
        function="cf_transaction_screening_events",
    ),
    method(
        "cf_failed_call_ethereum",
        "The signed transaction on Ethereum that repeats a failed transfer, or null.",
        params=BROADCAST,
    ),
    method(
        "cf_failed_call_arbitrum",
        "The signed transaction on Arbitrum that repeats a failed transfer, or null.",
        params=BROADCAST,
    ),
    method(
        "cf_failed_call_bsc",
        "The signed transaction on BSC that repeats a failed transfer, or null, for runtimes that offer it.",
        params=BROADCAST,
    ),
    method(
        "cf_failed_call_tron",
        "The signed transaction on Tron that repeats a failed transfer, or null.",
        params=BROADCAST,
    ),
    method("cf_boost_pools_depth", "The available amount of each boost pool."),
    custom("cf_boost_pool_details", boost_pool_details, ANY_ASSET),
    custom("cf_boost_pool_pending_fees", boost_pool_pending_fees, ANY_ASSET),
    method(
        "cf_get_trading_strategies",
        "All trading strategies, or those of one provider.",
        params=(Param("lp", ACCOUNT, optional=True),),
        names={"lp": "lp_id"},
    ),
    method(
        "cf_get_trading_strategy_limits",
        "The minimum amounts for starting a trading strategy and for adding to it.",
        function="cf_trading_strategy_limits",
    ),
    method("cf_lending_pools", "The lending pools.", params=(ANY_ASSET,)),
    method("cf_lending_pool_supply_balances", "The lenders and their supplied amounts.", params=(ANY_ASSET,)),
    method("cf_lending_config", "The rules of lending."),
    method(
        "cf_loan_accounts",
        "The accounts that borrow, or one of them.",
        params=(Param("borrower_id", ACCOUNT, optional=True),),
    ),
    method("cf_all_loans", "All loans."),
)
