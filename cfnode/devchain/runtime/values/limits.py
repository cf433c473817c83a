"""Frozen dataclasses of the chain's values: limits.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

from .swaps import FeeRateAndMinimum

__all__ = ["NetworkFeeDetails", "NetworkFees", "SwapLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapLimits:
    """`cf_traits::SwapLimits`."""

    max_swap_retry_duration_blocks: int
    max_swap_request_duration_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFeeDetails:
    """`state_chain_runtime::NetworkFeeDetails`."""

    standard_rate_and_minimum: FeeRateAndMinimum
    rates: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFees:
    """`state_chain_runtime::NetworkFees`."""

    regular_network_fee: NetworkFeeDetails
    internal_swap_network_fee: NetworkFeeDetails


FORMS: Mapping[str, PythonForm] = {
    "NetworkFeeDetails": NetworkFeeDetails,
    "NetworkFees": NetworkFees,
    "SwapLimits": SwapLimits,
}
