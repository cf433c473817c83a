"""Limits that the runtime sets for swaps, stated once."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BPS",
    "MAX_AFFILIATES",
    "MAX_CCM_ADDITIONAL_DATA_BYTES",
    "MAX_CCM_MESSAGE_BYTES",
    "MAX_COMMISSION_BPS",
    "boost_fee_bps",
]

BPS: Final = 10_000
"""Basis points of a whole."""
MAX_CCM_MESSAGE_BYTES: Final = 15_000
"""Most bytes of a message to the destination."""
MAX_CCM_ADDITIONAL_DATA_BYTES: Final = 3_000
"""Most bytes of a message's additional data."""
MAX_AFFILIATES: Final = 5
"""Most affiliates of a swap: the chain refuses a channel with more."""
MAX_COMMISSION_BPS: Final = 1_000
"""Most basis points of a broker and its affiliates together (BrokerCommissionBpsTooHigh)."""


def boost_fee_bps(lent: int, fee: int) -> int:
    """Return the rate of a boost of `lent` in basis points.

    The chain has rounded the `fee` down, so the rate is rounded up.
    """
    return -(-fee * BPS // lent) if lent else 0
