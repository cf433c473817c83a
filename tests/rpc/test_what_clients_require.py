"""What the published clients' parsers require of each result: members and forms, in their own strictness.

A requirement is a small value: a predicate; a dict of members that must be there (more may be); a list of one
for an array of those; a tuple of alternatives. Rows are asked as in `test_cf_presentation`, on the real
metadata; what a runtime must have answered first is asked of a development node.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cfnode.core.scale.metadata import Metadata
from tests.rpc.conftest import Served
from tests.rpc.samples import ACCOUNT, PARAMS
from tests.rpc.test_cf_presentation import CASES, ask, metadata

__all__ = ["metadata"]  # a fixture


def a_hex(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+", value) is not None


def a_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def an_amount(value: Any) -> bool:
    decimal = isinstance(value, str) and re.fullmatch(r"[0-9]+", value) is not None
    return a_number(value) or a_hex(value) or decimal


def a_text(value: Any) -> bool:
    return isinstance(value, str)


def a_bool(value: Any) -> bool:
    return isinstance(value, bool)


def an_account(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("cF")


def nothing(value: Any) -> bool:
    return value is None


def bare_or_prefixed(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(0x)?[0-9a-fA-F]+", value) is not None


def a_map(value: Any) -> bool:
    return isinstance(value, dict)


ASSETS = {
    "Bitcoin": ("BTC",),
    "Ethereum": ("ETH", "USDC", "FLIP", "USDT", "WBTC"),
    "Arbitrum": ("ETH", "USDC", "USDT"),
    "Solana": ("SOL", "USDC", "USDT"),
    "Assethub": ("DOT", "USDC", "USDT"),
    "Tron": ("TRX", "USDT"),
    "Polkadot": ("DOT",),  # clients before Assethub
}
Requirement = Any


def by_asset(wanted: Requirement, *, but: str = "") -> Requirement:
    return {
        chain: {symbol: wanted for symbol in symbols if f"{chain}.{symbol}" != but}
        for chain, symbols in ASSETS.items()
    }


def by_chain(wanted: Requirement) -> Requirement:
    return dict.fromkeys(ASSETS, wanted)


def an_asset(value: Any) -> bool:
    return isinstance(value, dict) and value.get("asset") in (
        *ASSETS.get(value.get("chain", ""), ()),
        "CBBTC",
    )


def optional(wanted: Requirement) -> Requirement:
    return (wanted, nothing)


def failures(value: Any, wanted: Requirement, path: str = "") -> list[str]:
    """Where a value is not what is required."""
    if isinstance(wanted, tuple):
        tried = [failures(value, each, path) for each in wanted]
        return min(tried, key=len)
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        missing = [f"{path}.{name} is missing" for name in wanted if name not in value]
        present = ((name, each) for name, each in wanted.items() if name in value)
        return missing + [
            line for name, each in present for line in failures(value[name], each, f"{path}.{name}")
        ]
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no array"]
        if len(wanted) == 1:
            return [line for each in value for line in failures(each, wanted[0], f"{path}[]")]
        if len(value) != len(wanted):
            return [f"{path}: {len(value)} entries, not {len(wanted)}"]
        pairs = zip(value, wanted, strict=True)
        return [line for each, want in pairs for line in failures(each, want, f"{path}[]")]
    check: Callable[[Any], bool] = wanted
    return [] if check(value) else [f"{path}: {value!r} is not {check.__name__}"]


FEE = {"chain": a_text, "asset": a_text, "amount": an_amount}
RATE = {
    "intermediary": optional(a_hex), "output": a_hex,
    "network_fee": FEE, "ingress_fee": FEE, "egress_fee": FEE,
}  # fmt: skip
INGRESS = {
    "minimum_deposit_amounts": by_asset(an_amount),
    "ingress_fees": by_asset(optional(an_amount)),
    "egress_fees": by_asset(optional(an_amount)),
    "witness_safety_margins": by_chain(optional(a_number)),
    "egress_dust_limits": by_asset(an_amount),
    "channel_opening_fees": by_chain(an_amount),
    "ingress_delays": by_chain(a_number),
    "boost_delays": by_chain(a_number),
    "boost_minimum_add_funds_amounts": by_asset(optional(an_amount)),
}
NETWORK_FEE = {
    "standard_rate_and_minimum": {"rate": an_amount, "minimum": an_amount},
    "rates": by_asset(an_amount),
}
SWAPPING = {
    "maximum_swap_amounts": by_asset(optional(an_amount)),
    "network_fee_hundredth_pips": a_number,
    "swap_retry_delay_blocks": a_number,
    "max_swap_retry_duration_blocks": a_number,
    "max_swap_request_duration_blocks": a_number,
    "minimum_chunk_size": by_asset(optional(an_amount)),
    "network_fees": {"regular_network_fee": NETWORK_FEE, "internal_swap_network_fee": NETWORK_FEE},
    "default_oracle_price_protection": by_asset(optional(a_number)),
}
FUNDING = {"redemption_tax": an_amount, "minimum_funding_amount": an_amount}
BOTH = {"base": a_hex, "quote": a_hex}
POOL = {
    "limit_order_fee_hundredth_pips": a_number, "range_order_fee_hundredth_pips": a_number,
    "range_order_total_fees_earned": BOTH, "limit_order_total_fees_earned": BOTH,
    "range_total_swap_inputs": BOTH, "limit_total_swap_inputs": BOTH,
    "quote_asset": {"chain": a_text, "asset": a_text},
}  # fmt: skip
POOLS = {"fees": by_asset(optional(POOL), but="Ethereum.USDC")}
SIDE = {name: {"price": optional(an_amount), "depth": an_amount} for name in ("limit_orders", "range_orders")}
LIMIT = {
    "id": an_amount, "tick": a_number, "sell_amount": an_amount, "fees_earned": an_amount,
    "original_sell_amount": an_amount, "lp": a_text,
}  # fmt: skip
RANGE = {
    "id": an_amount, "range": {"start": a_number, "end": a_number}, "liquidity": an_amount,
    "fees_earned": {"base": an_amount, "quote": an_amount}, "lp": a_text,
}  # fmt: skip
LEVEL = {"amount": a_hex, "sqrt_price": a_hex}
COMMON = {
    "account_id": an_account, "flip_balance": an_amount, "bond": an_amount,
    "estimated_redeemable_balance": an_amount, "asset_balances": by_asset(an_amount), "role": a_text,
}  # fmt: skip
BROKER = COMMON | {
    "earned_fees": by_asset(an_amount),
    "btc_vault_deposit_address": optional(a_text),
    "affiliates": [{"account_id": an_account, "short_id": a_number, "withdrawal_address": a_hex}],
}
BOOST = {
    "fee_tier": a_number, "total_balance": a_hex, "available_balance": a_hex, "in_use_balance": a_hex,
    "is_withdrawing": a_bool,
}  # fmt: skip
PROVIDER = COMMON | {
    "refund_addresses": by_chain(optional(a_text)), "earned_fees": by_asset(an_amount),
    "boost_balances": by_asset([BOOST]), "lending_positions": [a_map], "collateral_balances": [a_map],
}  # fmt: skip
VALIDATOR = COMMON | {
    "last_heartbeat": a_number, "reputation_points": a_number, "keyholder_epochs": [a_number],
    "is_current_authority": a_bool, "is_current_backup": a_bool, "is_qualified": a_bool, "is_online": a_bool,
    "is_bidding": a_bool,
    "apy_bp": optional(a_number),
}  # fmt: skip
CALL = {"contract": a_hex, "data": a_text}
BOOST_POOL = {"chain": a_text, "asset": a_text}
EVM_SWAP = {"to": a_hex, "calldata": a_hex, "value": an_amount}
VAULT_SWAPS = {
    "bitcoin": {"nulldata_payload": a_hex, "deposit_address": a_text},
    "ethereum": EVM_SWAP,
    "arbitrum": EVM_SWAP,
    "solana": {
        "program_id": a_text, "data": a_hex,
        "accounts": [{"pubkey": a_text, "is_signer": a_bool, "is_writable": a_bool}],
    },
}  # fmt: skip
SCREENED = {"deposits": [a_map], "broadcasts": [a_map], "vault_deposits": [a_map]}

REQUIRED: dict[str, Requirement] = {
    "cf_supported_assets": [{"chain": a_text, "asset": a_text}],  # pairs that a client does not know it drops
    "cf_available_pools": [{"base": an_asset, "quote": an_asset}],
    "cf_environment": {"ingress_egress": INGRESS, "swapping": SWAPPING, "funding": FUNDING, "pools": POOLS},
    "cf_ingress_egress_environment": INGRESS,
    "cf_swapping_environment": SWAPPING,
    "cf_funding_environment": FUNDING,
    "cf_pools_environment": POOLS,
    "cf_swap_rate": {"intermediary": optional(an_amount), "output": an_amount},
    "cf_swap_rate_v2": RATE,
    "cf_swap_rate_v3": RATE | {"broker_commission": FEE},
    "cf_pool_price_v2": {
        "sell": optional(an_amount), "buy": optional(an_amount), "range_order": an_amount,
        "base_asset": an_asset, "quote_asset": an_asset,
    },
    "cf_pool_depth": optional({"asks": SIDE, "bids": SIDE}),
    "cf_pool_orders": {"limit_orders": {"asks": [LIMIT], "bids": [LIMIT]}, "range_orders": [RANGE]},
    "cf_pool_orderbook": {"bids": [LEVEL], "asks": [LEVEL]},
    "cf_boost_pools_depth": [BOOST_POOL | {"tier": a_number, "available_amount": a_hex}],
    "cf_boost_pool_details": [BOOST_POOL | {
        "fee_tier": a_number,
        "available_amounts": [{"account_id": a_text, "amount": a_hex}],
        "deposits_pending_finalization": [{"deposit_id": an_amount, "owed_amounts": [a_map]}],
        "pending_withdrawals": [{"account_id": a_text, "pending_deposits": [a_number]}],
    }],
    "cf_boost_pool_pending_fees": [BOOST_POOL | {
        "fee_tier": a_number,
        "pending_fees": [{"deposit_id": a_number, "fees": [{"account_id": a_text, "amount": a_hex}]}],
    }],
    "cf_accounts": [[an_account, a_text]],
    "cf_account_info.broker": BROKER,
    "cf_account_info.lp": PROVIDER,
    "cf_account_info.validator": VALIDATOR,
    "cf_account_info.no_account": COMMON,
    "cf_all_account_infos": [VALIDATOR],
    "cf_failed_call_ethereum": optional(CALL),
    "cf_failed_call_arbitrum": optional(CALL),
    "cf_failed_call_tron": optional(CALL),
    "lp_total_balances": by_asset(an_amount),
    "cf_authority_emission_per_block": an_amount,
    "cf_epoch_duration": a_number,
    "cf_flip_supply": [an_amount, an_amount],
    "cf_eth_state_chain_gateway_address": optional(bare_or_prefixed),
    "cf_eth_key_manager_address": optional(bare_or_prefixed),
    "cf_auction_state": {
        "epoch_duration": a_number, "current_epoch_started_at": a_number,
        "redemption_period_as_percentage": a_number, "min_funding": an_amount,
        "auction_size_range": [a_number, a_number], "min_active_bid": optional(an_amount),
    },
    "cf_monitoring_simulate_auction": {
        "auction_outcome": {"winners": [an_account], "bond": an_amount}, "operators_info": a_map,
        "new_validators": [an_account], "current_mab": an_amount,
    },
    "cf_get_trading_strategies": [{
        "lp_id": a_text, "strategy_id": a_text, "strategy": (a_map, a_text),
        "balance": [[an_asset, an_amount]],
    }],
    "cf_get_trading_strategy_limits": {
        "minimum_deployment_amount": by_asset(optional(an_amount)),
        "minimum_added_funds_amount": by_asset(optional(an_amount)),
    },
    "cf_safe_mode_statuses": {"witnesser": (a_text, a_map), "swapping": a_map, "broadcast_ethereum": a_map},
    "cf_oracle_prices": [{
        "price": an_amount,
        "updated_at_oracle_timestamp": an_amount, "updated_at_statechain_block": an_amount,
        "base_asset": a_text, "quote_asset": a_text, "price_status": a_text,
    }],
    "cf_ingress_egress_events": SCREENED,
    **{f"cf_request_swap_parameter_encoding.{chain}": form for chain, form in VAULT_SWAPS.items()},
    "cf_encode_cf_parameters": a_hex,
}  # fmt: skip


@pytest.mark.parametrize("case", REQUIRED)
async def test_a_result_is_what_the_clients_parsers_require(metadata: Metadata, case: str) -> None:
    name, params, cases = CASES.get(case, (case, PARAMS.get(case, []), {}))
    answer = await ask(metadata, name, *params, **cases)
    assert failures(answer, REQUIRED[case]) == []


ON_A_NODE: dict[str, tuple[list[Any], Requirement]] = {
    "chain_getBlockHash": ([0], a_hex),
    "state_getMetadata": ([], a_hex),
    "state_getRuntimeVersion": ([], {
        "specName": a_text, "implName": a_text, "authoringVersion": a_number, "specVersion": a_number,
        "implVersion": a_number, "transactionVersion": a_number, "stateVersion": a_number,
        "apis": [[a_hex, a_number]],
    }),
    "cf_get_vault_addresses": (
        [], {"ethereum": {"Eth": [a_number] * 20}, "arbitrum": {"Arb": [a_number] * 20}},
    ),
    "cf_account_info": ([ACCOUNT], {"role": a_text}),
    **{name: ([], REQUIRED[name]) for name in (
        "cf_supported_assets", "cf_available_pools", "cf_environment", "cf_accounts", "cf_epoch_duration",
        "cf_flip_supply", "cf_eth_key_manager_address", "cf_boost_pools_depth",
        "cf_safe_mode_statuses", "cf_oracle_prices",
    )},
}  # fmt: skip


async def test_a_development_node_answers_as_the_parsers_require(instant: Served) -> None:
    found = []
    for method, (params, wanted) in ON_A_NODE.items():
        found += failures(await instant.call(method, *params), wanted, method)
    assert found == []
