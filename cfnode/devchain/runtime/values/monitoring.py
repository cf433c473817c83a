"""Frozen dataclasses of the chain's values: monitoring.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

from .accounts import Offence

__all__ = [
    "ActivateKeysBroadcastIds",
    "AuthoritiesInfo",
    "BtcUtxos",
    "EpochState",
    "ExternalChainsBlockHeight",
    "FeeImbalance",
    "FlipSupply",
    "MonitoringDataV2",
    "MonitoringLastRuntimeUpgradeInfo",
    "OpenDepositChannels",
    "PendingBroadcasts",
    "PendingTssCeremonies",
    "RedemptionsInfo",
    "SolanaNonces",
    "VaultImbalance",
    "VaultImbalanceDeficit",
    "VaultImbalanceSurplus",
]

Amount = TypeVar("Amount", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoritiesInfo:
    """`state_chain_runtime::AuthoritiesInfo`."""

    authorities: int
    online_authorities: int
    backups: int
    online_backups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BtcUtxos:
    """`state_chain_runtime::BtcUtxos`."""

    total_balance: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochState:
    """`state_chain_runtime::EpochState`."""

    epoch_duration: int
    current_epoch_started_at: int
    current_epoch_index: int
    min_active_bid: int | None
    rotation_phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedemptionsInfo:
    """`state_chain_runtime::RedemptionsInfo`."""

    total_balance: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTssCeremonies:
    """`state_chain_runtime::PendingTssCeremonies`."""

    evm: int
    bitcoin: int
    polkadot: int
    solana: int


@dataclass(frozen=True, slots=True)
class VaultImbalanceSurplus(Generic[Amount]):
    """`pallet_cf_asset_balances::VaultImbalance::Surplus`."""

    value: Amount


@dataclass(frozen=True, slots=True)
class VaultImbalanceDeficit(Generic[Amount]):
    """`pallet_cf_asset_balances::VaultImbalance::Deficit`."""

    value: Amount


VaultImbalance: TypeAlias = VaultImbalanceSurplus[Amount] | VaultImbalanceDeficit[Amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringLastRuntimeUpgradeInfo:
    """`state_chain_runtime::LastRuntimeUpgradeInfo`."""

    spec_version: int
    spec_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolanaNonces:
    """`state_chain_runtime::SolanaNonces`."""

    available: Sequence[tuple[bytes, bytes]]
    unavailable: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipSupply:
    """`state_chain_runtime::FlipSupply`."""

    total_supply: int
    offchain_supply: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalChainsBlockHeight:
    """`state_chain_runtime::ExternalChainsBlockHeight`."""

    bitcoin: int
    ethereum: int
    polkadot: int
    solana: int
    arbitrum: int
    assethub: int
    tron: int
    bsc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingBroadcasts:
    """`state_chain_runtime::PendingBroadcasts`."""

    ethereum: int
    bitcoin: int
    polkadot: int
    arbitrum: int
    solana: int
    assethub: int
    tron: int
    bsc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDepositChannels:
    """`state_chain_runtime::OpenDepositChannels`."""

    ethereum: int
    bitcoin: int
    polkadot: int
    arbitrum: int
    solana: int
    assethub: int
    tron: int
    bsc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeImbalance(Generic[Amount]):
    """`state_chain_runtime::FeeImbalance`."""

    ethereum: VaultImbalance[Amount]
    polkadot: VaultImbalance[Amount]
    arbitrum: VaultImbalance[Amount]
    bitcoin: VaultImbalance[Amount]
    solana: VaultImbalance[Amount]
    assethub: VaultImbalance[Amount]
    tron: VaultImbalance[Amount]
    bsc: VaultImbalance[Amount] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivateKeysBroadcastIds:
    """`state_chain_runtime::ActivateKeysBroadcastIds`."""

    ethereum: int | None
    bitcoin: int | None
    polkadot: int | None
    arbitrum: int | None
    solana: tuple[int | None, bytes | None]
    assethub: int | None
    tron: int | None
    bsc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringDataV2:
    """`state_chain_runtime::MonitoringDataV2`."""

    external_chains_height: ExternalChainsBlockHeight
    btc_utxos: BtcUtxos
    epoch: EpochState
    pending_redemptions: RedemptionsInfo
    pending_broadcasts: PendingBroadcasts
    pending_tss: PendingTssCeremonies
    open_deposit_channels: OpenDepositChannels
    fee_imbalance: FeeImbalance[int]
    authorities: AuthoritiesInfo
    build_version: MonitoringLastRuntimeUpgradeInfo
    suspended_validators: Sequence[tuple[Offence, int]]
    pending_swaps: int
    dot_aggkey: bytes
    flip_supply: FlipSupply
    sol_aggkey: bytes
    sol_onchain_key: bytes
    sol_nonces: SolanaNonces
    activating_key_broadcast_ids: ActivateKeysBroadcastIds


FORMS: Mapping[str, PythonForm] = {
    "ActivateKeysBroadcastIds": ActivateKeysBroadcastIds,
    "AuthoritiesInfo": AuthoritiesInfo,
    "BtcUtxos": BtcUtxos,
    "EpochState": EpochState,
    "ExternalChainsBlockHeight": ExternalChainsBlockHeight,
    "FeeImbalance": FeeImbalance,
    "FlipSupply": FlipSupply,
    "MonitoringDataV2": MonitoringDataV2,
    "OpenDepositChannels": OpenDepositChannels,
    "PendingBroadcasts": PendingBroadcasts,
    "PendingTssCeremonies": PendingTssCeremonies,
    "RedemptionsInfo": RedemptionsInfo,
    "SolanaNonces": SolanaNonces,
    "VaultImbalance": {"Surplus": VaultImbalanceSurplus, "Deficit": VaultImbalanceDeficit},
    "monitoring::LastRuntimeUpgradeInfo": MonitoringLastRuntimeUpgradeInfo,
}
