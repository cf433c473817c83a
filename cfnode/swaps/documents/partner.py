"""Documents of the partner API: those of the swap service in snake_case, and members of their own.

The partner API passes on those members that its schema declares (`swap_service/live_network/partner_api`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from cfnode.core.assets import asset_by_symbol
from cfnode.swaps.durations import STATE_CHAIN_SECONDS
from cfnode.swaps.prices import fixed_price

__all__ = ["partner_quote", "partner_status"]

_HUMP: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")


def partner_status(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status in version 2 as the partner API has it; the swap began in a channel."""
    fields: dict[str, Any] = _snake(status)
    for side in ("src", "dest"):
        fields[f"{side}_asset"] = {"chain": fields[f"{side}_chain"], "asset": fields[f"{side}_asset"]}
    fields["deposit_channel"]["expected_amount"] = fields["deposit_channel"].get("expected_deposit_amount")
    fields["last_updated_at"] = fields["last_statechain_update_at"]
    for name in ("deposit", "swap_egress", "refund_egress"):
        if failure := fields.get(name, {}).get("failure"):
            failure |= {f"reason_{member}": failure["reason"][member] for member in ("name", "message")}
    if dca := fields.get("swap", {}).get("dca"):
        fields["swap"] |= {name: dca[name] for name in ("executed_chunks", "remaining_chunks")}
    return fields


def partner_quote(quote: Mapping[str, Any]) -> dict[str, Any]:
    """Return a quote as the partner API has it, with the recommended terms of a channel."""
    fields: dict[str, Any] = _snake(quote)
    source, target = (
        asset_by_symbol(fields[side]["chain"], fields[side]["asset"]).name
        for side in ("src_asset", "dest_asset")
    )
    slippage, minutes = (
        fields[f"recommended_{name}"] for name in ("slippage_tolerance_percent", "retry_duration_minutes")
    )
    price = fixed_price(fields["estimated_price"], slippage, source, target)
    fields["recommended_min_price_x128"] = str(price)
    fields["recommended_retry_duration_blocks"] = minutes * 60 // STATE_CHAIN_SECONDS
    return fields


def _snake(value: Any) -> Any:
    """Return a document with its member names in snake_case."""
    if isinstance(value, Mapping):
        return {_HUMP.sub(r"_\1", name).lower(): _snake(member) for name, member in value.items()}
    return [_snake(member) for member in value] if isinstance(value, list) else value
