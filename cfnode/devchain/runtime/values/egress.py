"""Frozen dataclasses of the chain's values: egress.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import ForeignAddress, Script
from cfnode.core.scale import PythonForm

from .messages import DecodedCcmAdditionalData

__all__ = [
    "BroadcastAction",
    "BroadcastActionFinaliseFetch",
    "CrossChainMessage",
    "EvmFetchId",
    "EvmFetchIdDeployAndFetch",
    "EvmFetchIdFetch",
    "FailedForeignChainCall",
    "FetchOrTransfer",
    "FetchOrTransferFetch",
    "FetchOrTransferTransfer",
    "IngressEgressConfigUpdate",
    "IngressEgressConfigUpdateChannelOpeningFee",
    "IngressEgressConfigUpdateSetBoostDelay",
    "IngressEgressConfigUpdateSetDepositChannelLifetime",
    "IngressEgressConfigUpdateSetIngressDelay",
    "IngressEgressConfigUpdateSetMaximumPreallocatedChannels",
    "IngressEgressConfigUpdateSetMinimumDeposit",
    "IngressEgressConfigUpdateSetWitnessSafetyMargin",
    "SolanaDepositFetchId",
]

ChainAccount = TypeVar("ChainAccount", covariant=True)


@dataclass(frozen=True, slots=True)
class EvmFetchIdDeployAndFetch:
    """`cf_chains::EvmFetchId::DeployAndFetch`."""

    value: int


@dataclass(frozen=True, slots=True)
class EvmFetchIdFetch:
    """`cf_chains::EvmFetchId::Fetch`."""

    value: bytes


EvmFetchId: TypeAlias = Literal["NotRequired"] | EvmFetchIdDeployAndFetch | EvmFetchIdFetch


@dataclass(frozen=True, slots=True, kw_only=True)
class SolanaDepositFetchId:
    """`cf_chains::SolanaDepositFetchId`."""

    channel_id: int
    address: bytes
    bump: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOrTransferFetch:
    """`pallet_cf_ingress_egress::FetchOrTransfer::Fetch`."""

    asset: str
    deposit_address: bytes | Script
    deposit_fetch_id: EvmFetchId | int | SolanaDepositFetchId | None
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOrTransferTransfer:
    """`pallet_cf_ingress_egress::FetchOrTransfer::Transfer`."""

    egress_id: tuple[str, int]
    asset: str
    destination_address: bytes | Script
    amount: int


FetchOrTransfer: TypeAlias = FetchOrTransferFetch | FetchOrTransferTransfer


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossChainMessage:
    """`pallet_cf_ingress_egress::CrossChainMessage`."""

    egress_id: tuple[str, int]
    asset: str
    amount: int
    destination_address: bytes | Script
    message: bytes
    source_chain: str
    source_address: ForeignAddress | None
    ccm_additional_data: DecodedCcmAdditionalData
    gas_budget: int


@dataclass(frozen=True, slots=True)
class BroadcastActionFinaliseFetch(Generic[ChainAccount]):
    """`pallet_cf_ingress_egress::BroadcastAction::FinaliseFetch`."""

    value: Sequence[ChainAccount]


BroadcastAction: TypeAlias = Literal["CcmBroadcast"] | BroadcastActionFinaliseFetch[ChainAccount]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedForeignChainCall:
    """`pallet_cf_ingress_egress::FailedForeignChainCall`."""

    broadcast_id: int
    original_epoch: int


@dataclass(frozen=True, slots=True)
class IngressEgressConfigUpdateChannelOpeningFee:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::ChannelOpeningFee`."""

    fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressEgressConfigUpdateSetMinimumDeposit:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetMinimumDeposit`."""

    asset: str
    minimum_deposit: int


@dataclass(frozen=True, slots=True)
class IngressEgressConfigUpdateSetDepositChannelLifetime:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetDepositChannelLifetime`."""

    lifetime: int


@dataclass(frozen=True, slots=True)
class IngressEgressConfigUpdateSetWitnessSafetyMargin:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetWitnessSafetyMargin`."""

    margin: int


