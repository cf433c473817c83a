"""How does a node in possession of a state keep up with the chain?

Announcements and handshakes say which blocks peers have. Four tasks work on them, and none waits for another:

- near blocks are linked to our tree by their headers (`linking.py`), those of each peer by themselves;
- the bodies of what is linked are fetched and imported in order (`bodies.py`);
- claims to be far ahead are followed up (`catch_up.py`);
- the node judges how far behind it is, by what has been proved (`behind.py`).

Where it is proved that the node is far behind, and for a while all who prove it do not have the next block
any more, following is over: the node has to begin anew with a state (`download.py`).
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.header import Header
from cfnode.node.chain import Chain
from cfnode.node.sync.asker import HEDGE_S, Asker
from cfnode.node.sync.behind import BEHIND, Behind
from cfnode.node.sync.bodies import Bodies
from cfnode.node.sync.catch_up import CatchUp
from cfnode.node.sync.imports import Imports
from cfnode.node.sync.interval import Interval
from cfnode.node.sync.linking import Links, Unlinked
from cfnode.node.sync.peer_set import middle
from cfnode.node.sync.progress import Phase, Progress, alone, with_reasons
from cfnode.node.sync.reputation import Failure
from cfnode.node.sync.wanted import Announced, Wanted

__all__ = ["Follower"]

log = logging.getLogger("cfnode.sync")

LOST_S = 30.0
"""Seconds in which no peer has the next block, until it is given up."""

LOOK_S = 1.0
"""Seconds between two looks at everything; what is new is looked at right away."""

JUDGE_S = 0.05
"""Seconds between two judgements, however many announcements come."""

PRUNED = (
    "With --sync=full every block is executed from the first one on: it takes a peer with "
    "--blocks-pruning=archive. --sync=warp begins with a proven state instead"
)
HISTORY = (
    "The blocks that are here are kept: `cfnode purge-chain` and --sync=warp let the node begin with a newer "
    "state instead"
)


class Follower:
    """Imports what peers announce. `run` it once the chain has a state.

    `may_give_up`: what is here may make place for a newer state, where nobody has the blocks in between.
    """

    def __init__(self, chain: Chain, asker: Asker, progress: Progress, *, may_give_up: bool) -> None:
        self._asker = asker
        self._book = asker.book
        self._may_give_up = may_give_up
        self._chain = chain
        self._progress = progress
        self._wanted = Wanted()
        self._behind = Behind(chain)
        self._imports = Imports(chain, progress, self._moved, self._refuted)
        self._links = Links(chain, asker, self._imports)
        self._bodies = Bodies(chain, asker, self._links, self._imports)
        self._catch_up = CatchUp(chain, asker, self._links, self._imports, self._behind)
        self._linking: dict[str, tuple[bytes, float]] = {}
        self._new: set[str] = set()
        self._lost_since: float | None = None
        self._woken = trio.Event()

    def _refuted(self, peer: str, reason: str) -> None:
        self._asker.fail(peer, Failure.BAD_JUSTIFICATION, reason)

    def announced(self, peer: str, block: bytes, number: int, header: Header | None = None) -> None:
        """A peer has a block. One that is known to be bad costs it its place."""
        if self._imports.is_bad(block):
            self._asker.fail(peer, Failure.BAD_BLOCK, f"it announced block #{number}, which is bad")
        elif number <= self._chain.finalized.number or self._chain.descends_from_finalized(block):
            return
        elif block in self._links:
            self._links.has(peer, block)
            self._bodies.wake()
        else:
            self._wanted.note(peer, Announced(block, number, header))
            self._new.add(peer)
            self._woken.set()

    def forget(self, peer: str) -> None:
        """A peer is gone, and its announcements with it."""
        self._wanted.forget(peer)
        self._links.forget(peer)
        self._behind.forget(peer)
        self._new.discard(peer)

    async def run(self) -> None:
        """Until cancelled, or until it has to be given up."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._link_announced)
            nursery.start_soon(self._bodies.run)
            nursery.start_soon(self._catch_up.run)
            while not self._is_lost():
                self._judge()
                await self._book.changed(LOOK_S)
                await trio.sleep(JUDGE_S)
            nursery.cancel_scope.cancel()
        log.warning("No peer has block #%d any more, they are at #%d: a newer state takes the place of the "
                    "present one", self._chain.best.number + 1, self._behind.proven)  # fmt: skip
        self._lost_since = None
        self._behind.moved()

    def _moved(self) -> None:
        """Blocks have been imported."""
        self._behind.moved()
        self._bodies.wake()

    # --- announced blocks

    async def _link_announced(self) -> None:
        """Link what has been announced; one block of a peer at a time, all peers at once."""
        self._linking.clear()
        interval = Interval(LOOK_S)
        async with trio.open_nursery() as nursery:
            while True:
                self._woken = trio.Event()
                if interval.is_over():
                    self._wanted.prune(self._chain.finalized.number)
                    self._new.update(self._wanted.peers())
                peers, self._new = self._new, set()
                here = (peer for peer in peers if peer in self._book)
                for peer in sorted(here, key=lambda peer: self._book.record(peer).rank):
                    block = None if peer in self._linking else self._next_of(peer)
                    if block is not None:
                        self._linking[peer] = (block.hash, trio.current_time())
                        nursery.start_soon(self._link, peer, block)
                await interval.rest(self._woken.wait)

    async def _link(self, peer: str, block: Announced) -> None:
        try:
            await self._links.link(peer, block)
        except Unlinked as error:
            log.debug("Block #%d of %s is not linked: %s", block.number, peer, error)
        finally:
            del self._linking[peer]
        self._wanted.give_up(peer, block.hash)
        self._new.add(peer)
        self._woken.set()
        self._bodies.wake()

    def _next_of(self, peer: str) -> Announced | None:
        """The lowest near block of a peer; what is far ahead is a claim, and followed up as such."""
        for block in list(self._wanted.of(peer)):
            if block.number >= self._chain.best.number + BEHIND:
                return None
            if self._chain.descends_from_finalized(block.hash):
                self._wanted.remove(block.hash)
            elif block.hash in self._links:
                self._links.has(peer, block.hash)
                self._wanted.give_up(peer, block.hash)
            elif not self._is_linked_by_better(peer, block.hash):
                return block
        return None

    def _is_linked_by_better(self, peer: str, block: bytes) -> bool:
        """Is somebody with no worse a record at it, and not silent?"""
        now, rank = trio.current_time(), self._book.record(peer).rank[:1]
        return any(
            other == block and now - began < HEDGE_S and self._book.record(by).rank[:1] <= rank
            for by, (other, began) in self._linking.items()
        )

    # --- how far behind

    def _judge(self) -> None:
        """Is the node in step with its peers? What has been proved decides; only at the start, when nothing
        has been, the claims of peers count for as long as they have not been found wanting."""
        best = self._chain.best.number
        claims = self._book.witnesses(best)
        if self._behind.far:
            self._progress.target = self._behind.proven
            self._progress.enter(Phase.BLOCKS, self._awaited(self._behind.proven))
        elif self._progress.phase is Phase.DONE or (claims and middle(claims) < best + BEHIND):
            self._progress.enter(Phase.DONE, "")
        elif len(self._book):
            self._progress.target = middle(claims) or self._book.highest
            self._progress.enter(Phase.BLOCKS, self._awaited(self._progress.target))
        else:
            self._progress.waiting_for = alone(self._asker.network)

    def _awaited(self, last: int) -> str:
        """The blocks that are waited for, and why they do not come."""
        missing = with_reasons(f"blocks #{self._chain.best.number + 1} to #{last}", self._behind.unhelpful)
        if self._may_give_up or not self._behind.without:
            return missing
        return f"{missing}. {HISTORY if self._chain.finalized.number else PRUNED}"

    def _is_lost(self) -> bool:
        """Have all who prove to be ahead been without the next block for long?"""
        without = self._behind.without
        if not (self._may_give_up and self._behind.far and without):
            self._lost_since = None
            return False
        now = trio.current_time()
        self._lost_since = now if self._lost_since is None else self._lost_since
        ahead = self._book.candidates(self._chain.best.number + BEHIND)
        others = any(peer not in without and not self._book.record(peer).doubted for peer in ahead)
        return not others and now - self._lost_since >= LOST_S
