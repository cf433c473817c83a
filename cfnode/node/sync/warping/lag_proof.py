"""Proof by finality that the chain has gone on, from this node's last final block.

The headers of a peer prove it only as far as their seals can be verified: up to the next change of the
authorities, which may be the block that the node lacks. A warp proof passes any number of changes. It begins
at our own final block and its authorities, so that neither a claim nor a saved file counts.
"""

from __future__ import annotations

import logging

import trio

from cfnode.node.asking.asker import Asker
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.warping.authority_set_cache import TrustedSet
from cfnode.node.sync.warping.warp import WarpSync
from cfnode.runtime.calls import LocalFault

__all__ = ["LagProof"]

log = logging.getLogger("cfnode.sync")

LAG_PROOF_TIMEOUT_S = 60.0
"""Seconds within which one of the peers has to provide the whole proof."""


class LagProof:
    """The request of finality proofs that begin at the chain's own final block."""

    def __init__(self, asker: Asker, chain: NodeChain) -> None:
        self._asker = asker
        self._chain = chain

    async def newest_final(self) -> int:
        """Return the number of the newest final block that a peer proves; ours if none proves a later one."""
        finalized = self._chain.finalized
        header = self._chain.header(finalized.hash)
        if header is None:
            return finalized.number
        try:
            trusted = TrustedSet(header, await self._chain.voters())
        except LocalFault as fault:
            log.debug("No proof from block #%d can be requested: %s", finalized.number, fault)
            return finalized.number
        with trio.move_on_after(LAG_PROOF_TIMEOUT_S):
            return (await WarpSync(self._asker, trusted, None, SyncProgress()).run()).number
        return finalized.number
