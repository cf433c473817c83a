"""Frozen dataclasses of the chain's values: monitoring.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "ActivateKeysBroadcastIds",
    "ExternalChainsBlockHeight",
    "FeeImbalance",
    "OpenDepositChannels",
    "PendingBroadcasts",
    "VaultImbalance",
    "VaultImbalanceDeficit",
    "VaultImbalanceSurplus",
]

Amount = TypeVar("Amount", covariant=True)


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


FORMS: Mapping[str, PythonForm] = {
    "ActivateKeysBroadcastIds": ActivateKeysBroadcastIds,
    "ExternalChainsBlockHeight": ExternalChainsBlockHeight,
    "FeeImbalance": FeeImbalance,
    "OpenDepositChannels": OpenDepositChannels,
    "PendingBroadcasts": PendingBroadcasts,
    "VaultImbalance": {"Surplus": VaultImbalanceSurplus, "Deficit": VaultImbalanceDeficit},
}
