"""Frozen dataclasses of the chain's values: simulations.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.scale import PythonForm

__all__ = [
    "CcmData",
    "SimulateSwapAdditionalOrder",
    "SimulatedLimitOrder",
    "SimulatedSwapInformation",
    "SwapLegInfo",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapLegInfo:
    """`pallet_cf_swapping::SwapLegInfo`."""

    swap_id: int
    swap_request_id: int
    base_asset: str
    quote_asset: str
    side: str
    amount: int
    source_asset: str | None
    source_amount: int | None
    remaining_chunks: int
    chunk_interval: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CcmData:
    """`state_chain_runtime::CcmData`."""

    gas_budget: int
    message_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLimitOrder:
    """`state_chain_runtime::SimulateSwapAdditionalOrder::LimitOrder`."""

    base_asset: str
    quote_asset: str
    side: str
    tick: int
    sell_amount: int


SimulateSwapAdditionalOrder: TypeAlias = SimulatedLimitOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSwapInformation:
    """`state_chain_runtime::SimulatedSwapInformation`."""

    intermediary: int | None
    output: int
    network_fee: int
    ingress_fee: int
    egress_fee: int
    broker_fee: int


FORMS: Mapping[str, PythonForm] = {
    "CcmData": CcmData,
    "SimulateSwapAdditionalOrder": {"LimitOrder": SimulatedLimitOrder},
    "SimulatedSwapInformation": SimulatedSwapInformation,
    "SwapLegInfo": SwapLegInfo,
}
