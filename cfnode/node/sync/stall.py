"""Does finality stand still while blocks go on?

Nothing breaks then: states beyond a bound go to disk (`store/spill.py`), and all forks stay possible. But no
chain should be so, and a node that no votes reach looks the same. So it is said, again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import trio

from cfnode.node.chain_view import ChainView

__all__ = ["MAX_BEHIND", "STALLED_S", "tell_stall"]

log = logging.getLogger("cfnode.grandpa")

MAX_BEHIND = 64
"""Blocks that finality may be behind without a word."""

STALLED_S = 60.0
"""Seconds without a new final block after which it is said, each time."""


async def tell_stall(chain: ChainView, silent: Callable[[], Sequence[str]]) -> None:
    """Until cancelled. `silent`: the peers that have never told what is final for them."""
    while True:
        before = chain.finalized
        await trio.sleep(STALLED_S)
        behind = chain.best.number - before.number
        if chain.finalized == before and behind > MAX_BEHIND:
            log.warning("Finality stands still: #%d is final, %d blocks before the best one. %s; blocks are "
                        "followed", before.number, behind, _reason(silent()))  # fmt: skip


def _reason(silent: Sequence[str]) -> str:
    if silent:
        return f"These peers never tell their finalized block: {', '.join(silent)}"
    return "Too few authorities vote, or their votes do not reach this node"
