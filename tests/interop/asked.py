"""Methods of Chainflip's published clients, with the parameters with which each is called."""

from __future__ import annotations

from typing import Any

from tests.interop.lively import (
    ARB_ETH,
    BROKER,
    PROVIDER,
    SOL_ADDRESS,
    SOL_USDC,
    TRON_ADDRESS,
    TRON_USDT,
    TRX,
    Life,
    account,
)
from tests.rpc.samples import ACCOUNT, BTC, ETH, EVM_ADDRESS, PAIR, REFUND, SOL, TICKS, USDC

Asked = dict[str, list[list[Any]]]


def vault_swaps() -> list[list[Any]]:
    """Return the parameters of vault swaps from each chain, of coins and of tokens."""
    parameters = []
    evm = {"input_amount": "0xde0b6b3a7640000", "refund_parameters": REFUND}
    tron = {"input_amount": "0xf4240", "refund_parameters": REFUND | {"refund_address": TRON_ADDRESS}}
    solana = {
        "input_amount": "0xf4240",
        "from": SOL_ADDRESS,
        "seed": "0x" + "11" * 32,
        "refund_parameters": REFUND | {"refund_address": SOL_ADDRESS},
    }
    bitcoin = {"min_output_amount": "0x5", "retry_duration": 10}
    for asset, terms in (
        *((BTC, bitcoin), (ETH, evm), (USDC, evm), (ARB_ETH, evm)),
        *((TRX, tron), (TRON_USDT, tron), (SOL, solana), (SOL_USDC, solana)),
    ):
        target = ARB_ETH if asset == ETH else ETH
        parameters.append([asset, target, EVM_ADDRESS, 10, {"chain": asset["chain"], **terms}])
    return parameters


def questions(life: Life) -> Asked:
    """Return each method, with the lists of parameters for which its answer has something in it."""
    swaps, (validator, *_) = vault_swaps(), life.node.call("cf_all_account_infos", ["Validator"])
    broker, provider, authority = account(BROKER), account(PROVIDER), validator["account_id"]
    terms = [ETH, BTC, "bcrt1qs758ursh4q9z627kt3pp5yysm78ddny6txaqgw", 10]
    opened = [*terms, None, 0, None, REFUND, {"number_of_chunks": 2, "chunk_interval": 2}]
    plain = (
        "cf_accounts", "cf_boost_pools_depth", "cf_environment", "cf_funding_environment",
        "cf_ingress_egress_environment", "cf_pools_environment", "cf_supported_assets",
        "cf_swapping_environment", "state_getMetadata", "state_getRuntimeVersion",
        "cf_authority_emission_per_block", "cf_epoch_duration", "cf_auction_state",
        "cf_monitoring_simulate_auction", "cf_flip_supply", "cf_eth_state_chain_gateway_address",
        "cf_eth_key_manager_address", "cf_available_pools", "cf_safe_mode_statuses", "cf_oracle_prices",
        "cf_get_trading_strategies", "cf_get_trading_strategy_limits", "cf_lending_pools",
        "cf_lending_config", "cf_loan_accounts", "cf_lending_pool_supply_balances", "cf_all_loans",
        "cf_get_vault_addresses", "cf_all_account_infos", "cf_boost_pool_details",
        "cf_boost_pool_pending_fees",
    )  # fmt: skip
    return {
        **{name: [[]] for name in plain},
        "chain_getBlockHash": [[0], []],
        "broker_request_swap_deposit_address": [opened],
        "broker_request_account_creation_deposit_address": [life.wallet_signs()],
        "broker_request_swap_parameter_encoding": swaps,
        "cf_request_swap_parameter_encoding": [[broker, *swap] for swap in swaps],
        "broker_encode_cf_parameters": [[*terms, REFUND]],
        "cf_encode_cf_parameters": [[broker, *terms, REFUND]],
        "cf_account_info": [[account] for account in (broker, provider, authority, ACCOUNT)],
        "cf_pool_depth": [[*PAIR, TICKS]],
        "cf_pool_orders": [PAIR, [*PAIR, provider], [*PAIR, provider, True]],
        "cf_pool_orderbook": [[*PAIR, 100]],
        "cf_pool_price_v2": [PAIR],
        "cf_swap_rate": [[*PAIR, "0xde0b6b3a7640000"], [ETH, BTC, "0xde0b6b3a7640000"]],
        "cf_swap_rate_v2": [[*PAIR, "0xde0b6b3a7640000"], [ETH, BTC, "0xde0b6b3a7640000"]],
        "cf_swap_rate_v3": [[*PAIR, "0xde0b6b3a7640000", 10], [ETH, BTC, "0xde0b6b3a7640000", 10]],
        "lp_total_balances": [[provider]],
        **{f"cf_failed_call_{chain.lower()}": [[broadcast]] for chain, broadcast in life.failed.items()},
        "cf_ingress_egress_events": [list(params) for params in life.seen],
    }
