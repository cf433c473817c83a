"""What are the values of channels in Python?

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import ForeignAddress

from .messages import ChannelRefundParameters
from .requests import Beneficiary, DcaParameters

AccountId = TypeVar("AccountId", covariant=True)
CcmMetadata = TypeVar("CcmMetadata", covariant=True)
ChainAccount = TypeVar("ChainAccount", covariant=True)


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
