"""Warning when finality stalls while new blocks are imported.

The node keeps working: states beyond a bound go to disk (`store/spill.py`), and all forks stay possible. But
it is a fault of the chain, or no votes reach this node. So a warning is logged again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import trio

from cfnode.node.chain.view import ChainView

__all__ = ["FINALITY_STALL_S", "MAX_FINALITY_LAG", "warn_when_finality_stalls"]

log = logging.getLogger("cfnode.grandpa")

MAX_FINALITY_LAG = 64
"""Blocks that finality may be behind without a warning."""

FINALITY_STALL_S = 60.0
"""Seconds between warnings while no block becomes final."""


async def warn_when_finality_stalls(chain: ChainView, silent: Callable[[], Sequence[str]]) -> None:
    """Warn until cancelled. `silent`: returns the peers that have never sent a neighbor packet."""
    while True:
        before = chain.finalized
        await trio.sleep(FINALITY_STALL_S)
        behind = chain.best.number - before.number
        if chain.finalized == before and behind > MAX_FINALITY_LAG:
            log.warning("Finality has stalled: #%d is final, %d blocks behind the best one. %s. Blocks are "
                        "still imported", before.number, behind, _reason(silent()))  # fmt: skip


def _reason(silent: Sequence[str]) -> str:
    if silent:
        return f"These peers never send their finalized block: {', '.join(silent)}"
    return "Too few authorities vote, or their votes do not reach this node"
