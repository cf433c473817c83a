"""Frozen dataclasses of the chain's values: calls.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

from .keys import EvmAggKey

__all__ = [
    "AllBatch",
    "EncodableFetchAssetParams",
    "EncodableFetchDeployAssetParams",
    "EncodableTransferAssetParams",
    "EvmApi",
    "EvmApiAllBatch",
    "EvmApiExecutexSwapAndCall",
    "EvmApiRegisterRedemption",
    "EvmApiRejectCall",
    "EvmApiSetAggKeyWithAggKey",
    "EvmApiSetCommKeyWithAggKey",
    "EvmApiSetGovKeyWithAggKey",
    "EvmApiTransferFallback",
    "EvmApiUpdateFlipSupply",
    "EvmReplayProtection",
    "EvmTransactionBuilder",
    "ExecutexSwapAndCall",
    "RedemptionExecutor",
    "RedemptionExecutorOnlyAddress",
    "RegisterRedemption",
    "SetAggKeyWithAggKey",
    "SetCommKeyWithAggKey",
    "SetGovKeyWithAggKey",
    "SigData",
    "TransferFallback",
    "UpdateFlipSupply",
]

C = TypeVar("C", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SigData:
    """`cf_chains::SigData`."""

    sig: int
    nonce: int
    k_times_g_address: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmReplayProtection:
    """`cf_chains::EvmReplayProtection`."""

    nonce: int
    chain_id: int
    key_manager_address: bytes
    contract_address: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmTransactionBuilder(Generic[C]):
    """`cf_chains::EvmTransactionBuilder`."""

    signer_and_sig_data: tuple[EvmAggKey, SigData] | None
    replay_protection: EvmReplayProtection
    call: C


@dataclass(frozen=True, slots=True)
class SetAggKeyWithAggKey:
    """`cf_chains::SetAggKeyWithAggKey`."""

    new_key: EvmAggKey


@dataclass(frozen=True, slots=True)
class SetGovKeyWithAggKey:
    """`cf_chains::SetGovKeyWithAggKey`."""

    new_gov_key: bytes


@dataclass(frozen=True, slots=True)
class SetCommKeyWithAggKey:
    """`cf_chains::SetCommKeyWithAggKey`."""

    new_comm_key: bytes


@dataclass(frozen=True, slots=True)
class RedemptionExecutorOnlyAddress:
    """`cf_chains::RedemptionExecutor::OnlyAddress`."""

    value: bytes


RedemptionExecutor: TypeAlias = Literal["AnyAddress"] | RedemptionExecutorOnlyAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterRedemption:
    """`cf_chains::RegisterRedemption`."""

    node_id: bytes
    amount: int
    address: bytes
    expiry: int
    executor: RedemptionExecutor


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFlipSupply:
    """`cf_chains::UpdateFlipSupply`."""

    new_total_supply: int
    state_chain_block_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodableFetchDeployAssetParams:
    """`cf_chains::EncodableFetchDeployAssetParams`."""

    channel_id: int
    asset: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodableFetchAssetParams:
    """`cf_chains::EncodableFetchAssetParams`."""

    contract_address: bytes
    asset: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodableTransferAssetParams:
    """`cf_chains::EncodableTransferAssetParams`."""

    asset: bytes
    to: bytes
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AllBatch:
    """`cf_chains::AllBatch`."""

    fetch_deploy_params: Sequence[EncodableFetchDeployAssetParams]
    fetch_params: Sequence[EncodableFetchAssetParams]
    transfer_params: Sequence[EncodableTransferAssetParams]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutexSwapAndCall:
    """`cf_chains::ExecutexSwapAndCall`."""

    transfer_param: EncodableTransferAssetParams
    source_chain: int
    source_address: bytes
    gas_budget: int
    message: bytes


@dataclass(frozen=True, slots=True)
class TransferFallback:
    """`cf_chains::TransferFallback`."""

    transfer_param: EncodableTransferAssetParams


@dataclass(frozen=True, slots=True)
class EvmApiSetAggKeyWithAggKey:
    """`cf_chains::EthereumApi::SetAggKeyWithAggKey`."""

    value: EvmTransactionBuilder[SetAggKeyWithAggKey]


@dataclass(frozen=True, slots=True)
class EvmApiRegisterRedemption:
    """`cf_chains::EthereumApi::RegisterRedemption`."""

    value: EvmTransactionBuilder[RegisterRedemption]


@dataclass(frozen=True, slots=True)
class EvmApiUpdateFlipSupply:
    """`cf_chains::EthereumApi::UpdateFlipSupply`."""

    value: EvmTransactionBuilder[UpdateFlipSupply]


@dataclass(frozen=True, slots=True)
class EvmApiSetGovKeyWithAggKey:
    """`cf_chains::EthereumApi::SetGovKeyWithAggKey`."""

    value: EvmTransactionBuilder[SetGovKeyWithAggKey]


@dataclass(frozen=True, slots=True)
class EvmApiSetCommKeyWithAggKey:
    """`cf_chains::EthereumApi::SetCommKeyWithAggKey`."""

    value: EvmTransactionBuilder[SetCommKeyWithAggKey]


@dataclass(frozen=True, slots=True)
class EvmApiAllBatch:
    """`cf_chains::EthereumApi::AllBatch`."""

    value: EvmTransactionBuilder[AllBatch]


@dataclass(frozen=True, slots=True)
class EvmApiExecutexSwapAndCall:
    """`cf_chains::EthereumApi::ExecutexSwapAndCall`."""

    value: EvmTransactionBuilder[ExecutexSwapAndCall]


@dataclass(frozen=True, slots=True)
class EvmApiTransferFallback:
    """`cf_chains::EthereumApi::TransferFallback`."""

    value: EvmTransactionBuilder[TransferFallback]


@dataclass(frozen=True, slots=True)
class EvmApiRejectCall:
    """`cf_chains::EthereumApi::RejectCall`."""

    value: EvmTransactionBuilder[AllBatch]


EvmApi: TypeAlias = (
    EvmApiSetAggKeyWithAggKey
    | EvmApiRegisterRedemption
    | EvmApiUpdateFlipSupply
    | EvmApiSetGovKeyWithAggKey
    | EvmApiSetCommKeyWithAggKey
    | EvmApiAllBatch
    | EvmApiExecutexSwapAndCall
    | EvmApiTransferFallback
    | EvmApiRejectCall
)


FORMS: Mapping[str, PythonForm] = {
    "AllBatch": AllBatch,
    "ArbitrumApi": {
        "SetAggKeyWithAggKey": EvmApiSetAggKeyWithAggKey,
        "AllBatch": EvmApiAllBatch,
        "ExecutexSwapAndCall": EvmApiExecutexSwapAndCall,
        "TransferFallback": EvmApiTransferFallback,
        "RejectCall": EvmApiRejectCall,
    },
    "BscApi": {
        "SetAggKeyWithAggKey": EvmApiSetAggKeyWithAggKey,
        "AllBatch": EvmApiAllBatch,
        "ExecutexSwapAndCall": EvmApiExecutexSwapAndCall,
        "TransferFallback": EvmApiTransferFallback,
        "RejectCall": EvmApiRejectCall,
    },
    "EncodableFetchAssetParams": EncodableFetchAssetParams,
    "EncodableFetchDeployAssetParams": EncodableFetchDeployAssetParams,
    "EncodableTransferAssetParams": EncodableTransferAssetParams,
    "EthereumApi": {
        "SetAggKeyWithAggKey": EvmApiSetAggKeyWithAggKey,
        "RegisterRedemption": EvmApiRegisterRedemption,
        "UpdateFlipSupply": EvmApiUpdateFlipSupply,
        "SetGovKeyWithAggKey": EvmApiSetGovKeyWithAggKey,
        "SetCommKeyWithAggKey": EvmApiSetCommKeyWithAggKey,
        "AllBatch": EvmApiAllBatch,
        "ExecutexSwapAndCall": EvmApiExecutexSwapAndCall,
        "TransferFallback": EvmApiTransferFallback,
        "RejectCall": EvmApiRejectCall,
    },
    "EvmReplayProtection": EvmReplayProtection,
    "EvmTransactionBuilder": EvmTransactionBuilder,
    "ExecutexSwapAndCall": ExecutexSwapAndCall,
    "RedemptionExecutor": {"OnlyAddress": RedemptionExecutorOnlyAddress},
    "RegisterRedemption": RegisterRedemption,
    "SetAggKeyWithAggKey": SetAggKeyWithAggKey,
    "SetCommKeyWithAggKey": SetCommKeyWithAggKey,
    "SetGovKeyWithAggKey": SetGovKeyWithAggKey,
    "SigData": SigData,
    "TransferFallback": TransferFallback,
    "TronApi": {
        "SetAggKeyWithAggKey": EvmApiSetAggKeyWithAggKey,
        "AllBatch": EvmApiAllBatch,
        "ExecutexSwapAndCall": EvmApiExecutexSwapAndCall,
        "TransferFallback": EvmApiTransferFallback,
        "RejectCall": EvmApiRejectCall,
    },
    "UpdateFlipSupply": UpdateFlipSupply,
}
