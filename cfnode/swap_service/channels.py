"""Deposit channels for users without a broker, opened by the service's own account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfnode.swap_service.quotes import check_limits
from cfnode.swap_service.requests import read_terms
from cfnode.swap_service.source import SwapSource
from cfnode.swaps.timing import lifetime_ms

__all__ = ["open_channel"]


async def open_channel(source: SwapSource, body: Mapping[str, Any]) -> dict[str, Any]:
    """Open a channel; amounts and heights in the answer are decimal strings. Raises Refusal."""
    block = await source.best()
    terms, expected = read_terms(body, block.names)
    await check_limits(block, terms.source, expected)
    channel = await source.broker.open(terms, expected)
    return {
        "id": str(channel.id(terms.chain)),
        "depositAddress": channel.address,
        "brokerCommissionBps": 0,
        "maxBoostFeeBps": terms.boost_fee,
        "issuedBlock": channel.issued_block,
        "srcChainExpiryBlock": str(channel.source_chain_expiry_block),
        "estimatedExpiryTime": channel.opened_at + lifetime_ms(terms.chain),
        "channelOpeningFee": str(channel.opening_fee),
    }
