"""Frozen dataclasses of the chain's values: whitelists.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.addresses import ForeignAddress
from cfnode.core.scale import PythonForm

from .requests import AccountOrAddress

__all__ = [
    "AssetBalancesConfigUpdate",
    "AssetBalancesConfigUpdateMaxPendingWhitelistUpdates",
    "AssetBalancesConfigUpdateMaxWhitelistEntries",
    "AssetBalancesConfigUpdateMaxWhitelistTimelock",
    "AssetBalancesConfigUpdateRefundFeeMultiple",
    "PendingChange",
    "PendingChangeRefundAddress",
    "PendingChangeTimelock",
    "PendingChangeWhitelist",
    "WhitelistChange",
    "WhitelistChangeAllow",
    "WhitelistChangeRemove",
    "WithdrawalWhitelist",
]

AccountId = TypeVar("AccountId", covariant=True)
Address = TypeVar("Address", covariant=True)


@dataclass(frozen=True, slots=True)
class WhitelistChangeAllow(Generic[AccountId, Address]):
    """`pallet_cf_asset_balances::WhitelistChange::Allow`."""

    value: AccountOrAddress[AccountId, Address]


@dataclass(frozen=True, slots=True)
class WhitelistChangeRemove(Generic[AccountId, Address]):
    """`pallet_cf_asset_balances::WhitelistChange::Remove`."""

    value: AccountOrAddress[AccountId, Address]


WhitelistChange: TypeAlias = (
    WhitelistChangeAllow[AccountId, Address] | WhitelistChangeRemove[AccountId, Address]
)


@dataclass(frozen=True, slots=True)
class PendingChangeWhitelist(Generic[AccountId]):
    """`pallet_cf_asset_balances::PendingChange::Whitelist`."""

    value: WhitelistChange[AccountId, ForeignAddress]


@dataclass(frozen=True, slots=True)
class PendingChangeTimelock:
    """`pallet_cf_asset_balances::PendingChange::Timelock`."""

    value: int


@dataclass(frozen=True, slots=True)
class PendingChangeRefundAddress:
    """`pallet_cf_asset_balances::PendingChange::RefundAddress`."""

    value: ForeignAddress


PendingChange: TypeAlias = (
    PendingChangeWhitelist[AccountId] | PendingChangeTimelock | PendingChangeRefundAddress
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalWhitelist(Generic[AccountId]):
    """`pallet_cf_asset_balances::WithdrawalWhitelist`."""

    external: Sequence[tuple[str, Sequence[ForeignAddress]]]
    internal: Sequence[AccountId]
    timelock: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetBalancesConfigUpdateRefundFeeMultiple:
    """`pallet_cf_asset_balances::PalletConfigUpdate::RefundFeeMultiple`."""

    chain: str
    multiple: int | None


@dataclass(frozen=True, slots=True)
class AssetBalancesConfigUpdateMaxWhitelistTimelock:
    """`pallet_cf_asset_balances::PalletConfigUpdate::MaxWhitelistTimelock`."""

    seconds: int


@dataclass(frozen=True, slots=True)
class AssetBalancesConfigUpdateMaxPendingWhitelistUpdates:
    """`pallet_cf_asset_balances::PalletConfigUpdate::MaxPendingWhitelistUpdates`."""

    count: int


@dataclass(frozen=True, slots=True)
class AssetBalancesConfigUpdateMaxWhitelistEntries:
    """`pallet_cf_asset_balances::PalletConfigUpdate::MaxWhitelistEntries`."""

    count: int


AssetBalancesConfigUpdate: TypeAlias = (
    AssetBalancesConfigUpdateRefundFeeMultiple
    | AssetBalancesConfigUpdateMaxWhitelistTimelock
    | AssetBalancesConfigUpdateMaxPendingWhitelistUpdates
    | AssetBalancesConfigUpdateMaxWhitelistEntries
)


FORMS: Mapping[str, PythonForm] = {
    "PendingChange": {
        "Whitelist": PendingChangeWhitelist,
        "Timelock": PendingChangeTimelock,
        "RefundAddress": PendingChangeRefundAddress,
    },
    "WhitelistChange": {"Allow": WhitelistChangeAllow, "Remove": WhitelistChangeRemove},
    "WithdrawalWhitelist": WithdrawalWhitelist,
    "asset_balances::PalletConfigUpdate": {
        "RefundFeeMultiple": AssetBalancesConfigUpdateRefundFeeMultiple,
        "MaxWhitelistTimelock": AssetBalancesConfigUpdateMaxWhitelistTimelock,
        "MaxPendingWhitelistUpdates": AssetBalancesConfigUpdateMaxPendingWhitelistUpdates,
        "MaxWhitelistEntries": AssetBalancesConfigUpdateMaxWhitelistEntries,
    },
}
