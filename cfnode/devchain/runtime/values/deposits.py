"""Frozen dataclasses of the chain's values: deposits.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cfnode.core.addresses import EncodedAddress, ForeignAddress, Script
from cfnode.core.scale import PythonForm

from .bitcoin import Utxo
from .channels import RefundReason
from .messages import CcmChannelMetadata, CcmDepositMetadata, ChannelRefundParameters
from .requests import Beneficiary, DcaParameters, TxId

__all__ = [
    "DepositAction",
    "DepositActionBoostersCredited",
    "DepositActionCcmTransfer",
    "DepositActionLiquidityProvision",
    "DepositActionRefund",
    "DepositActionSwap",
    "DepositFailedDetails",
    "DepositFailedInVault",
    "DepositFailedOnChannel",
    "DepositWitness",
    "EvmDepositDetails",
    "SolanaDeposit",
    "SolanaDepositChannel",
    "SolanaDepositVaultSwapAccount",
    "VaultDepositWitness",
]


@dataclass(frozen=True, slots=True)
class EvmDepositDetails:
    """`cf_chains::DepositDetails`."""

    tx_hashes: Sequence[bytes] | None


@dataclass(frozen=True, slots=True)
class SolanaDepositChannel:
    """`cf_chains::VaultSwapOrDepositChannelId::Channel`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class SolanaDepositVaultSwapAccount:
    """`cf_chains::VaultSwapOrDepositChannelId::VaultSwapAccount`."""

    value: tuple[bytes, int]


SolanaDeposit: TypeAlias = SolanaDepositChannel | SolanaDepositVaultSwapAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositWitness:
    """`pallet_cf_ingress_egress::DepositWitnessEthereum`."""

    deposit_address: bytes | Script
    asset: str
    amount: int
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultDepositWitness:
    """`pallet_cf_ingress_egress::VaultDepositWitnessEthereum`."""

    input_asset: str
    deposit_address: bytes | Script | None
    channel_id: int | None
    deposit_amount: int
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId
    output_asset: str
    destination_address: EncodedAddress
    deposit_metadata: CcmDepositMetadata[ForeignAddress, bytes] | None
    tx_id: bytes | TxId | tuple[bytes, int]
    broker_fee: Beneficiary[bytes] | None
    affiliate_fees: Sequence[Beneficiary[int]]
    refund_params: ChannelRefundParameters[bytes | Script, CcmChannelMetadata[bytes] | None]
    dca_params: DcaParameters | None
    boost_fee: int


@dataclass(frozen=True, slots=True)
class DepositFailedOnChannel:
    """`pallet_cf_ingress_egress::DepositFailedDetailsEthereum::DepositFailedDepositChannelVariant`."""

    deposit_witness: DepositWitness


@dataclass(frozen=True, slots=True)
class DepositFailedInVault:
    """`pallet_cf_ingress_egress::DepositFailedDetailsEthereum::DepositFailedVaultVariant`."""

    vault_witness: VaultDepositWitness


DepositFailedDetails: TypeAlias = DepositFailedOnChannel | DepositFailedInVault


@dataclass(frozen=True, slots=True)
class DepositActionSwap:
    """`pallet_cf_ingress_egress::DepositAction::Swap`."""

    swap_request_id: int


@dataclass(frozen=True, slots=True)
class DepositActionLiquidityProvision:
    """`pallet_cf_ingress_egress::DepositAction::LiquidityProvision`."""

    lp_account: bytes


@dataclass(frozen=True, slots=True)
class DepositActionCcmTransfer:
    """`pallet_cf_ingress_egress::DepositAction::CcmTransfer`."""

    swap_request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositActionBoostersCredited:
    """`pallet_cf_ingress_egress::DepositAction::BoostersCredited`."""

    prewitnessed_deposit_id: int
    network_fee_from_boost: int
    network_fee_swap_request_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositActionRefund:
    """`pallet_cf_ingress_egress::DepositAction::Refund`."""

    egress_id: tuple[str, int] | None
    reason: RefundReason
    amount: int


