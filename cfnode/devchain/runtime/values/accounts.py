"""Frozen dataclasses of the chain's values: accounts.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import Script
from cfnode.core.scale import PythonForm

from .providers import LiquidityProviderInfo
from .swaps import AffiliateDetails
from .validators import DelegationSnapshot, OperatorSettings

__all__ = [
    "AccountReward",
    "AuctionOutcome",
    "AuctionState",
    "BrokerInfo",
    "DelegationInfo",
    "Offence",
    "OffenceFailedLivenessCheck",
    "OperatorInfo",
    "RewardDistributionEstimate",
    "RpcAccountInfoCommonItems",
    "RuntimeApiAccountInfo",
    "RuntimeApiAccountInfoBroker",
    "RuntimeApiAccountInfoLiquidityProvider",
    "RuntimeApiAccountInfoOperator",
    "RuntimeApiAccountInfoValidator",
    "RuntimeApiAccountInfoWrapper",
    "RuntimeApiPenalty",
    "ValidatorInfo",
]

Amount = TypeVar("Amount", covariant=True)
Balance = TypeVar("Balance", covariant=True)
BtcAddress = TypeVar("BtcAddress", covariant=True)
Id = TypeVar("Id", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerInfo(Generic[BtcAddress]):
    """`state_chain_runtime::BrokerInfo`."""

    earned_fees: Sequence[tuple[str, int]]
    btc_vault_deposit_address: BtcAddress | None
    affiliates: Sequence[tuple[bytes, AffiliateDetails]]
    bond: int
    bound_fee_withdrawal_address: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuctionOutcome(Generic[Id, Amount]):
    """`pallet_cf_validator::AuctionOutcome`."""

    winners: Sequence[Id]
    bond: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class AuctionState:
    """`state_chain_runtime::AuctionState`."""

    epoch_duration: int
    current_epoch_started_at: int
    redemption_period_as_percentage: int
    min_funding: int
    min_bid: int
    auction_size_range: tuple[int, int]
    min_active_bid: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationInfo(Generic[Amount]):
    """`state_chain_runtime::DelegationInfo`."""

    operator: bytes
    bid: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcAccountInfoCommonItems(Generic[Balance]):
    """`state_chain_runtime::RpcAccountInfoCommonItems`."""

    account_id: bytes | None
    vanity_name: bytes
    flip_balance: Balance
    asset_balances: dict[str, dict[str, Balance]]
    bond: Balance
    estimated_redeemable_balance: Balance
    bound_redeem_address: bytes | None
    restricted_balances: Sequence[tuple[bytes, Balance]]
    current_delegation_status: DelegationInfo[Balance] | None
    upcoming_delegation_status: DelegationInfo[Balance] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInfo(Generic[Amount]):
    """`state_chain_runtime::OperatorInfo`."""

    managed_validators: Sequence[tuple[bytes, Amount]]
    settings: OperatorSettings
    allowed: Sequence[bytes]
    blocked: Sequence[bytes]
    delegators: Sequence[tuple[bytes, Amount]]
    active_delegation: DelegationSnapshot[bytes, Amount] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorInfo:
    """`state_chain_runtime::ValidatorInfo`."""

    balance: int
    bond: int
    last_heartbeat: int
    reputation_points: int
    keyholder_epochs: Sequence[int]
    is_current_authority: bool
    is_current_backup: bool
    is_qualified: bool
    is_online: bool
    is_bidding: bool
    bound_redeem_address: bytes | None
    apy_bp: int | None
    restricted_balances: Sequence[tuple[bytes, int]]
    estimated_redeemable_balance: int
    operator: bytes | None
    bid: int | None = None
    max_bid: int | None = None


@dataclass(frozen=True, slots=True)
class RuntimeApiAccountInfoBroker:
    """`state_chain_runtime::RuntimeApiAccountInfo::Broker`."""

    value: BrokerInfo[Script]


@dataclass(frozen=True, slots=True)
class RuntimeApiAccountInfoLiquidityProvider:
    """`state_chain_runtime::RuntimeApiAccountInfo::LiquidityProvider`."""

    value: LiquidityProviderInfo


@dataclass(frozen=True, slots=True)
class RuntimeApiAccountInfoValidator:
    """`state_chain_runtime::RuntimeApiAccountInfo::Validator`."""

    value: ValidatorInfo


@dataclass(frozen=True, slots=True)
class RuntimeApiAccountInfoOperator:
    """`state_chain_runtime::RuntimeApiAccountInfo::Operator`."""

    value: OperatorInfo[int]


RuntimeApiAccountInfo: TypeAlias = (
    Literal["Unregistered"]
    | RuntimeApiAccountInfoBroker
    | RuntimeApiAccountInfoLiquidityProvider
    | RuntimeApiAccountInfoValidator
    | RuntimeApiAccountInfoOperator
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeApiAccountInfoWrapper:
    """`state_chain_runtime::RuntimeApiAccountInfoWrapper`."""

    common_items: RpcAccountInfoCommonItems[int]
    role: RuntimeApiAccountInfo


@dataclass(frozen=True, slots=True)
class OffenceFailedLivenessCheck:
    """`state_chain_runtime::Offence::FailedLivenessCheck`."""

    value: str


Offence: TypeAlias = (
    Literal[
        "ParticipateSigningFailed",
        "ParticipateKeygenFailed",
        "FailedToBroadcastTransaction",
        "MissedAuthorshipSlot",
        "MissedHeartbeat",
        "GrandpaEquivocation",
        "ParticipateKeyHandoverFailed",
        "FailedToWitnessInTime",
    ]
    | OffenceFailedLivenessCheck
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeApiPenalty:
    """`state_chain_runtime::RuntimeApiPenalty`."""

    reputation_points: int
    suspension_duration_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReward(Generic[Amount]):
    """`state_chain_runtime::AccountReward`."""

    account: bytes
    bid: Amount
    bond: Amount
    reward: Amount
    role: str
    managed_by: bytes | None
    delegated_to: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardDistributionEstimate(Generic[Amount]):
    """`state_chain_runtime::RewardDistributionEstimate`."""

    epoch_index: int
    current_block: int
    current_epoch_started_at: int
    epoch_duration: int
    bond: Amount
    authority_count: int
    total_rewards: Amount
    per_authority_share: Amount
    reward_pool: Sequence[AccountReward[Amount]]


FORMS: Mapping[str, PythonForm] = {
    "AccountReward": AccountReward,
    "AuctionOutcome": AuctionOutcome,
    "AuctionState": AuctionState,
    "BrokerInfo": BrokerInfo,
    "DelegationInfo": DelegationInfo,
    "Offence": {"FailedLivenessCheck": OffenceFailedLivenessCheck},
    "OperatorInfo": OperatorInfo,
    "RewardDistributionEstimate": RewardDistributionEstimate,
    "RpcAccountInfoCommonItems": RpcAccountInfoCommonItems,
    "RuntimeApiAccountInfo": {
        "Broker": RuntimeApiAccountInfoBroker,
        "LiquidityProvider": RuntimeApiAccountInfoLiquidityProvider,
        "Validator": RuntimeApiAccountInfoValidator,
        "Operator": RuntimeApiAccountInfoOperator,
    },
    "RuntimeApiAccountInfoWrapper": RuntimeApiAccountInfoWrapper,
    "RuntimeApiPenalty": RuntimeApiPenalty,
    "ValidatorInfo": ValidatorInfo,
}
