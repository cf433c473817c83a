"""Body that receivers of webhooks get: a change of a swap's state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from cfnode.swaps.journey import V2_STATES

__all__ = ["webhook_body"]

_AMOUNTS: Final = (
    *("input", "output", "paid", "refunded"),
    *("network_fee", "broker_fee", "egress_fee", "refund_fee"),
)


def webhook_body(swap: Mapping[str, Any], previous: str | None, block: int) -> str:
    """Return the body about a swap that got its state in a block.

    `swap` is its record in the report `swaps`; `previous` is the state before, None if it is not known.
    """
    members = {**swap, **{name: str(swap[name]) for name in _AMOUNTS}, "time": _iso(swap["time"])}
    state = swap["state"]
    summary = {"type": "swap.state", "request": swap["request"], "state": state, "status": V2_STATES[state]}
    body = {**summary, "previous": previous, "block": block, "swap": members}
    return json.dumps(body, separators=(",", ":"))


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
