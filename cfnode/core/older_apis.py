"""Names and answers of older runtime APIs that differ from today's.

These are facts of Chainflip's published runtimes: the older names of APIs and parameters, and the methods
that returned None where today's return an error. All other differences are in the block's metadata.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FUNCTIONS", "NEVER_NONE", "PARAMETERS"]

FUNCTIONS: Final = {"CustomRuntimeApi_cf_validator_info": "CustomRuntimeApi_cf_account_info_v2"}
"""From today's name of a method to its older one."""

PARAMETERS: Final = {"base": "base_asset", "pair": "quote_asset", "pair_asset": "quote_asset"}
"""From a parameter's older name to that of today."""

NEVER_NONE: Final = frozenset(
    f"CustomRuntimeApi_cf_pool_{name}"
    for name in ("simulate_swap", "info", "depth", "liquidity", "orders", "range_order_liquidity_value")
) | {"CustomRuntimeApi_cf_required_asset_ratio_for_range_order"}
"""Methods that return a `Result` today. Older runtimes returned None for a pool that does not exist."""
