"""Delays before a broadcast that has failed is attempted again.

A broadcast is attempted again in the next block, and after many failures every ten blocks; on Bitcoin the
delay doubles each time then, up to two hours. Blocks are the State Chain's, heights the foreign chain's.
"""

from __future__ import annotations

from cfnode.devchain.runtime.chains import ChainInstance

__all__ = ["SAFE_MODE_BLOCKS", "SAFE_MODE_HEIGHTS", "delay_after_failure", "delay_without_nominee"]

SAFE_MODE_BLOCKS = 10
SAFE_MODE_HEIGHTS = {
    "Ethereum": 4,
    "Bitcoin": 1,
    "Arbitrum": 240,
    "Solana": 150,
    "Assethub": 10,
    "Tron": 10,
    "Bsc": 133,
}
"""Heights by which safe mode puts off timeouts: about a minute, on Bitcoin ten."""

MANY, SLOW = 10, 10
PATIENT, LONGEST = 25, 1_200


def delay_after_failure(chain: ChainInstance, failures: int) -> int:
    """Return the blocks until the next attempt after so many failures."""
    if chain.name == "Bitcoin":
        return _bitcoin(failures)
    return SLOW if failures > MANY else 1


def delay_without_nominee(chain: ChainInstance, failures: int) -> int:
    """Return the blocks until the next attempt when no authority could be asked."""
    return _bitcoin(failures) if chain.name == "Bitcoin" else SLOW


def _bitcoin(failures: int) -> int:
    return 1 if failures < PATIENT else min(2 ** min(failures - PATIENT, 16), LONGEST)
