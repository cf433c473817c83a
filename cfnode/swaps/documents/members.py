"""Members that several documents share: an asset, a fee, a failure."""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.swaps.record import Entry

__all__ = ["asset_json", "failure", "fee"]


def asset_json(name: str) -> dict[str, str]:
    """Return an asset in the service's format, by its variant name."""
    return {"chain": ASSETS[name].chain, "asset": ASSETS[name].symbol}


def fee(kind: str, name: str, value: int) -> dict[str, str]:
    """Return a fee in the service's format; `name` is the asset's variant name, `value` in smallest units."""
    return {"type": kind, **asset_json(name), "amount": str(value)}


def failure(entry: Entry, mode: str, name: str, message: str) -> dict[str, Any]:
    """Return when, where and why something failed."""
    failed_at = {"failedAt": entry.time, "failedBlockIndex": entry.block_index}
    return {**failed_at, "failure": {**failed_at, "mode": mode, "reason": {"name": name, "message": message}}}