DepositAction: TypeAlias = (
    Literal["Unrefundable"]
    | DepositActionSwap
    | DepositActionLiquidityProvision
    | DepositActionCcmTransfer
    | DepositActionBoostersCredited
    | DepositActionRefund
)


FORMS: Mapping[str, PythonForm] = {
    "DepositActionArbitrum": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionAssethub": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionBitcoin": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionBsc": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionEthereum": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionPolkadot": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionSolana": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositActionTron": {
        "Swap": DepositActionSwap,
        "LiquidityProvision": DepositActionLiquidityProvision,
        "CcmTransfer": DepositActionCcmTransfer,
        "BoostersCredited": DepositActionBoostersCredited,
        "Refund": DepositActionRefund,
    },
    "DepositFailedDetailsArbitrum": {
        "DepositFailedDepositChannelVariantArbitrum": DepositFailedOnChannel,
        "DepositFailedVaultVariantArbitrum": DepositFailedInVault,
    },
    "DepositFailedDetailsAssethub": {
        "DepositFailedDepositChannelVariantAssethub": DepositFailedOnChannel,
        "DepositFailedVaultVariantAssethub": DepositFailedInVault,
    },
    "DepositFailedDetailsBitcoin": {
        "DepositFailedDepositChannelVariantBitcoin": DepositFailedOnChannel,
        "DepositFailedVaultVariantBitcoin": DepositFailedInVault,
    },
    "DepositFailedDetailsBsc": {
        "DepositFailedDepositChannelVariantBsc": DepositFailedOnChannel,
        "DepositFailedVaultVariantBsc": DepositFailedInVault,
    },
    "DepositFailedDetailsEthereum": {
        "DepositFailedDepositChannelVariantEthereum": DepositFailedOnChannel,
        "DepositFailedVaultVariantEthereum": DepositFailedInVault,
    },
    "DepositFailedDetailsPolkadot": {
        "DepositFailedDepositChannelVariantPolkadot": DepositFailedOnChannel,
        "DepositFailedVaultVariantPolkadot": DepositFailedInVault,
    },
    "DepositFailedDetailsSolana": {
        "DepositFailedDepositChannelVariantSolana": DepositFailedOnChannel,
        "DepositFailedVaultVariantSolana": DepositFailedInVault,
    },
    "DepositFailedDetailsTron": {
        "DepositFailedDepositChannelVariantTron": DepositFailedOnChannel,
        "DepositFailedVaultVariantTron": DepositFailedInVault,
    },
    "DepositWitnessArbitrum": DepositWitness,
    "DepositWitnessAssethub": DepositWitness,
    "DepositWitnessBitcoin": DepositWitness,
    "DepositWitnessBsc": DepositWitness,
    "DepositWitnessEthereum": DepositWitness,
    "DepositWitnessPolkadot": DepositWitness,
    "DepositWitnessSolana": DepositWitness,
    "DepositWitnessTron": DepositWitness,
    "VaultDepositWitnessArbitrum": VaultDepositWitness,
    "VaultDepositWitnessAssethub": VaultDepositWitness,
    "VaultDepositWitnessBitcoin": VaultDepositWitness,
    "VaultDepositWitnessBsc": VaultDepositWitness,
    "VaultDepositWitnessEthereum": VaultDepositWitness,
    "VaultDepositWitnessPolkadot": VaultDepositWitness,
    "VaultDepositWitnessSolana": VaultDepositWitness,
    "VaultDepositWitnessTron": VaultDepositWitness,
    "VaultSwapOrDepositChannelId": {
        "Channel": SolanaDepositChannel,
        "VaultSwapAccount": SolanaDepositVaultSwapAccount,
    },
    "evm::DepositDetails": EvmDepositDetails,
}
