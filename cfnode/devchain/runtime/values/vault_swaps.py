"""Frozen dataclasses of the chain's values: vault swaps.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

from .messages import CcmChannelMetadata, ChannelRefundParameters
from .requests import Beneficiary, DcaParameters

__all__ = [
    "AccountMeta",
    "EvmCallDetails",
    "EvmVaultSwapExtraParameters",
    "Instruction",
    "VaultSwapDetails",
    "VaultSwapDetailsArbitrum",
    "VaultSwapDetailsBitcoin",
    "VaultSwapDetailsBsc",
    "VaultSwapDetailsEthereum",
    "VaultSwapDetailsSolana",
    "VaultSwapDetailsTron",
    "VaultSwapExtraParameters",
    "VaultSwapExtraParametersArbitrum",
    "VaultSwapExtraParametersBitcoin",
    "VaultSwapExtraParametersBsc",
    "VaultSwapExtraParametersEthereum",
    "VaultSwapExtraParametersSolana",
    "VaultSwapExtraParametersTron",
    "VaultSwapInput",
]

Address = TypeVar("Address", covariant=True)
Amount = TypeVar("Amount", covariant=True)
BtcAddress = TypeVar("BtcAddress", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmVaultSwapExtraParameters(Generic[Address, Amount]):
    """`cf_chains::EvmVaultSwapExtraParameters`."""

    input_amount: Amount
    refund_parameters: ChannelRefundParameters[Address, CcmChannelMetadata[bytes] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSwapExtraParametersBitcoin(Generic[Amount]):
    """`cf_chains::VaultSwapExtraParameters::Bitcoin`."""

    min_output_amount: Amount
    retry_duration: int
    max_oracle_price_slippage: int | None


@dataclass(frozen=True, slots=True)
class VaultSwapExtraParametersEthereum(Generic[Address, Amount]):
    """`cf_chains::VaultSwapExtraParameters::Ethereum`."""

    value: EvmVaultSwapExtraParameters[Address, Amount]


@dataclass(frozen=True, slots=True)
class VaultSwapExtraParametersArbitrum(Generic[Address, Amount]):
    """`cf_chains::VaultSwapExtraParameters::Arbitrum`."""

    value: EvmVaultSwapExtraParameters[Address, Amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSwapExtraParametersSolana(Generic[Address, Amount]):
    """`cf_chains::VaultSwapExtraParameters::Solana`."""

    from_: Address
    seed: bytes
    input_amount: Amount
    refund_parameters: ChannelRefundParameters[Address, CcmChannelMetadata[bytes] | None]
    from_token_account: Address | None


@dataclass(frozen=True, slots=True)
class VaultSwapExtraParametersTron(Generic[Address, Amount]):
    """`cf_chains::VaultSwapExtraParameters::Tron`."""

    value: EvmVaultSwapExtraParameters[Address, Amount]


@dataclass(frozen=True, slots=True)
class VaultSwapExtraParametersBsc(Generic[Address, Amount]):
    """`cf_chains::VaultSwapExtraParameters::Bsc`."""

    value: EvmVaultSwapExtraParameters[Address, Amount]


VaultSwapExtraParameters: TypeAlias = (
    VaultSwapExtraParametersBitcoin[Amount]
    | VaultSwapExtraParametersEthereum[Address, Amount]
    | VaultSwapExtraParametersArbitrum[Address, Amount]
    | VaultSwapExtraParametersSolana[Address, Amount]
    | VaultSwapExtraParametersTron[Address, Amount]
    | VaultSwapExtraParametersBsc[Address, Amount]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountMeta(Generic[Address]):
    """`sol_prim::AccountMeta`."""

    pubkey: Address
    is_signer: bool
    is_writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction(Generic[Address]):
    """`sol_prim::Instruction`."""

    program_id: Address
    accounts: Sequence[AccountMeta[Address]]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmCallDetails(Generic[Address]):
    """`state_chain_runtime::EvmCallDetails`."""

    calldata: bytes
    value: int
    to: Address
    source_token_address: Address | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSwapDetailsBitcoin(Generic[BtcAddress]):
    """`state_chain_runtime::VaultSwapDetails::Bitcoin`."""

    nulldata_payload: bytes
    deposit_address: BtcAddress


@dataclass(frozen=True, slots=True)
class VaultSwapDetailsEthereum:
    """`state_chain_runtime::VaultSwapDetails::Ethereum`."""

    details: EvmCallDetails[bytes]


@dataclass(frozen=True, slots=True)
class VaultSwapDetailsArbitrum:
    """`state_chain_runtime::VaultSwapDetails::Arbitrum`."""

    details: EvmCallDetails[bytes]


@dataclass(frozen=True, slots=True)
class VaultSwapDetailsSolana:
    """`state_chain_runtime::VaultSwapDetails::Solana`."""

    instruction: Instruction[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSwapDetailsTron:
    """`state_chain_runtime::VaultSwapDetails::Tron`."""

    details: EvmCallDetails[str]
    note: bytes


@dataclass(frozen=True, slots=True)
class VaultSwapDetailsBsc:
    """`state_chain_runtime::VaultSwapDetails::Bsc`."""

    details: EvmCallDetails[bytes]


VaultSwapDetails: TypeAlias = (
    VaultSwapDetailsBitcoin[BtcAddress]
    | VaultSwapDetailsEthereum
    | VaultSwapDetailsArbitrum
    | VaultSwapDetailsSolana
    | VaultSwapDetailsTron
    | VaultSwapDetailsBsc
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSwapInput(Generic[Address, Amount]):
    """`cf_chains::VaultSwapInput`."""

    source_asset: str
    destination_asset: str
    destination_address: Address
    broker_commission: int
    extra_parameters: VaultSwapExtraParameters[Amount, Address]
    channel_metadata: CcmChannelMetadata[bytes] | None
    boost_fee: int
    affiliate_fees: Sequence[Beneficiary[bytes]]
    dca_parameters: DcaParameters | None


FORMS: Mapping[str, PythonForm] = {
    "AccountMeta": AccountMeta,
    "EvmCallDetails": EvmCallDetails,
    "EvmVaultSwapExtraParameters": EvmVaultSwapExtraParameters,
    "Instruction": Instruction,
    "VaultSwapDetails": {
        "Bitcoin": VaultSwapDetailsBitcoin,
        "Ethereum": VaultSwapDetailsEthereum,
        "Arbitrum": VaultSwapDetailsArbitrum,
        "Solana": VaultSwapDetailsSolana,
        "Tron": VaultSwapDetailsTron,
        "Bsc": VaultSwapDetailsBsc,
    },
    "VaultSwapExtraParameters": {
        "Bitcoin": VaultSwapExtraParametersBitcoin,
        "Ethereum": VaultSwapExtraParametersEthereum,
        "Arbitrum": VaultSwapExtraParametersArbitrum,
        "Solana": VaultSwapExtraParametersSolana,
        "Tron": VaultSwapExtraParametersTron,
        "Bsc": VaultSwapExtraParametersBsc,
    },
    "VaultSwapInput": VaultSwapInput,
}
