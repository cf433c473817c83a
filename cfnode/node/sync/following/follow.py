"""Following the chain of a node that has a state.

Announcements and handshakes name the blocks that peers have. Four tasks work on them independently:

- near blocks are linked to our tree by their headers (`linking.py`), the blocks of each peer separately;
- the bodies of linked headers are fetched and imported in order (`bodies.py`);
- claims to be far ahead are checked, and the node catches up (`catch_up.py`);
- the node judges how far behind it is, by what has been proved (`proven_lag.py`).

If the node is provably far behind, and for a while no peer that is ahead has the next block, the node stops
following: it has to download a newer state (`download.py`). Where headers prove too little, a finality proof
is requested (`lag_proof.py`).
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.header import Header
from cfnode.flow.wakeup import Wakeup
from cfnode.node.asking.asker import SILENCE_BEFORE_NEXT_PEER_S, Asker
from cfnode.node.asking.interval import Interval
from cfnode.node.asking.peer_set import lower_median
from cfnode.node.asking.progress import Phase, SyncProgress, no_peers_reason, with_reasons
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.following.announced_blocks import AnnouncedBlock, Wanted
from cfnode.node.sync.following.bodies import Bodies
from cfnode.node.sync.following.catch_up import ClaimCatchUp
from cfnode.node.sync.following.imports import Imports
from cfnode.node.sync.following.linking import LinkedHeaders, Unlinked
from cfnode.node.sync.following.proven_lag import SYNCING_LAG, NewestFinal, SyncLag

__all__ = ["BlockImporter"]

log = logging.getLogger("cfnode.sync")

NO_NEXT_BLOCK_S = 30.0
"""Seconds without a peer that has the next block, after which the node stops following."""

LAG_PROOF_INTERVAL_S = 30.0
"""Seconds between two requests of a finality proof while no peer has the next block."""

ANNOUNCEMENT_POLL_S = 1.0
"""Seconds between two passes over all announcements; new ones are handled at once."""

MIN_JUDGEMENT_INTERVAL_S = 0.05
"""Minimum seconds between two judgements, however many announcements come."""

PRUNED = (
    "With --sync=full every block is executed from the first one on: this needs a peer with "
    "--blocks-pruning=archive. Use --sync=warp to begin with a proven state instead"
)
HISTORY = (
    "This node keeps its present blocks. To begin with a newer state instead, run `cfnode purge-chain` and "
    "start with --sync=warp"
)


class BlockImporter:
    """The importer of the blocks that peers announce. `run` it once the chain has a state.

    `lag_proof`: finality proofs of newer blocks. A newer state may then replace the present one if no peer
    has the blocks in between; None to keep the present blocks.
    """

    def __init__(
        self, chain: NodeChain, asker: Asker, progress: SyncProgress, lag_proof: NewestFinal | None
    ) -> None:
        self._asker = asker
        self._peer_set = asker.peer_set
        self._lag_proof = lag_proof
        self._chain = chain
        self._progress = progress
        self._wanted = Wanted()
        self._lag = SyncLag(chain)
        self._imports = Imports(chain, progress, self._imported, self._charge_justification)
        self._links = LinkedHeaders(chain, asker, self._imports)
        self._bodies = Bodies(chain, asker, self._links, self._imports)
        self._catch_up = ClaimCatchUp(chain, asker, self._links, self._imports, self._lag)
        self._linking: dict[str, tuple[bytes, float]] = {}
        self._new: set[str] = set()
        self._stuck_since: float | None = None
        self._announcement = Wakeup()

    def _charge_justification(self, peer: str, reason: str) -> None:
        self._asker.fail(peer, PeerFailure.BAD_JUSTIFICATION, reason)

    def announced(self, peer: str, block: bytes, number: int, header: Header | None = None) -> None:
        """Handle a peer's announcement of a block; drop the peer if the block is known to be bad."""
        if self._imports.is_bad(block):
            self._asker.fail(peer, PeerFailure.BAD_BLOCK, f"it announced block #{number}, which is bad")
        elif number <= self._chain.finalized.number or self._chain.descends_from_finalized(block):
            return
        elif block in self._links:
            self._links.add_source(peer, block)
            self._bodies.wake()
        else:
            self._wanted.add(peer, AnnouncedBlock(block, number, header))
            self._new.add(peer)
            self._announcement.notify()

    def forget(self, peer: str) -> None:
        """Drop the announcements of a peer that has disconnected."""
        self._wanted.forget(peer)
        self._links.forget(peer)
        self._lag.forget(peer)
        self._new.discard(peer)

    async def run(self) -> None:
        """Follow the chain until cancelled, or until a newer state has to be downloaded."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._link_announced)
            nursery.start_soon(self._bodies.run)
            nursery.start_soon(self._catch_up.run)
            if self._lag_proof is not None:
                nursery.start_soon(self._prove_lag, self._lag_proof)
            while not (self._is_stuck() and self._lag.is_far):
                self._judge()
                await self._peer_set.wait_changed(ANNOUNCEMENT_POLL_S)
                await trio.sleep(MIN_JUDGEMENT_INTERVAL_S)
            nursery.cancel_scope.cancel()
        log.warning("No peer has block #%d any more, they are at #%d: a newer state will replace the "
                    "present one", self._chain.best.number + 1, self._lag.proven)  # fmt: skip
        self._stuck_since = None
        self._lag.imported()

    def _imported(self) -> None:
        """Continue the parts that wait for imported blocks."""
        self._lag.imported()
        self._bodies.wake()

    # --- announced blocks

    async def _link_announced(self) -> None:
        """Link announced blocks: one block of each peer at a time, all peers concurrently."""
        self._linking.clear()
        interval = Interval(ANNOUNCEMENT_POLL_S)
        async with trio.open_nursery() as nursery:
            while True:
                announcement = self._announcement.next
                if interval.has_elapsed():
                    self._wanted.prune(self._chain.finalized.number)
                    self._new.update(self._wanted.peers())
                peers, self._new = self._new, set()
                connected = (peer for peer in peers if peer in self._peer_set)
                for peer in sorted(connected, key=lambda peer: self._peer_set.record(peer).rank):
                    block = None if peer in self._linking else self._next_of(peer)
                    if block is not None:
                        self._linking[peer] = (block.hash, trio.current_time())
                        nursery.start_soon(self._link, peer, block)
                await interval.wait(announcement.wait)

    async def _link(self, peer: str, block: AnnouncedBlock) -> None:
        try:
            await self._links.link(peer, block)
        except Unlinked as error:
            log.debug("Block #%d of %s is not linked: %s", block.number, peer, error)
        finally:
            del self._linking[peer]
        self._wanted.remove_of(peer, block.hash)
        self._new.add(peer)
        self._announcement.notify()
        self._bodies.wake()

    def _next_of(self, peer: str) -> AnnouncedBlock | None:
        """Return the lowest near block of a peer; None without one.

        A block far ahead is a claim, which `catch_up.py` checks.
        """
        for block in list(self._wanted.of(peer)):
            if block.number >= self._chain.best.number + SYNCING_LAG:
                return None
            if self._chain.descends_from_finalized(block.hash):
                self._wanted.remove(block.hash)
            elif block.hash in self._links:
                self._links.add_source(peer, block.hash)
                self._wanted.remove_of(peer, block.hash)
            elif not self._is_linked_by_better(peer, block.hash):
                return block
        return None

    def _is_linked_by_better(self, peer: str, block: bytes) -> bool:
        """Return whether the block is being linked from a peer with no worse record that is not silent."""
        now, rank = trio.current_time(), self._peer_set.record(peer).rank[:1]
        return any(
            linked_block == block
            and now - began < SILENCE_BEFORE_NEXT_PEER_S
            and self._peer_set.record(source).rank[:1] <= rank
            for source, (linked_block, began) in self._linking.items()
        )

    # --- how far behind

    def _judge(self) -> None:
        """Decide whether the node is synced, by the proved blocks.

        Only at the start, before anything is proved, the claims of peers count, except discounted ones.
        """
        best = self._chain.best.number
        claims = self._peer_set.credible_claims(best)
        if self._lag.is_far:
            self._progress.target = self._lag.proven
            self._progress.enter(Phase.BLOCKS, self._awaited(self._lag.proven))
        elif self._progress.phase is Phase.DONE or (claims and lower_median(claims) < best + SYNCING_LAG):
            self._progress.enter(Phase.DONE, "")
        elif len(self._peer_set):
            self._progress.target = lower_median(claims) or self._peer_set.highest_claim
            self._progress.enter(Phase.BLOCKS, self._awaited(self._progress.target))
        else:
            self._progress.waiting_for = no_peers_reason(self._asker.network)

    def _awaited(self, last: int) -> str:
        """Return the blocks that the sync waits for, and why peers do not provide them."""
        missing = with_reasons(f"blocks #{self._chain.best.number + 1} to #{last}", self._lag.unhelpful)
        if self._lag_proof is not None or not self._lag.pruned_peers:
            return missing
        return f"{missing}. {HISTORY if self._chain.finalized.number else PRUNED}"

    def _is_stuck(self) -> bool:
        """Return whether no peer that claims to be ahead has had the next block for `NO_NEXT_BLOCK_S`."""
        if self._lag_proof is None or not self._lag.peers_without_next:
            self._stuck_since = None
            return False
        now = trio.current_time()
        self._stuck_since = now if self._stuck_since is None else self._stuck_since
        peers_ahead = self._peer_set.candidates(self._chain.best.number + SYNCING_LAG)
        pruned, record = self._lag.pruned_peers, self._peer_set.record
        has_next = any(peer not in pruned and not record(peer).claims_discounted for peer in peers_ahead)
        return not has_next and now - self._stuck_since >= NO_NEXT_BLOCK_S

    async def _prove_lag(self, lag_proof: NewestFinal) -> None:
        """Request a finality proof whenever no peer has the next block and headers prove too little."""
        while True:
            await trio.sleep(LAG_PROOF_INTERVAL_S)
            if self._is_stuck() and not self._lag.is_far:
                self._lag.add_proven(await lag_proof.newest_final())
