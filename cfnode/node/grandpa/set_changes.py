"""Requests for the justification of an authority change whose votes this node has missed.

No later block can become final before such a change, and peers send votes only to peers in their own set. So
the node asks for the justification of the change: at once from a peer whose neighbor packet proves that it is
past the change, and every few seconds from others in turn, since not all peers send packets. It goes from
change to change as fast as answers come: a node that missed many epochs catches up in seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, NeighborPacket
from cfnode.flow.wakeup import Wakeup
from cfnode.node.asking.asker import AllPeersFailed, Asker, PeerFailed
from cfnode.node.asking.block_requests import justifications_of
from cfnode.node.asking.interval import Interval
from cfnode.node.chain.chain import NodeChain

__all__ = ["SetChanges"]

log = logging.getLogger("cfnode.grandpa")

JUSTIFICATION_REQUEST_INTERVAL_S = 6.0
"""Seconds between two requests to peers that may be past the change."""

IN_TURN = 2
"""Peers that may be past the change, asked at a time."""

Finalize = Callable[[str, BlockRef, bytes], Awaitable[object]]
"""A function of (peer, block, its justification) that has the chain check it."""


class SetChanges:
    """The requests for justifications of changes.

    `neighbors`: the last neighbor packet of each peer, kept up to date by `Neighbors`.
    """

    def __init__(
        self, chain: NodeChain, asker: Asker,
        neighbors: Mapping[str, NeighborPacket], finalize: Finalize,
    ) -> None:  # fmt: skip
        self._chain = chain
        self._asker = asker
        self._peer_set = asker.peer_set
        self._neighbors = neighbors
        self._finalize = finalize
        self._turn = 0
        self._useless: set[tuple[str, bytes]] = set()
        self._news = Wakeup()

    def wake(self) -> None:
        """Check again which peers to ask, since finality has moved, here or at a peer."""
        self._news.notify()

    async def run(self) -> None:
        """Ask for missing justifications until cancelled."""
        interval = Interval(JUSTIFICATION_REQUEST_INTERVAL_S)
        while True:
            news = self._news.next
            has_elapsed = interval.has_elapsed()
            if has_elapsed:
                self._useless.clear()
            change = self._chain.next_set_change(self._chain.best.hash)
            if change is not None and self._past(change):
                await self._ask(change, lambda change=change: self._past(change))  # type: ignore[misc]
            elif has_elapsed:
                await self._ask_in_turn()
            else:
                await interval.wait(news.wait)

    def _past(self, change: BlockRef) -> list[str]:
        """Return the peers that claim to have finalized the change, the best first."""
        return [
            peer
            for peer in sorted(self._neighbors, key=lambda peer: self._peer_set.record(peer).rank)
            if self._neighbors[peer].finalized >= change.number and (peer, change.hash) not in self._useless
        ]

    async def _ask_in_turn(self) -> None:
        """Ask a few peers regardless of their packets, others the next time."""
        change = self._chain.next_set_change(self._chain.best.hash)
        peers = self._peer_set.candidates(change.number) if change is not None else []
        if change is not None and peers:
            self._turn += 1
            start = self._turn % len(peers)
            asked_peers = [*peers[start:], *peers[:start]][:IN_TURN]
            await self._ask(change, lambda: asked_peers)

    async def _ask(self, change: BlockRef, among: Callable[[], list[str]]) -> None:
        """Ask until the change is final, or no peer is left."""
        try:
            await self._asker.race(lambda peer: self._ask_one(peer, change), among)
        except AllPeersFailed as error:
            log.debug("No justification of #%d: %s", change.number, error)

    async def _ask_one(self, peer: str, change: BlockRef) -> None:
        """Ask one peer, which is not asked again at once. Raise PeerFailed if it does not help."""
        self._useless.add((peer, change.hash))
        question = replace(justifications_of(change.hash), may_lack=True)
        answer = await self._asker.ask_one(peer, question)
        for engine, encoded in answer.value:
            if engine == ENGINE:
                await self._finalize(peer, change, encoded)
        if self._chain.finalized.number < change.number:
            raise PeerFailed("it has no valid justification")
        self._asker.credit(answer)
