"""How does a node in possession of a state keep up with the chain?

Announcements and handshakes say which blocks peers have. One task imports, one block at a time:

- a new block whose parent we have is fetched from a peer that announced it;
- one whose parent we do not have is fetched with its ancestors, downwards until they meet our tree, on any
  fork above the finalized block;
- far behind, ranges are fetched upwards along a peer's best chain, the next one while this one is imported.

Where for a while all who are ahead say that they do not have the next block any more, following is over: the
node has to begin anew with a state (`download.py`).

How blocks come into the chain stands in `imports.py`; a peer whose block is bad is dropped.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

import trio

from cfnode.core.wire import WireError
from cfnode.network.model import Network, RequestFailed
from cfnode.node.chain import Chain
from cfnode.node.sync import repute
from cfnode.node.sync.blocks import FetchedBlock, fetch_above, fetch_up_to
from cfnode.node.sync.book import PeerBook
from cfnode.node.sync.imports import BadBlock, Imports
from cfnode.node.sync.progress import Phase, Progress, alone, told

__all__ = ["Follower"]

log = logging.getLogger("cfnode.sync")

MOST_WANTED = 256
"""Announced blocks that wait to be fetched."""

MOST_SOURCES = 8
"""Peers remembered for one announced block: where one does not give it, the next is asked."""

RANGE = 64
"""Blocks of one request when catching up."""

FEW = 8
"""Who gives fewer blocks of a range, and says that it has all of them, is asked after others."""

BEHIND = 5
"""Blocks behind the median of the peers from which on the node is syncing, as in Substrate."""

LOST_S = 30.0
"""Seconds in which nobody has the next block, until it is given up."""

DEEPEST = 4_096
"""Ancestors of an announced block fetched at most, looking for one that we have."""


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

    def __init__(
        self, network: Network, chain: Chain, book: PeerBook, progress: Progress, *, may_give_up: bool
    ) -> None:
        self._network = network
        self._may_give_up = may_give_up
        self._chain = chain
        self._book = book
        self._progress = progress
        self._wanted: OrderedDict[bytes, tuple[int, list[str]]] = OrderedDict()
        self._imports = Imports(chain, progress)
        self._stuck: set[tuple[str, int]] = set()
        self._unhelpful: dict[str, str] = {}
        self._empty: set[str] = set()
        self._lost_since: float | None = None
        self._woken = trio.Event()

    def announced(self, peer: str, block: bytes, number: int) -> None:
        """A peer has a block. One that is known to be bad costs it its place."""
        if self._imports.is_bad(block):
            self._drop(peer, f"it announced block #{number}, which is bad")
        elif number > self._chain.finalized.number and not self._chain.can_win(block):
            _, sources = self._wanted.setdefault(block, (number, []))
            if peer not in sources and len(sources) < MOST_SOURCES:
                sources.append(peer)
            while len(self._wanted) > MOST_WANTED:
                self._wanted.popitem(last=False)
            self._wake()

    async def run(self) -> None:
        """Until cancelled, or until it has to be given up."""
        while not self._is_lost():
            woken = self._woken
            await self._catch_up()
            while (block := self._next_wanted()) is not None:
                await self._fetch_from_any(block)
            self._judge()
            with trio.move_on_after(5):
                await woken.wait()
        log.warning("No peer has block #%d any more, they are at #%d: a newer state takes the place of the "
                    "present one", self._chain.best.number + 1, self._book.median)  # fmt: skip
        self._lost_since = None

    def _wake(self) -> None:
        self._woken.set()
        self._woken = trio.Event()

    def _far_behind(self) -> bool:
        return self._book.median >= self._chain.best.number + BEHIND

    def _is_lost(self) -> bool:
        """Have all who are ahead been without the next block for long?"""
        ahead = self._book.candidates(self._chain.best.number + BEHIND)
        self._empty.intersection_update(ahead)
        now = trio.current_time()
        if not (self._may_give_up and self._far_behind() and self._empty.issuperset(ahead)):
            self._lost_since = None
            return False
        self._lost_since = now if self._lost_since is None else self._lost_since
        return now - self._lost_since >= LOST_S

    def _judge(self) -> None:
        """Is the node in step with its peers?"""
        if self._far_behind():
            self._progress.target = self._book.median
            self._progress.enter(Phase.BLOCKS, self._awaited())
        elif len(self._book) or self._progress.phase is Phase.DONE:
            self._progress.enter(Phase.DONE, "")
        else:
            self._progress.waiting_for = alone(self._network)

    def _awaited(self) -> str:
        """The blocks that are waited for, and why they do not come."""
        first = self._chain.best.number + 1
        missing = told(f"blocks #{first} to #{self._book.median}", self._unhelpful)
        if self._may_give_up or not self._empty:
            return missing
        return f"{missing}. {HISTORY if self._chain.finalized.number else PRUNED}"

    # --- ranges

    async def _catch_up(self) -> None:
        """Upwards along the best chain of one peer after the other, while we are far behind."""
        while self._far_behind():
            self._judge()
            here = self._chain.best.number
            peers = self._book.candidates(here + BEHIND)
            peer = next((peer for peer in peers if (peer, here) not in self._stuck), None)
            if peer is None:
                self._stuck.clear()
                return
            self._stuck.add((peer, here))
            await self._catch_up_with(peer)

    async def _catch_up_with(self, peer: str) -> None:
        """Import a peer's best chain from our best block on; from our final one where it is on a fork."""
        for start in (self._chain.best.number + 1, self._chain.finalized.number + 1):
            blocks = await self._range(peer, start)
            if blocks and self._chain.can_win(blocks[0].header.parent_hash):
                break
        while blocks and peer in self._book:
            following: list[list[FetchedBlock]] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._prefetch, peer, blocks[-1].header.number + 1, following)
                if not await self._import(peer, blocks):
                    nursery.cancel_scope.cancel()
                    return
            blocks = following[0] if following else []
            if blocks and self._book.outdone(peer, blocks[0].header.number + BEHIND):
                return  # somebody else gives more at a time

    async def _prefetch(self, peer: str, number: int, into: list[list[FetchedBlock]]) -> None:
        into.append(await self._range(peer, number))

    async def _range(self, peer: str, number: int) -> list[FetchedBlock]:
        known = self._book.get(peer)
        if known is None or known.number < number:
            return []
        self._unhelpful.pop(peer, None)
        try:
            with self._book.timed(peer):
                found = await fetch_above(self._network, peer, number, RANGE)
            if not found:
                self._unhelpful[peer] = f"it does not have #{number} any more"
                self._empty.add(peer)
            if len(found) < FEW and known.number >= number + RANGE:
                self._book.lapse(peer)
            return found
        except RequestFailed as error:
            self._unhelpful[peer] = str(error)
            repute.refused(self._network, self._book, peer, error)
        except WireError as error:
            self._drop(peer, str(error))
        return []

    # --- single blocks and forks

    def _next_wanted(self) -> bytes | None:
        """While we are far behind, by the words of peers, only what is near: their words may be lies."""
        most = self._chain.best.number + BEHIND
        far = self._far_behind()
        return next((block for block, (number, _) in self._wanted.items() if not far or number <= most), None)

    async def _fetch_from_any(self, block: bytes) -> None:
        """The block from the first that gives it of those who announced it, also meanwhile."""
        number, sources = self._wanted[block]
        asked = 0
        while asked < len(sources) and not self._chain.can_win(block) and not self._imports.is_bad(block):
            asked += 1
            await self._fetch_one(sources[asked - 1], block, number)
        self._wanted.pop(block, None)

    async def _fetch_one(self, peer: str, block: bytes, number: int) -> None:
        """A block and those ancestors that we lack, downwards from it."""
        rows: list[list[FetchedBlock]] = []
        first = number
        try:
            while not self._chain.can_win(block):
                if first <= self._chain.finalized.number or number - first >= DEEPEST:
                    log.debug("Block #%d of %s is on a fork below the finalized block", number, peer)
                    return
                below = self._chain.finalized if rows else self._chain.best
                most = max(1, first - below.number)
                rows.append(await fetch_up_to(self._network, peer, block, most))
                block, first = rows[-1][0].header.parent_hash, rows[-1][0].header.number - 1
        except RequestFailed as error:
            log.debug("Block #%d did not come from %s: %s", number, peer, error)
            return
        except WireError as error:
            self._drop(peer, str(error))
            return
        for row in reversed(rows):
            if not await self._import(peer, row):
                return

    # --- import

    async def _import(self, peer: str, blocks: Sequence[FetchedBlock]) -> bool:
        """Have the chain take blocks of a peer, oldest first; False where it does not take all."""
        before = self._progress.steps
        try:
            return await self._imports.take(peer, blocks)
        except BadBlock as error:
            self._drop(peer, str(error))
            return False
        finally:
            if self._progress.steps > before:
                self._empty.clear()

    def _drop(self, peer: str, reason: str) -> None:
        repute.drop(self._network, self._book, peer, repute.BAD_BLOCK, reason)
        self._unhelpful.pop(peer, None)
