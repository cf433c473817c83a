"""A number of a channel that the chain gives out again: its old channel is paid, expired and recycled."""

from __future__ import annotations

from typing import Any

from cfnode.swaps.identity import ChannelId
from cfnode.testing import DevChain
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, IMPOSSIBLE

__all__ = ["ETHER", "REFUNDED", "opened", "recycled", "swapped", "three_channels"]

ETHER = 10**18
RECYCLED_S = 3 * 86_400
"""Seconds after which a channel's number is free again: twice its lifetime, and more."""


def opened(chain: DevChain, source: str = "Eth", target: str = "Btc", **terms: Any) -> tuple[ChannelId, str]:
    """Return a new channel of the broker's node, and its address."""
    receiver, back = (BTC_ADDRESS, EVM_ADDRESS) if target == "Btc" else (EVM_ADDRESS, EVM_ADDRESS)
    terms = {"refund_address": back} | terms
    answer = chain.broker.open_channel(source, target, receiver, **terms)
    return ChannelId("Ethereum", answer["channel_id"], answer["issued_block"]), answer["address"]


def swapped(chain: DevChain, address: str, amount: int = ETHER, blocks: int = 8) -> None:
    """Make a deposit, and blocks until the swap has ended."""
    chain.deposit(address, "Eth", amount)
    chain.new_block(blocks)


def recycled(chain: DevChain) -> None:
    """Let all channels expire, and their numbers become free."""
    chain.clock.jump(RECYCLED_S)
    chain.new_block(3)


REFUNDED: dict[str, Any] = {
    "refund_parameters": {"retry_duration": 2, "min_price": IMPOSSIBLE, "refund_address": EVM_ADDRESS}
}
"""Terms of a swap that is refunded."""


def three_channels(chain: DevChain) -> list[tuple[ChannelId, str]]:
    """Return channels of one number and their addresses: swapped (1 ether), refunded (2), and not paid."""
    channels = []
    for terms in ({}, REFUNDED, {}):
        channels.append(opened(chain, **terms))
        if len(channels) < 3:
            swapped(chain, channels[-1][1], ETHER * len(channels), blocks=14)
            recycled(chain)
    chain.finalize()
    return channels
