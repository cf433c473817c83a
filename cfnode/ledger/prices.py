"""Prices of assets at a block: the pool's price, and the oracle's where it has one.

The node is asked for a price only where a block moves the asset. If it lacks these methods, prices are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cfnode.core.assets import ASSETS
from cfnode.core.foreign import ForeignError, hex_number
from cfnode.ledger.chain import MAX_BATCH_CALLS
from cfnode.ledger.client import MethodCall, NodeClient
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.errors import CallError
from cfnode.swaps.events import Name

__all__ = ["Price", "prices_of"]

Price = tuple[str, str, str]
"""Source (pool or oracle), asset, and value as decimal digits (`schema.prices` has the scales)."""
_STABLE: Final = {"chain": "Ethereum", "asset": "USDC"}
_EVENTS: Final = frozenset(
    (
        *(Name.CHUNK_EXECUTED, Name.OUTPUT_SCHEDULED, Name.REFUND_SCHEDULED, "WithdrawalRequested"),
        *(Name.DEPOSIT_FINALISED, Name.DEPOSIT_BOOSTED, Name.OUTPUT_CREDITED, Name.REFUND_CREDITED),
    )
)
_MEMBERS: Final = ("asset", "input_asset", "output_asset", "egress_asset")


async def prices_of(client: NodeClient, blocks: Sequence[DecodedBlock]) -> dict[int, list[Price]]:
    """Return the prices of the assets that each block moves, by block number. Raises NodeError."""
    requested: list[tuple[int, str | None]] = []
    calls: list[MethodCall] = []
    for block in blocks:
        assets = _moved(block)
        if assets:
            requested.append((block.number, None))
            calls.append(("cf_oracle_prices", [None, block.hash]))
        for moved in assets:
            base = {"chain": ASSETS[moved].chain, "asset": ASSETS[moved].symbol}
            requested.append((block.number, moved))
            calls.append(("cf_pool_price_v2", [base, _STABLE, block.hash]))
    by_block: dict[int, list[Price]] = {}
    for start in range(0, len(calls), MAX_BATCH_CALLS):
        answers = await client.batch(calls[start : start + MAX_BATCH_CALLS])
        for (number, asset), answer in zip(requested[start : start + MAX_BATCH_CALLS], answers, strict=True):
            prices = _oracle(answer) if asset is None else _pool(asset, answer)
            by_block.setdefault(number, []).extend(prices)
    return by_block


def _moved(block: DecodedBlock) -> list[str]:
    """Return the assets that the block's events move, other than USDC."""
    assets = set()
    for event in block.events:
        if event.name in _EVENTS and isinstance(event.fields, dict):
            assets |= {asset for member in _MEMBERS if isinstance(asset := event.fields.get(member), str)}
    return sorted(asset for asset in assets if asset in ASSETS and asset != "Usdc")


def _pool(asset: str, answer: Any) -> list[Price]:
    value = answer.get("range_order") if isinstance(answer, dict) else None
    digits = _digits(value)
    return [] if digits is None else [("pool", asset, digits)]


def _oracle(answer: Any) -> list[Price]:
    if isinstance(answer, CallError) or not isinstance(answer, list):
        return []
    prices: list[Price] = []
    for entry in answer[:100]:
        if isinstance(entry, dict) and isinstance(asset := entry.get("base_asset"), str) and len(asset) <= 12:
            digits = _digits(entry.get("price"))
            if digits is not None:
                prices.append(("oracle", asset, digits))
    return prices


def _digits(value: Any) -> str | None:
    """Return a hexadecimal number of at most 256 bits in decimal digits; None if it is malformed."""
    try:
        return str(hex_number(value, 256))
    except ForeignError:
        return None
