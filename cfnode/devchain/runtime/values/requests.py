"""Frozen dataclasses of the chain's values: requests.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import EncodedAddress, ForeignAddress
from cfnode.core.scale import PythonForm

from .messages import CcmDepositMetadata, DecodedCcmAdditionalData

__all__ = [
    "AccountOrAddress",
    "Beneficiary",
    "DcaParameters",
    "ExpiryBehaviour",
    "ExpiryBehaviourRefundIfExpires",
    "ExternalAddress",
    "InternalAccount",
    "LendingSwapType",
    "LendingSwapTypeLiquidation",
    "PriceLimits",
    "PriceLimitsAndExpiry",
    "SwapOrigin",
    "SwapOriginDepositChannel",
    "SwapOriginOnChainAccount",
    "SwapOriginVault",
    "SwapOutputAction",
    "SwapOutputActionCreditFlipAndTransferToGateway",
    "SwapOutputActionCreditLendingPool",
    "SwapOutputActionCreditOnChain",
    "SwapOutputActionEgress",
    "SwapRequestType",
    "SwapRequestTypeRegular",
    "SwapRequestTypeRegularNoNetworkFee",
    "TransactionId",
    "TransactionIdBitcoin",
    "TransactionIdEvm",
    "TransactionIdPolkadot",
    "TransactionIdSolana",
    "TxId",
]

AccountId = TypeVar("AccountId", covariant=True)
Address = TypeVar("Address", covariant=True)
Id = TypeVar("Id", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TxId:
    """`cf_primitives::TxId`."""

    block_number: int
    extrinsic_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beneficiary(Generic[Id]):
    """`cf_primitives::Beneficiary`."""

    account: Id
    bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DcaParameters:
    """`cf_primitives::DcaParameters`."""

    number_of_chunks: int
    chunk_interval: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLimits:
    """`cf_amm_math::PriceLimits`."""

    min_price: int
    max_oracle_price_slippage: int | None


@dataclass(frozen=True, slots=True)
class InternalAccount(Generic[AccountId]):
    """`cf_chains::AccountOrAddress::InternalAccount`."""

    value: AccountId


@dataclass(frozen=True, slots=True)
class ExternalAddress(Generic[Address]):
    """`cf_chains::AccountOrAddress::ExternalAddress`."""

    value: Address


AccountOrAddress: TypeAlias = InternalAccount[AccountId] | ExternalAddress[Address]


@dataclass(frozen=True, slots=True)
class TransactionIdEvm:
    """`cf_chains::TransactionInIdForAnyChain::Evm`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class TransactionIdBitcoin:
    """`cf_chains::TransactionInIdForAnyChain::Bitcoin`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class TransactionIdPolkadot:
    """`cf_chains::TransactionInIdForAnyChain::Polkadot`."""

    value: TxId


@dataclass(frozen=True, slots=True)
class TransactionIdSolana:
    """`cf_chains::TransactionInIdForAnyChain::Solana`."""

    value: tuple[bytes, int]


TransactionId: TypeAlias = (
    Literal["None"] | TransactionIdEvm | TransactionIdBitcoin | TransactionIdPolkadot | TransactionIdSolana
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOriginDepositChannel(Generic[AccountId]):
    """`cf_chains::SwapOrigin::DepositChannel`."""

    deposit_address: EncodedAddress
    channel_id: int
    deposit_block_height: int
    broker_id: AccountId


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOriginVault(Generic[AccountId]):
    """`cf_chains::SwapOrigin::Vault`."""

    tx_id: TransactionId
    broker_id: AccountId | None


@dataclass(frozen=True, slots=True)
class SwapOriginOnChainAccount(Generic[AccountId]):
    """`cf_chains::SwapOrigin::OnChainAccount`."""

    value: AccountId


SwapOrigin: TypeAlias = (
    Literal["Internal"]
    | SwapOriginDepositChannel[AccountId]
    | SwapOriginVault[AccountId]
    | SwapOriginOnChainAccount[AccountId]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingSwapTypeLiquidation(Generic[AccountId]):
    """`cf_traits::LendingSwapType::Liquidation`."""

    borrower_id: AccountId
    loan_id: int


LendingSwapType: TypeAlias = LendingSwapTypeLiquidation[AccountId]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOutputActionEgress(Generic[Address]):
    """`cf_traits::SwapOutputActionGeneric::Egress`."""

    ccm_deposit_metadata: CcmDepositMetadata[Address, DecodedCcmAdditionalData] | None
    output_address: Address


@dataclass(frozen=True, slots=True)
class SwapOutputActionCreditOnChain(Generic[AccountId]):
    """`cf_traits::SwapOutputActionGeneric::CreditOnChain`."""

    account_id: AccountId


@dataclass(frozen=True, slots=True)
class SwapOutputActionCreditLendingPool(Generic[AccountId]):
    """`cf_traits::SwapOutputActionGeneric::CreditLendingPool`."""

    swap_type: LendingSwapType[AccountId]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOutputActionCreditFlipAndTransferToGateway(Generic[AccountId]):
    """`cf_traits::SwapOutputActionGeneric::CreditFlipAndTransferToGateway`."""

    account_id: AccountId
    flip_to_subtract_from_swap_output: int


SwapOutputAction: TypeAlias = (
    SwapOutputActionEgress[Address]
    | SwapOutputActionCreditOnChain[AccountId]
    | SwapOutputActionCreditLendingPool[AccountId]
    | SwapOutputActionCreditFlipAndTransferToGateway[AccountId]
)


@dataclass(frozen=True, slots=True)
class SwapRequestTypeRegular(Generic[Address, AccountId]):
    """`cf_traits::SwapRequestTypeGeneric::Regular`."""

    output_action: SwapOutputAction[Address, AccountId]


@dataclass(frozen=True, slots=True)
class SwapRequestTypeRegularNoNetworkFee(Generic[Address, AccountId]):
    """`cf_traits::SwapRequestTypeGeneric::RegularNoNetworkFee`."""

    output_action: SwapOutputAction[Address, AccountId]


SwapRequestType: TypeAlias = (
    Literal["NetworkFee", "IngressEgressFee"]
    | SwapRequestTypeRegular[Address, AccountId]
    | SwapRequestTypeRegularNoNetworkFee[Address, AccountId]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryBehaviourRefundIfExpires:
    """`cf_traits::ExpiryBehaviour::RefundIfExpires`."""

    retry_duration: int
    refund_address: AccountOrAddress[bytes, ForeignAddress]
    refund_ccm_metadata: CcmDepositMetadata[ForeignAddress, DecodedCcmAdditionalData] | None


ExpiryBehaviour: TypeAlias = Literal["NoExpiry"] | ExpiryBehaviourRefundIfExpires


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLimitsAndExpiry:
    """`cf_traits::PriceLimitsAndExpiry`."""

    expiry_behaviour: ExpiryBehaviour
    min_price: int
    max_oracle_price_slippage: int | None


FORMS: Mapping[str, PythonForm] = {
    "AccountOrAddress": {"InternalAccount": InternalAccount, "ExternalAddress": ExternalAddress},
    "Beneficiary": Beneficiary,
    "DcaParameters": DcaParameters,
    "ExpiryBehaviour": {"RefundIfExpires": ExpiryBehaviourRefundIfExpires},
    "LendingSwapType": {"Liquidation": LendingSwapTypeLiquidation},
    "PriceLimits": PriceLimits,
    "PriceLimitsAndExpiry": PriceLimitsAndExpiry,
    "SwapOrigin": {
        "DepositChannel": SwapOriginDepositChannel,
        "Vault": SwapOriginVault,
        "OnChainAccount": SwapOriginOnChainAccount,
    },
    "SwapOutputActionGeneric": {
        "Egress": SwapOutputActionEgress,
        "CreditOnChain": SwapOutputActionCreditOnChain,
        "CreditLendingPool": SwapOutputActionCreditLendingPool,
        "CreditFlipAndTransferToGateway": SwapOutputActionCreditFlipAndTransferToGateway,
    },
    "SwapRequestTypeGeneric": {
        "Regular": SwapRequestTypeRegular,
        "RegularNoNetworkFee": SwapRequestTypeRegularNoNetworkFee,
    },
    "TransactionInIdForAnyChain": {
        "Evm": TransactionIdEvm,
        "Bitcoin": TransactionIdBitcoin,
        "Polkadot": TransactionIdPolkadot,
        "Solana": TransactionIdSolana,
    },
    "TxId": TxId,
}
