"""Deposit channels, and the events of a block."""

from __future__ import annotations

from typing import Any

from tests.rpc.conftest import Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, REFUND


async def events_of(served: Served, block: str) -> list[tuple[str, str, Any]]:
    """Return the events of a block: pallet, name, fields."""
    hash_ = bytes.fromhex(block[2:])
    metadata = (await served.node.chain.runtime_at(hash_)).metadata
    with served.node.chain.state(hash_) as state:
        data = state.get(metadata.storage_key("System", "Events")) or b"\0"
    events = []
    for record in metadata.event_codec.decode(data):
        pallet, payload = record["event"]
        name, fields = (payload, ()) if isinstance(payload, str) else payload
        events.append((pallet, name, fields))
    return events


async def open_channel(served: Served) -> str:
    """Open a deposit channel; return its address."""
    await served.call("broker_registerAccount")
    channel = await served.call(
        "broker_requestSwapDepositAddress", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    address: str = channel["address"]
    return address
