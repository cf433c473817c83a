"""Calls of `cf_` methods, and variants with which the runtime answers."""

from __future__ import annotations

from typing import Any

from tests.rpc.requirements import STRATEGIES
from tests.rpc.samples import ACCOUNT, BTC, ETH, PARAMS, SOL, USDC

Case = tuple[str, list[Any], dict[str, str]]
"""Method, parameters, and variants (by enum) with which the runtime answers."""

CASES: dict[str, Case] = {
    name: (name, PARAMS.get(name, []), {})
    for name in (
        "cf_all_account_infos", "cf_all_open_deposit_channels", "cf_asset_balances", "cf_auction_state",
        "cf_boost_pool_details", "cf_boost_pool_pending_fees", "cf_boost_pools_depth",
        "cf_current_compatibility_version", "cf_environment", "cf_failed_call_arbitrum",
        "cf_failed_call_ethereum", "cf_free_balances", "cf_funding_environment",
        "cf_get_open_deposit_channels", "cf_get_trading_strategies", "cf_get_trading_strategy_limits",
        "cf_get_vault_addresses", "cf_ingress_egress_environment", "cf_lending_config",
        "cf_lending_pool_supply_balances", "cf_lending_pools", "cf_loan_accounts", "cf_lp_total_balances",
        "cf_pool_depth", "cf_pool_info", "cf_pool_liquidity", "cf_pool_orderbook", "cf_pool_orders",
        "cf_pool_price", "cf_pool_price_v2", "cf_pool_range_order_liquidity_value", "cf_pools_environment",
        "cf_required_asset_ratio_for_range_order", "cf_safe_mode_statuses", "cf_scheduled_swaps",
        "cf_suspensions", "cf_swap_rate", "cf_swap_rate_v2", "cf_swap_rate_v3", "cf_swapping_environment",
        "cf_witness_count", "lp_total_balances",
    )
}  # fmt: skip
CASES["lp_total_balances"] = ("lp_total_balances", [ACCOUNT], {})
CASES["cf_asset_balances"] = ("cf_asset_balances", [ACCOUNT], {})
CASES["cf_all_account_infos"] = ("cf_all_account_infos", [], {"RuntimeApiAccountInfo": "Validator"})
CASES["cf_safe_mode_statuses"] = ("cf_safe_mode_statuses", [], {"PalletSafeMode": "CodeGreen"})
CASES["cf_suspensions"] = ("cf_suspensions", [], {"Offence": "FailedToBroadcastTransaction"})
REFUND = {"retry_duration": 1, "refund_address": "0x" + "22" * 20, "min_price": "0x1"}
EVM = {"chain": "Ethereum", "input_amount": "0x1", "refund_parameters": REFUND}
SOLANA_REFUND = {**REFUND, "refund_address": "11111111111111111111111111111111"}
BITCOIN_SWAP = {"chain": "Bitcoin", "nulldata_payload": "0x01", "deposit_address": "bcrt1q"}


def _vault(chain: str, asset: Any, extra: Any) -> None:
    params = [ACCOUNT, asset, USDC, "0x" + "11" * 20, 10, extra]
    CASES[f"cf_request_swap_parameter_encoding.{chain}"] = (
        "cf_request_swap_parameter_encoding",
        params,
        {"VaultSwapDetails": chain.capitalize()},
    )
    CASES[f"broker_decode_vault_swap_parameter.{chain}"] = (
        "cf_decode_vault_swap_parameter",
        [ACCOUNT, BITCOIN_SWAP],
        {"VaultSwapExtraParameters": chain.capitalize(), "EncodedAddress": "Sol"},
    )


_vault("bitcoin", BTC, {"chain": "Bitcoin", "min_output_amount": 5, "retry_duration": 1})
_vault("ethereum", ETH, EVM)
_vault("arbitrum", {"chain": "Arbitrum", "asset": "ETH"}, EVM | {"chain": "Arbitrum"})
_vault(
    "solana",
    SOL,
    {
        "chain": "Solana",
        "from": "11111111111111111111111111111111",
        "seed": "aa",
        "input_amount": 5,
        "refund_parameters": SOLANA_REFUND,
    },
)
CASES["cf_encode_cf_parameters"] = (
    "cf_encode_cf_parameters",
    [ACCOUNT, ETH, USDC, "0x" + "11" * 20, 10, REFUND],
    {},
)
for _role, _case in {"broker": "Broker", "lp": "LiquidityProvider", "validator": "Validator"}.items():
    CASES[f"cf_account_info.{_role}"] = ("cf_account_info", [ACCOUNT], {"AccountRole": _case})
CASES["cf_account_info.no_account"] = ("cf_account_info", [ACCOUNT], {"AccountRole": "Unregistered"})


MORE_CASES: dict[str, Case] = {
    "cf_account_info.operator": ("cf_account_info", [ACCOUNT], {"AccountRole": "Operator"}),
    "cf_request_swap_parameter_encoding.tron": (
        *CASES["cf_request_swap_parameter_encoding.ethereum"][:2], {"VaultSwapDetails": "Tron"},
    ),
    **{f"cf_get_trading_strategies.{kind}": ("cf_get_trading_strategies", [], {"TradingStrategy": kind})
       for kind in STRATEGIES},
    "cf_ingress_egress_events.bitcoin": (
        "cf_ingress_egress_events", ["Bitcoin"], {"RawWitnessedEvents": "Bitcoin"},
    ),
    "cf_ingress_egress_events.ethereum": (
        "cf_ingress_egress_events", ["Ethereum"],
        {"RawWitnessedEvents": "Ethereum", "ForeignChainAddress": "Eth"},
    ),
}  # fmt: skip