@dataclass(frozen=True, slots=True)
class IngressEgressConfigUpdateSetBoostDelay:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetBoostDelay`."""

    delay_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressEgressConfigUpdateSetMaximumPreallocatedChannels:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetMaximumPreallocatedChannels`."""

    account_role: str
    num_channels: int


@dataclass(frozen=True, slots=True)
class IngressEgressConfigUpdateSetIngressDelay:
    """`pallet_cf_ingress_egress::PalletConfigUpdateEthereum::SetIngressDelay`."""

    delay_blocks: int


IngressEgressConfigUpdate: TypeAlias = (
    IngressEgressConfigUpdateChannelOpeningFee
    | IngressEgressConfigUpdateSetMinimumDeposit
    | IngressEgressConfigUpdateSetDepositChannelLifetime
    | IngressEgressConfigUpdateSetWitnessSafetyMargin
    | IngressEgressConfigUpdateSetBoostDelay
    | IngressEgressConfigUpdateSetMaximumPreallocatedChannels
    | IngressEgressConfigUpdateSetIngressDelay
)


FORMS: Mapping[str, PythonForm] = {
    "BroadcastAction": {"FinaliseFetch": BroadcastActionFinaliseFetch},
    "CrossChainMessageArbitrum": CrossChainMessage,
    "CrossChainMessageAssethub": CrossChainMessage,
    "CrossChainMessageBitcoin": CrossChainMessage,
    "CrossChainMessageBsc": CrossChainMessage,
    "CrossChainMessageEthereum": CrossChainMessage,
    "CrossChainMessagePolkadot": CrossChainMessage,
    "CrossChainMessageSolana": CrossChainMessage,
    "CrossChainMessageTron": CrossChainMessage,
    "EvmFetchId": {"DeployAndFetch": EvmFetchIdDeployAndFetch, "Fetch": EvmFetchIdFetch},
    "FailedForeignChainCall": FailedForeignChainCall,
    "FetchOrTransferArbitrum": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferAssethub": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferBitcoin": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferBsc": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferEthereum": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferPolkadot": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferSolana": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "FetchOrTransferTron": {"Fetch": FetchOrTransferFetch, "Transfer": FetchOrTransferTransfer},
    "PalletConfigUpdateArbitrum": {
        "ChannelOpeningFeeArbitrum": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositArbitrum": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeArbitrum": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginArbitrum": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayArbitrum": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsArbitrum": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayArbitrum": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateAssethub": {
        "ChannelOpeningFeeAssethub": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositAssethub": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeAssethub": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginAssethub": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayAssethub": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsAssethub": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayAssethub": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateBitcoin": {
        "ChannelOpeningFeeBitcoin": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositBitcoin": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeBitcoin": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginBitcoin": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayBitcoin": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsBitcoin": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayBitcoin": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateBsc": {
        "ChannelOpeningFeeBsc": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositBsc": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeBsc": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginBsc": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayBsc": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsBsc": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayBsc": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateEthereum": {
        "ChannelOpeningFeeEthereum": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositEthereum": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeEthereum": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginEthereum": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayEthereum": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsEthereum": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayEthereum": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdatePolkadot": {
        "ChannelOpeningFeePolkadot": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositPolkadot": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimePolkadot": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginPolkadot": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayPolkadot": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsPolkadot": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayPolkadot": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateSolana": {
        "ChannelOpeningFeeSolana": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositSolana": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeSolana": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginSolana": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelaySolana": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsSolana": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelaySolana": IngressEgressConfigUpdateSetIngressDelay,
    },
    "PalletConfigUpdateTron": {
        "ChannelOpeningFeeTron": IngressEgressConfigUpdateChannelOpeningFee,
        "SetMinimumDepositTron": IngressEgressConfigUpdateSetMinimumDeposit,
        "SetDepositChannelLifetimeTron": IngressEgressConfigUpdateSetDepositChannelLifetime,
        "SetWitnessSafetyMarginTron": IngressEgressConfigUpdateSetWitnessSafetyMargin,
        "SetBoostDelayTron": IngressEgressConfigUpdateSetBoostDelay,
        "SetMaximumPreallocatedChannelsTron": IngressEgressConfigUpdateSetMaximumPreallocatedChannels,
        "SetIngressDelayTron": IngressEgressConfigUpdateSetIngressDelay,
    },
    "SolanaDepositFetchId": SolanaDepositFetchId,
}
