"""What the published clients' parsers require of each result: members and forms, in their own strictness."""

from __future__ import annotations

from tests.rpc.forms import (
    ASSETS,
    Requirement,
    a_bool,
    a_hex,
    a_map,
    a_map_of,
    a_number,
    a_text,
    all_of,
    an_account,
    an_amount,
    an_amount_by_account,
    an_asset,
    bare_or_prefixed,
    by_asset,
    by_chain,
    nothing,
    on,
    one_of,
    optional,
)

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
PRICED = ("Btc", "Eth", "Sol", "Usdc", "Usdt", "Usd", "Fine")
CALL = {"contract": a_hex, "data": a_text}
BOOST_POOL = {"chain": a_text, "asset": a_text}
EVM_SWAP = {"to": a_hex, "calldata": a_hex, "value": an_amount}
VAULT_SWAPS = {
    "bitcoin": {"nulldata_payload": a_hex, "deposit_address": a_text},
    "ethereum": EVM_SWAP,
    "arbitrum": EVM_SWAP,
    "tron": {"to": a_text, "calldata": a_text, "note": a_hex, "value": an_amount},
    "solana": {
        "program_id": a_text, "data": a_hex,
        "accounts": [{"pubkey": a_text, "is_signer": a_bool, "is_writable": a_bool}],
    },
}  # fmt: skip
ASSET = {"chain": a_text, "asset": a_text}
LENDING_POOL = {
    "asset": an_asset, **all_of(an_amount, "total_amount", "available_amount"),
    **all_of(a_number, "utilisation_rate", "utilisation_cap", "current_interest_rate"),
    **all_of(a_number, "origination_fee", "liquidation_fee"),
    "interest_rate_curve": all_of(
        a_number, "interest_at_zero_utilisation", "junction_utilisation", "interest_at_junction_utilisation",
        "interest_at_max_utilisation",
    ),
}  # fmt: skip
LENDING_CONFIG = {
    "ltv_thresholds": {"low_ltv": optional(a_number)} | all_of(
        a_number, "target", "soft_liquidation", "soft_liquidation_abort", "hard_liquidation",
        "hard_liquidation_abort",
    ),
    "network_fee_contributions": {"low_ltv_penalty_max": optional(a_number)} | all_of(
        a_number, "extra_interest", "from_origination_fee", "from_liquidation_fee",
    ),
    **all_of(
        a_number, "fee_swap_interval_blocks", "interest_payment_interval_blocks",
        "soft_liquidation_max_oracle_slippage", "hard_liquidation_max_oracle_slippage",
        "fee_swap_max_oracle_slippage",
    ),
    **all_of(
        an_amount, "fee_swap_threshold_usd", "interest_collection_threshold_usd",
        "soft_liquidation_swap_chunk_size_usd", "hard_liquidation_swap_chunk_size_usd",
        "minimum_loan_amount_usd", "minimum_supply_amount_usd", "minimum_update_loan_amount_usd",
    ),
}  # fmt: skip
LOAN = {
    "loan_id": a_number, "asset": an_asset, "principal_amount": an_amount, "created_at": a_number,
    "loan_type": ({"User": an_account}, {"Boost": an_amount}),
    "broker": optional({"account": an_account, "bps": a_number}),
}  # fmt: skip
LOAN_ACCOUNT = {
    "account": an_account, "ltv_ratio": optional(an_amount), "loans": [LOAN],
    "collateral": [ASSET | {"amount": an_amount}],
    "liquidation_status": optional({
        "liquidation_swaps": [all_of(a_number, "swap_request_id", "loan_id")],
        "liquidation_type": one_of("SoftVoluntary", "Soft", "Hard"),
    }),
}  # fmt: skip
DELEGATION = {
    "operator": an_account, "validators": an_amount_by_account, "delegators": an_amount_by_account,
    "delegation_fee_bps": a_number,
}  # fmt: skip
OPERATOR = COMMON | {
    "managed_validators": an_amount_by_account, "delegators": an_amount_by_account,
    "settings": {"fee_bps": a_number, "delegation_acceptance": one_of("Allow", "Deny")},
    "allowed": [an_account], "blocked": [an_account], "active_delegation": DELEGATION,
}  # fmt: skip
STRATEGIES = {
    "TickZeroCentered": {"spread_tick": a_number, "base_asset": an_asset},
    "SimpleBuySell": {"buy_tick": a_number, "sell_tick": a_number, "base_asset": an_asset},
    "InventoryBased": {"base_asset": an_asset} | all_of(
        a_number, "min_buy_tick", "max_buy_tick", "min_sell_tick", "max_sell_tick"
    ),
    "OracleTracking": {"base_asset": an_asset, "quote_asset": an_asset} | all_of(
        a_number, "min_buy_offset_tick", "max_buy_offset_tick", "min_sell_offset_tick",
        "max_sell_offset_tick",
    ),
}  # fmt: skip
STRATEGY = {"lp_id": a_text, "strategy_id": a_text, "balance": [[an_asset, an_amount]]}
INGRESS_EGRESS = on(
    "boost_deposits", "deposit_channel_creation", "deposit_channel_witnessing", "vault_deposit_witnessing"
)
SAFE_MODE = {
    "emissions": on("emissions_sync"),
    "funding": on("redeem"),
    "swapping": on("swaps", "withdrawals", "broker_registration", "deposit"),
    "liquidity_provider": on("deposit", "withdrawal", "internal_swaps"),
    "validator": on("authority_rotation", "start_bidding", "stop_bidding"),
    "pools": on("range_order_update", "limit_order_update"),
    "trading_strategies": on("strategy_updates", "strategy_closure", "strategy_execution"),
    "reputation": on("reporting"),
    "asset_balances": on("reconciliation"),
    **{f"threshold_signature_{chain}": on("slashing") for chain in ("evm", "bitcoin", "polkadot", "solana")},
    "lending_pools": on("add_boost_funds", "stop_boosting", "liquidations")
    | all_of([ASSET], "borrowing", "add_lender_funds", "withdraw_lender_funds"),
    **{f"broadcast_{chain.lower()}": on("retry", "egress_witnessing") for chain in ASSETS},
    **{f"ingress_egress_{chain.lower()}": INGRESS_EGRESS for chain in ASSETS},
    "witnesser": (one_of("CodeRed", "CodeGreen"), {"CodeAmber": a_map}),
    "ethereum_elections": all_of(
        a_bool, "state_chain_gateway_witnessing", "key_manager_witnessing", "sc_utils_witnessing"
    ),
    "arbitrum_elections": {"key_manager_witnessing": a_bool},
    "elections_generic": {"oracle_price_elections": a_bool},
}
SEEN = {
    "deposits": [{
        "deposit_chain_block_height": a_number, "deposit_address": a_text, "amount": an_amount,
        "deposit_details": ({"tx_id": a_text, "vout": a_number}, {"tx_hashes": [a_hex]}, nothing),
        "asset": ASSET,
    }],
    "broadcasts": [{
        "broadcast_id": a_number, "broadcast_chain_block_height": a_number, "tx_ref": {"hash": a_text},
        "tx_out_id": ({"hash": a_text}, {"signature": {"s": [a_number], "k_times_g_address": [a_number]}}),
    }],
    "vault_deposits": [{
        "tx_id": a_text, "amount": an_amount, "destination_address": a_text, "max_boost_fee": a_number,
        "input_asset": ASSET, "output_asset": ASSET,
        "broker_fee": optional({"account": an_account, "bps": a_number}),
        "affiliate_fees": [{"account": an_account, "bps": a_number}],
        "refund_params": optional({
            "retry_duration": a_number, "refund_address": a_text, "min_price": an_amount,
            "max_oracle_price_slippage": optional(a_number),
        }),
        "dca_params": optional({"number_of_chunks": a_number, "chunk_interval": a_number}),
    }],
}  # fmt: skip
REWARDS = {
    **all_of(an_amount, "epoch_index", "current_block", "current_epoch_started_at", "epoch_duration"),
    **all_of(an_amount, "bond", "total_rewards", "per_authority_share"), "authority_count": a_number,
    "reward_pool": [{
        "account": an_account, **all_of(an_amount, "bid", "bond", "reward"), "role": a_text,
        **all_of(optional(an_account), "managed_by", "delegated_to"),
    }],
}  # fmt: skip
CHANNEL = {
    "address": a_text, "issued_block": a_number, "channel_id": a_number, "channel_opening_fee": a_hex,
}  # fmt: skip

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
    "cf_account_info.operator": OPERATOR,
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
        "min_bid": an_amount,
    },
    "cf_monitoring_simulate_auction": {
        "auction_outcome": {"winners": [an_account], "bond": an_amount},
        "operators_info": a_map_of(DELEGATION),
        "new_validators": [an_account], "current_mab": an_amount,
    },
    **{f"cf_get_trading_strategies.{kind}": [STRATEGY | {"strategy": {kind: terms}}]
       for kind, terms in STRATEGIES.items()},
    "cf_get_trading_strategy_limits": {
        "minimum_deployment_amount": by_asset(optional(an_amount)),
        "minimum_added_funds_amount": by_asset(optional(an_amount)),
    },
    "cf_safe_mode_statuses": SAFE_MODE,
    "cf_oracle_prices": [{
        "price": an_amount,
        "updated_at_oracle_timestamp": a_number, "updated_at_statechain_block": a_number,
        "base_asset": one_of(*PRICED), "quote_asset": one_of(*PRICED),
        "price_status": one_of("UpToDate", "Stale", "MaybeStale"),
    }],
    "cf_lending_pools": [LENDING_POOL],
    "cf_lending_config": LENDING_CONFIG,
    "cf_loan_accounts": [LOAN_ACCOUNT],
    "cf_all_loans": [LOAN],
    "cf_lending_pool_supply_balances": [ASSET | {
        "positions": [{"lp_id": an_account, "total_amount": an_amount}],
    }],
    "cf_ingress_egress_events.bitcoin": SEEN,
    "cf_ingress_egress_events.ethereum": SEEN,
    **{f"cf_request_swap_parameter_encoding.{chain}": form for chain, form in VAULT_SWAPS.items()},
    "cf_encode_cf_parameters": a_hex,
}  # fmt: skip
