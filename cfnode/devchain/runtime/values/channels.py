"""Frozen dataclasses of the chain's values: channels.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import ForeignAddress, Script
from cfnode.core.scale import PythonForm

from .bitcoin import DepositAddress
from .messages import CcmChannelMetadata, ChannelRefundParameters, DecodedCcmAdditionalData
from .requests import Beneficiary, DcaParameters

__all__ = [
    "AdditionalDepositAction",
    "AdditionalDepositActionFundFlip",
    "BoostStatus",
    "BoostStatusBoostPending",
    "BoostStatusBoosted",
    "ChannelAction",
    "ChannelActionLiquidityProvision",
    "ChannelActionRefund",
    "ChannelActionSwap",
    "DeploymentStatus",
    "DeploymentStatusDeployed",
    "DepositChannel",
    "DepositChannelDetails",
    "RefundReason",
]

AccountId = TypeVar("AccountId", covariant=True)
BlockNumber = TypeVar("BlockNumber", covariant=True)
CcmMetadata = TypeVar("CcmMetadata", covariant=True)
ChainAccount = TypeVar("ChainAccount", covariant=True)
ChainAmount = TypeVar("ChainAmount", covariant=True)


RefundReason: TypeAlias = Literal[
    "InvalidBrokerFees",
    "InvalidRefundParameters",
    "InvalidDcaParameters",
    "CcmUnsupportedForTargetChain",
    "CcmInvalidMetadata",
    "InvalidDestinationAddress",
]


@dataclass(frozen=True, slots=True)
class AdditionalDepositActionFundFlip:
    """`cf_traits::AdditionalDepositAction::FundFlip`."""

    flip_amount_to_credit: int


AdditionalDepositAction: TypeAlias = AdditionalDepositActionFundFlip


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelActionSwap(Generic[AccountId, CcmMetadata]):
    """`pallet_cf_ingress_egress::ChannelAction::Swap`."""

    destination_asset: str
    destination_address: ForeignAddress
    broker_fees: Sequence[Beneficiary[AccountId]]
    channel_metadata: CcmMetadata | None
    refund_params: ChannelRefundParameters[ForeignAddress, CcmMetadata | None]
    dca_params: DcaParameters | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelActionLiquidityProvision(Generic[AccountId]):
    """`pallet_cf_ingress_egress::ChannelAction::LiquidityProvision`."""

    lp_account: AccountId
    refund_address: ForeignAddress
    additional_action: AdditionalDepositAction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelActionRefund(Generic[ChainAccount, CcmMetadata]):
    """`pallet_cf_ingress_egress::ChannelAction::Refund`."""

    reason: RefundReason
    refund_address: ChainAccount
    refund_ccm_metadata: CcmMetadata | None


ChannelAction: TypeAlias = (
    Literal["Unrefundable"]
    | ChannelActionSwap[AccountId, CcmMetadata]
    | ChannelActionLiquidityProvision[AccountId]
    | ChannelActionRefund[ChainAccount, CcmMetadata]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostStatusBoosted(Generic[ChainAmount]):
    """`pallet_cf_ingress_egress::BoostStatus::Boosted`."""

    prewitnessed_deposit_id: int
    amount: ChainAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostStatusBoostPending(Generic[ChainAmount, BlockNumber]):
    """`pallet_cf_ingress_egress::BoostStatus::BoostPending`."""

    amount: ChainAmount
    process_at_block: BlockNumber


BoostStatus: TypeAlias = (
    Literal["NotBoosted"]
    | BoostStatusBoosted[ChainAmount]
    | BoostStatusBoostPending[ChainAmount, BlockNumber]
)


@dataclass(frozen=True, slots=True)
class DeploymentStatusDeployed:
    """`cf_chains::DeploymentStatus::Deployed`."""

    at_block_height: int


DeploymentStatus: TypeAlias = Literal["Undeployed", "Pending"] | DeploymentStatusDeployed


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositChannel:
    """`cf_chains::DepositChannelEthereum`."""

    channel_id: int
    address: bytes | Script
    asset: str
    state: DeploymentStatus | tuple[()] | DepositAddress | int


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositChannelDetails:
    """`pallet_cf_ingress_egress::DepositChannelDetailsEthereum`."""

    owner: bytes
    deposit_channel: DepositChannel
    opened_at: int
    expires_at: int
    action: ChannelAction[bytes, CcmChannelMetadata[DecodedCcmAdditionalData], bytes | Script]
    boost_fee: int
    boost_status: BoostStatus[int, int]
    is_marked_for_rejection: bool


FORMS: Mapping[str, PythonForm] = {
    "AdditionalDepositAction": {"FundFlip": AdditionalDepositActionFundFlip},
    "BoostStatus": {"Boosted": BoostStatusBoosted, "BoostPending": BoostStatusBoostPending},
    "ChannelAction": {
        "Swap": ChannelActionSwap,
        "LiquidityProvision": ChannelActionLiquidityProvision,
        "Refund": ChannelActionRefund,
    },
    "DeploymentStatus": {"Deployed": DeploymentStatusDeployed},
    "DepositChannelArbitrum": DepositChannel,
    "DepositChannelAssethub": DepositChannel,
    "DepositChannelBitcoin": DepositChannel,
    "DepositChannelBsc": DepositChannel,
    "DepositChannelDetailsArbitrum": DepositChannelDetails,
    "DepositChannelDetailsAssethub": DepositChannelDetails,
    "DepositChannelDetailsBitcoin": DepositChannelDetails,
    "DepositChannelDetailsBsc": DepositChannelDetails,
    "DepositChannelDetailsEthereum": DepositChannelDetails,
    "DepositChannelDetailsPolkadot": DepositChannelDetails,
    "DepositChannelDetailsSolana": DepositChannelDetails,
    "DepositChannelDetailsTron": DepositChannelDetails,
    "DepositChannelEthereum": DepositChannel,
    "DepositChannelPolkadot": DepositChannel,
    "DepositChannelSolana": DepositChannel,
    "DepositChannelTron": DepositChannel,
}
