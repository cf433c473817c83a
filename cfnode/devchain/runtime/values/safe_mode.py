"""Frozen dataclasses of the chain's values: safe mode.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "ArbitrumElectionsSafeMode",
    "AssetBalancesPalletSafeMode",
    "BroadcastPalletSafeMode",
    "BscElectionsSafeMode",
    "EmissionsPalletSafeMode",
    "EthereumElectionsSafeMode",
    "FundingPalletSafeMode",
    "GenericElectionsSafeMode",
    "IngressEgressPalletSafeMode",
    "LendingPoolsPalletSafeMode",
    "LpPalletSafeMode",
    "PoolsPalletSafeMode",
    "ReputationPalletSafeMode",
    "RuntimeSafeMode",
    "SafeModeSet",
    "SafeModeSetAmber",
    "SafeModeUpdate",
    "SafeModeUpdateCodeAmber",
    "SwappingPalletSafeMode",
    "ThresholdSignaturePalletSafeMode",
    "TradingStrategyPalletSafeMode",
    "TronElectionsSafeMode",
    "ValidatorPalletSafeMode",
    "WitnesserCallPermission",
    "WitnesserPalletSafeMode",
    "WitnesserPalletSafeModeCodeAmber",
]

CallPermission = TypeVar("CallPermission", covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class SafeModeSetAmber(Generic[T]):
    """`cf_traits::SafeModeSet::Amber`."""

    value: Sequence[T]


SafeModeSet: TypeAlias = Literal["Green", "Red"] | SafeModeSetAmber[T]


@dataclass(frozen=True, slots=True)
class EmissionsPalletSafeMode:
    """`pallet_cf_emissions::PalletSafeMode`."""

    emissions_sync_enabled: bool


@dataclass(frozen=True, slots=True)
class FundingPalletSafeMode:
    """`pallet_cf_funding::PalletSafeMode`."""

    redeem_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingPalletSafeMode:
    """`pallet_cf_swapping::PalletSafeMode`."""

    swaps_enabled: bool
    withdrawals_enabled: bool
    broker_registration_enabled: bool
    deposit_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorPalletSafeMode:
    """`pallet_cf_validator::PalletSafeMode`."""

    authority_rotation_enabled: bool
    start_bidding_enabled: bool
    stop_bidding_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsPalletSafeMode:
    """`pallet_cf_pools::PalletSafeMode`."""

    range_order_update_enabled: bool
    limit_order_update_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyPalletSafeMode:
    """`pallet_cf_trading_strategy::PalletSafeMode`."""

    strategy_updates_enabled: bool
    strategy_closure_enabled: bool
    strategy_execution_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingPoolsPalletSafeMode:
    """`pallet_cf_lending_pools::PalletSafeMode`."""

    add_boost_funds_enabled: bool
    stop_boosting_enabled: bool
    borrowing: SafeModeSet[str]
    add_lender_funds: SafeModeSet[str]
    withdraw_lender_funds: SafeModeSet[str]
    liquidations_enabled: bool


@dataclass(frozen=True, slots=True)
class ReputationPalletSafeMode:
    """`pallet_cf_reputation::PalletSafeMode`."""

    reporting_enabled: bool


@dataclass(frozen=True, slots=True)
class AssetBalancesPalletSafeMode:
    """`pallet_cf_asset_balances::PalletSafeMode`."""

    reconciliation_enabled: bool


@dataclass(frozen=True, slots=True)
class ThresholdSignaturePalletSafeMode:
    """`pallet_cf_threshold_signature::PalletSafeMode`."""

    slashing_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastPalletSafeMode:
    """`pallet_cf_broadcast::PalletSafeMode`."""

    retry_enabled: bool
    egress_witnessing_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressEgressPalletSafeMode:
    """`pallet_cf_ingress_egress::PalletSafeMode`."""

    boost_deposits_enabled: bool
    deposit_channel_creation_enabled: bool
    deposit_channel_witnessing_enabled: bool
    vault_deposit_witnessing_enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LpPalletSafeMode:
    """`pallet_cf_lp::PalletSafeMode`."""

    deposit_enabled: bool
    withdrawal_enabled: bool
    internal_swaps_enabled: bool
    flip_to_on_chain_balance_enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class GenericElectionsSafeMode:
    """`state_chain_runtime::GenericElectionsSafeMode`."""

    oracle_price_elections: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EthereumElectionsSafeMode:
    """`state_chain_runtime::EthereumElectionsSafeMode`."""

    state_chain_gateway_witnessing: bool
    key_manager_witnessing: bool
    sc_utils_witnessing: bool


@dataclass(frozen=True, slots=True)
class ArbitrumElectionsSafeMode:
    """`state_chain_runtime::ArbitrumElectionsSafeMode`."""

    key_manager_witnessing: bool


@dataclass(frozen=True, slots=True)
class TronElectionsSafeMode:
    """`state_chain_runtime::TronElectionsSafeMode`."""

    key_manager_witnessing: bool


@dataclass(frozen=True, slots=True)
class BscElectionsSafeMode:
    """`state_chain_runtime::BscElectionsSafeMode`."""

    key_manager_witnessing: bool


@dataclass(frozen=True, slots=True)
class WitnesserPalletSafeModeCodeAmber(Generic[CallPermission]):
    """`pallet_cf_witnesser::PalletSafeMode::CodeAmber`."""

    value: CallPermission


WitnesserPalletSafeMode: TypeAlias = (
    Literal["CodeGreen", "CodeRed"] | WitnesserPalletSafeModeCodeAmber[CallPermission]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnesserCallPermission:
    """`state_chain_runtime::WitnesserCallPermission`."""

    governance: bool
    funding: bool
    swapping: bool
    ethereum_broadcast: bool
    ethereum_chain_tracking: bool
    ethereum_ingress_egress: bool
    ethereum_vault: bool
    polkadot_broadcast: bool
    polkadot_chain_tracking: bool
    polkadot_ingress_egress: bool
    polkadot_vault: bool
    bitcoin_broadcast: bool
    bitcoin_chain_tracking: bool
    bitcoin_ingress_egress: bool
    bitcoin_vault: bool
    arbitrum_broadcast: bool
    arbitrum_chain_tracking: bool
    arbitrum_ingress_egress: bool
    arbitrum_vault: bool
    solana_broadcast: bool
    solana_vault: bool
    assethub_broadcast: bool
    assethub_chain_tracking: bool
    assethub_ingress_egress: bool
    assethub_vault: bool
    tron_broadcast: bool
    tron_chain_tracking: bool
    tron_ingress_egress: bool
    tron_vault: bool
    bsc_broadcast: bool | None = None
    bsc_chain_tracking: bool | None = None
    bsc_ingress_egress: bool | None = None
    bsc_vault: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSafeMode:
    """`state_chain_runtime::RuntimeSafeMode`."""

    emissions: EmissionsPalletSafeMode
    funding: FundingPalletSafeMode
    swapping: SwappingPalletSafeMode
    liquidity_provider: LpPalletSafeMode
    validator: ValidatorPalletSafeMode
    pools: PoolsPalletSafeMode
    trading_strategies: TradingStrategyPalletSafeMode
    lending_pools: LendingPoolsPalletSafeMode
    reputation: ReputationPalletSafeMode
    asset_balances: AssetBalancesPalletSafeMode
    threshold_signature_evm: ThresholdSignaturePalletSafeMode
    threshold_signature_bitcoin: ThresholdSignaturePalletSafeMode
    threshold_signature_polkadot: ThresholdSignaturePalletSafeMode
    threshold_signature_solana: ThresholdSignaturePalletSafeMode
    broadcast_ethereum: BroadcastPalletSafeMode
    broadcast_bitcoin: BroadcastPalletSafeMode
    broadcast_polkadot: BroadcastPalletSafeMode
    broadcast_arbitrum: BroadcastPalletSafeMode
    broadcast_solana: BroadcastPalletSafeMode
    broadcast_assethub: BroadcastPalletSafeMode
    broadcast_tron: BroadcastPalletSafeMode
    witnesser: WitnesserPalletSafeMode[WitnesserCallPermission]
    ingress_egress_ethereum: IngressEgressPalletSafeMode
    ingress_egress_bitcoin: IngressEgressPalletSafeMode
    ingress_egress_polkadot: IngressEgressPalletSafeMode
    ingress_egress_arbitrum: IngressEgressPalletSafeMode
    ingress_egress_solana: IngressEgressPalletSafeMode
    ingress_egress_assethub: IngressEgressPalletSafeMode
    ingress_egress_tron: IngressEgressPalletSafeMode
    elections_generic: GenericElectionsSafeMode
    ethereum_elections: EthereumElectionsSafeMode
    arbitrum_elections: ArbitrumElectionsSafeMode
    tron_elections: TronElectionsSafeMode
    broadcast_bsc: BroadcastPalletSafeMode | None = None
    ingress_egress_bsc: IngressEgressPalletSafeMode | None = None
    bsc_elections: BscElectionsSafeMode | None = None


@dataclass(frozen=True, slots=True)
class SafeModeUpdateCodeAmber:
    """`pallet_cf_environment::SafeModeUpdate::CodeAmber`."""

    value: RuntimeSafeMode


SafeModeUpdate: TypeAlias = Literal["CodeRed", "CodeGreen"] | SafeModeUpdateCodeAmber


FORMS: Mapping[str, PythonForm] = {
    "ArbitrumElectionsSafeMode": ArbitrumElectionsSafeMode,
    "BscElectionsSafeMode": BscElectionsSafeMode,
    "EthereumElectionsSafeMode": EthereumElectionsSafeMode,
    "GenericElectionsSafeMode": GenericElectionsSafeMode,
    "RuntimeSafeMode": RuntimeSafeMode,
    "SafeModeSet": {"Amber": SafeModeSetAmber},
    "SafeModeUpdate": {"CodeAmber": SafeModeUpdateCodeAmber},
    "TronElectionsSafeMode": TronElectionsSafeMode,
    "WitnesserCallPermission": WitnesserCallPermission,
    "asset_balances::PalletSafeMode": AssetBalancesPalletSafeMode,
    "broadcast::PalletSafeMode": BroadcastPalletSafeMode,
    "emissions::PalletSafeMode": EmissionsPalletSafeMode,
    "funding::PalletSafeMode": FundingPalletSafeMode,
    "ingress_egress::PalletSafeMode": IngressEgressPalletSafeMode,
    "lending_pools::PalletSafeMode": LendingPoolsPalletSafeMode,
    "lp::PalletSafeMode": LpPalletSafeMode,
    "pools::PalletSafeMode": PoolsPalletSafeMode,
    "reputation::PalletSafeMode": ReputationPalletSafeMode,
    "swapping::PalletSafeMode": SwappingPalletSafeMode,
    "threshold_signature::PalletSafeMode": ThresholdSignaturePalletSafeMode,
    "trading_strategy::PalletSafeMode": TradingStrategyPalletSafeMode,
    "validator::PalletSafeMode": ValidatorPalletSafeMode,
    "witnesser::PalletSafeMode": {"CodeAmber": WitnesserPalletSafeModeCodeAmber},
}
