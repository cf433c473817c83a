"""Estimated durations of the parts of a swap on the public networks.

A deposit counts after the confirmations of its chain and one block of the State Chain; the swap runs two
blocks later; a transfer is signed within a few blocks, and counts as sent after the confirmations of its
chain. A development chain may do all of it at once.
"""

from __future__ import annotations

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.swaps.timing import STATE_CHAIN_MS, blocks_ms

__all__ = ["STATE_CHAIN_SECONDS", "confirmations", "durations"]

STATE_CHAIN_SECONDS = STATE_CHAIN_MS // 1000
SWAP_SECONDS = 12
SIGNING_SECONDS = 60


def confirmations(chain: str) -> int | None:
    """Return the blocks of a chain after which a deposit counts, None if it counts at once."""
    margin = CHAINS[chain].safety_margin
    return None if margin is None else margin + 1


def durations(source: str, target: str, *, boosted: bool = False) -> dict[str, int]:
    """Return the seconds of deposit, swap and egress; a boosted deposit counts once it is in a block."""
    deposit = _confirmed(ASSETS[source].chain)
    if boosted:
        deposit //= 2 * (confirmations(ASSETS[source].chain) or 1)
    return {
        "deposit": deposit + STATE_CHAIN_SECONDS,
        "swap": SWAP_SECONDS,
        "egress": SIGNING_SECONDS + _confirmed(ASSETS[target].chain),
    }


def _confirmed(chain: str) -> int:
    return -(-blocks_ms(chain, confirmations(chain) or 1) // 1000)
