"""How did older runtimes call what today's runtime APIs say, and how did they answer?

Facts of Chainflip's published runtimes, by name: what an API was called, what its parameters were called, and
which answers were None where today's are an error. Everything else the block's metadata tells.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FUNCTIONS", "NEVER_NONE", "PARAMETERS"]

FUNCTIONS: Final = {"CustomRuntimeApi_cf_validator_info": "CustomRuntimeApi_cf_account_info_v2"}
"""What a method was called before."""

PARAMETERS: Final = {"base": "base_asset", "pair": "quote_asset", "pair_asset": "quote_asset"}
"""From a parameter's older name to that of today."""

NEVER_NONE: Final = frozenset(
    f"CustomRuntimeApi_cf_pool_{name}"
    for name in ("simulate_swap", "info", "depth", "liquidity", "orders", "range_order_liquidity_value")
) | {"CustomRuntimeApi_cf_required_asset_ratio_for_range_order"}
"""Methods that answer a `Result` today. Older runtimes gave None for a pool that does not exist."""
