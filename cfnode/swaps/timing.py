"""Block times of each chain, and how long its deposit channels are open.

A chain has two block times. By the `nominal` one the State Chain's genesis counts a channel's lifetime of a
day in blocks of the chain; it is never changed. The `usual` one is the chain's block time today; times are
estimated by it. Where the two differ a channel is not open for a day: six hours on Assethub, 20.6 on
Ethereum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cfnode.core.assets import CHAINS

__all__ = [
    "BLOCK_TIMES",
    "STATE_CHAIN_MS",
    "BlockTimes",
    "blocks_ms",
    "is_removed",
    "lifetime_blocks",
    "lifetime_ms",
]

STATE_CHAIN_MS: Final = 6_000
"""Milliseconds between two blocks of the State Chain."""
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class BlockTimes:
    """Milliseconds between two blocks of a chain."""

    nominal: int
    usual: int


BLOCK_TIMES: Final = {name: BlockTimes(chain.nominal_ms, chain.usual_ms) for name, chain in CHAINS.items()}


def blocks_ms(chain: str, count: int) -> int:
    """Return the usual time of `count` blocks of a chain, in milliseconds."""
    return BLOCK_TIMES[chain].usual * count


def lifetime_blocks(chain: str) -> int:
    """Return in how many blocks of the chain a channel takes deposits, with the main net's settings."""
    return _DAY_MS // BLOCK_TIMES[chain].nominal


def is_removed(chain: str, expiry_block: int, height: int) -> bool:
    """Return whether a channel with this expiry is gone at a block of its chain.

    An expired channel is listed for another lifetime; then its number and address may be given out again. So
    a deposit in a later block is to another channel.
    """
    return height > expiry_block + lifetime_blocks(chain)


def lifetime_ms(chain: str) -> int:
    """Return the usual time from a channel's opening to its expiry, in milliseconds."""
    return blocks_ms(chain, lifetime_blocks(chain))
