"""Bodies that receivers of webhooks get: of a swap's state, of a deposit, of a channel, and of a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from cfnode.swaps.journey import V2_STATES

__all__ = ["channel_body", "deposit_body", "sample_body", "webhook_body"]

_AMOUNTS: Final = (
    *("input", "output", "paid", "refunded"),
    *("network_fee", "broker_fee", "egress_fee", "refund_fee"),
    *("amount", "ingress_fee", "boost_fee", "opening_fee"),
)
"""Members that are amounts, which are digits in JSON."""


def webhook_body(swap: Mapping[str, Any], previous: str | None, block: int) -> str:
    """Return the body about a swap that got its state in a block.

    `swap` is its record in the report `swaps`; `previous` is the state before, None if it is not known.
    """
    state = swap["state"]
    summary = {
        "type": "swap.state",
        "channel_id": swap["channel_id"],
        "request": swap["request"],
        "state": state,
        "status": V2_STATES[state],
    }
    return _text({**summary, "previous": previous, "block": block, "swap": _members(swap)})


def deposit_body(kind: str, deposit: Mapping[str, Any], block: int) -> str:
    """Return the body about a deposit that a block has seen, confirmed, boosted or rejected."""
    summary = {"type": kind, "channel_id": deposit["channel_id"], "request": deposit["request"]}
    return _text({**summary, "block": block, "deposit": _members(deposit)})


def channel_body(kind: str, channel: Mapping[str, Any], block: int) -> str:
    """Return the body about a channel that was opened, or has expired, in a block."""
    summary = {"type": kind, "channel_id": channel["channel_id"]}
    return _text({**summary, "block": block, "channel": _members(channel)})


def sample_body(kind: str, time: int) -> str:
    """Return the body of a test; `time` is Unix ms."""
    return _text({"type": kind, "time": _iso(time)})


def _members(record: Mapping[str, Any]) -> dict[str, Any]:
    amounts = {name: str(record[name]) for name in _AMOUNTS if record.get(name) is not None}
    return {**record, **amounts, "time": _iso(record["time"])}


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
