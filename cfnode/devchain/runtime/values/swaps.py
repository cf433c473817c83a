"""Frozen dataclasses of the chain's values: swaps.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cfnode.core.addresses import ForeignAddress
from cfnode.core.scale import PythonForm

from .requests import Beneficiary, PriceLimits, PriceLimitsAndExpiry, SwapOutputAction

__all__ = [
    "AffiliateDetails",
    "DcaState",
    "FeeRateAndMinimum",
    "FeeType",
    "FeeTypeBrokerFee",
    "FeeTypeNetworkFee",
    "NetworkFeeTracker",
    "SetDefaultSlippageProtection",
    "Swap",
    "SwapFailureReason",
    "SwapRefundParameters",
    "SwapRequest",
    "SwapRequestCompletionReason",
    "SwapRequestState",
    "SwapRequestStateUserSwap",
    "SwappingConfigUpdate",
    "SwappingConfigUpdateFlipBuyInterval",
    "SwappingConfigUpdateMaximumSwapAmount",
    "SwappingConfigUpdateSetBrokerBond",
    "SwappingConfigUpdateSetInternalSwapNetworkFee",
    "SwappingConfigUpdateSetInternalSwapNetworkFeeForAsset",
    "SwappingConfigUpdateSetMaxSwapRequestDuration",
    "SwappingConfigUpdateSetMaxSwapRetryDuration",
    "SwappingConfigUpdateSetMinimumChunkSize",
    "SwappingConfigUpdateSetNetworkFee",
    "SwappingConfigUpdateSetNetworkFeeForAsset",
    "SwappingConfigUpdateSwapRetryDelay",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeRateAndMinimum:
    """`pallet_cf_swapping::FeeRateAndMinimum`."""

    rate: int
    minimum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFeeTracker:
    """`pallet_cf_swapping::NetworkFeeTracker`."""

    network_fee: FeeRateAndMinimum
    accumulated_stable_amount: int
    accumulated_fee: int


@dataclass(frozen=True, slots=True)
class FeeTypeNetworkFee:
    """`pallet_cf_swapping::FeeType::NetworkFee`."""

    value: NetworkFeeTracker


@dataclass(frozen=True, slots=True)
class FeeTypeBrokerFee:
    """`pallet_cf_swapping::FeeType::BrokerFee`."""

    value: Sequence[Beneficiary[bytes]]


FeeType: TypeAlias = FeeTypeNetworkFee | FeeTypeBrokerFee


@dataclass(frozen=True, slots=True, kw_only=True)
class DcaState:
    """`pallet_cf_swapping::DcaState`."""

    scheduled_chunks: Sequence[int]
    remaining_input_amount: int
    remaining_chunks: int
    chunk_interval: int
    accumulated_output_amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapRequestStateUserSwap:
    """`pallet_cf_swapping::SwapRequestState::UserSwap`."""

    price_limits_and_expiry: PriceLimitsAndExpiry | None
    output_action: SwapOutputAction[ForeignAddress, bytes]
    dca_state: DcaState
    fees: Sequence[FeeType]


SwapRequestState: TypeAlias = Literal["NetworkFee", "IngressEgressFee"] | SwapRequestStateUserSwap


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapRequest:
    """`pallet_cf_swapping::SwapRequest`."""

    id: int
    input_asset: str
    output_asset: str
    state: SwapRequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapRefundParameters:
    """`pallet_cf_swapping::SwapRefundParameters`."""

    refund_block: int
    price_limits: PriceLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """`pallet_cf_swapping::Swap`."""

    swap_id: int
    swap_request_id: int
    from_: str
    to: str
    input_amount: int
    refund_params: SwapRefundParameters | None
    execute_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateMaximumSwapAmount:
    """`pallet_cf_swapping::PalletConfigUpdate::MaximumSwapAmount`."""

    asset: str
    amount: int | None


@dataclass(frozen=True, slots=True)
class SwappingConfigUpdateSwapRetryDelay:
    """`pallet_cf_swapping::PalletConfigUpdate::SwapRetryDelay`."""

    delay: int


@dataclass(frozen=True, slots=True)
class SwappingConfigUpdateFlipBuyInterval:
    """`pallet_cf_swapping::PalletConfigUpdate::FlipBuyInterval`."""

    interval: int


@dataclass(frozen=True, slots=True)
class SwappingConfigUpdateSetMaxSwapRetryDuration:
    """`pallet_cf_swapping::PalletConfigUpdate::SetMaxSwapRetryDuration`."""

    blocks: int


@dataclass(frozen=True, slots=True)
class SwappingConfigUpdateSetMaxSwapRequestDuration:
    """`pallet_cf_swapping::PalletConfigUpdate::SetMaxSwapRequestDuration`."""

    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateSetMinimumChunkSize:
    """`pallet_cf_swapping::PalletConfigUpdate::SetMinimumChunkSize`."""

    asset: str
    size: int


@dataclass(frozen=True, slots=True)
class SwappingConfigUpdateSetBrokerBond:
    """`pallet_cf_swapping::PalletConfigUpdate::SetBrokerBond`."""

    bond: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateSetNetworkFee:
    """`pallet_cf_swapping::PalletConfigUpdate::SetNetworkFee`."""

    rate: int | None
    minimum: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateSetInternalSwapNetworkFee:
    """`pallet_cf_swapping::PalletConfigUpdate::SetInternalSwapNetworkFee`."""

    rate: int | None
    minimum: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateSetNetworkFeeForAsset:
    """`pallet_cf_swapping::PalletConfigUpdate::SetNetworkFeeForAsset`."""

    asset: str
    rate: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappingConfigUpdateSetInternalSwapNetworkFeeForAsset:
    """`pallet_cf_swapping::PalletConfigUpdate::SetInternalSwapNetworkFeeForAsset`."""

    asset: str
    rate: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDefaultSlippageProtection:
    """`pallet_cf_swapping::PalletConfigUpdate::SetDefaultOraclePriceSlippageProtectionForAsset`."""

    base_asset: str
    quote_asset: str
    bps: int | None


SwappingConfigUpdate: TypeAlias = (
    SwappingConfigUpdateMaximumSwapAmount
    | SwappingConfigUpdateSwapRetryDelay
    | SwappingConfigUpdateFlipBuyInterval
    | SwappingConfigUpdateSetMaxSwapRetryDuration
    | SwappingConfigUpdateSetMaxSwapRequestDuration
    | SwappingConfigUpdateSetMinimumChunkSize
    | SwappingConfigUpdateSetBrokerBond
    | SwappingConfigUpdateSetNetworkFee
    | SwappingConfigUpdateSetInternalSwapNetworkFee
    | SwappingConfigUpdateSetNetworkFeeForAsset
    | SwappingConfigUpdateSetInternalSwapNetworkFeeForAsset
    | SetDefaultSlippageProtection
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AffiliateDetails:
    """`pallet_cf_swapping::AffiliateDetails`."""

    short_id: int
    withdrawal_address: bytes


SwapRequestCompletionReason: TypeAlias = Literal["Aborted", "Expired", "Executed"]


SwapFailureReason: TypeAlias = Literal[
    "PriceImpactLimit",
    "MinPriceViolation",
    "OraclePriceSlippageExceeded",
    "OraclePriceStale",
    "PredecessorSwapFailure",
    "SafeModeActive",
    "AbortedFromOrigin",
    "LogicError",
]


FORMS: Mapping[str, PythonForm] = {
    "AffiliateDetails": AffiliateDetails,
    "DcaState": DcaState,
    "FeeRateAndMinimum": FeeRateAndMinimum,
    "FeeType": {"NetworkFee": FeeTypeNetworkFee, "BrokerFee": FeeTypeBrokerFee},
    "NetworkFeeTracker": NetworkFeeTracker,
    "Swap": Swap,
    "SwapRefundParameters": SwapRefundParameters,
    "SwapRequest": SwapRequest,
    "SwapRequestState": {"UserSwap": SwapRequestStateUserSwap},
    "swapping::PalletConfigUpdate": {
        "MaximumSwapAmount": SwappingConfigUpdateMaximumSwapAmount,
        "SwapRetryDelay": SwappingConfigUpdateSwapRetryDelay,
        "FlipBuyInterval": SwappingConfigUpdateFlipBuyInterval,
        "SetMaxSwapRetryDuration": SwappingConfigUpdateSetMaxSwapRetryDuration,
        "SetMaxSwapRequestDuration": SwappingConfigUpdateSetMaxSwapRequestDuration,
        "SetMinimumChunkSize": SwappingConfigUpdateSetMinimumChunkSize,
        "SetBrokerBond": SwappingConfigUpdateSetBrokerBond,
        "SetNetworkFee": SwappingConfigUpdateSetNetworkFee,
        "SetInternalSwapNetworkFee": SwappingConfigUpdateSetInternalSwapNetworkFee,
        "SetNetworkFeeForAsset": SwappingConfigUpdateSetNetworkFeeForAsset,
        "SetInternalSwapNetworkFeeForAsset": SwappingConfigUpdateSetInternalSwapNetworkFeeForAsset,
        "SetDefaultOraclePriceSlippageProtectionForAsset": SetDefaultSlippageProtection,
    },
}
