"""Finality ahead of the import: the justified blocks of a peer's chain while the node catches up.

Nodes keep the justification of one block in 512, and of each change of the authorities. A node that waited
for it would hold the states of hundreds of unfinalized blocks, most of them in the database, and read through
all of them. So the headers up to the next justified block are fetched while the first bodies are imported.
The chain verifies the headers and the votes, and then finalizes each of these blocks at its import.

Near the head of the chain there is no justified block: the last blocks wait for votes from the gossip.
"""

from __future__ import annotations

import logging
from collections import deque

from cfnode.core.grandpa import ENGINE
from cfnode.core.header import Header
from cfnode.core.wire.blocks import MAX_BLOCKS_PER_ANSWER
from cfnode.node.asking.asker import Asker, PeerFailed
from cfnode.node.asking.block_requests import FetchedHeader, justified_above
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import BadJustification, FinalityRefused
from cfnode.node.chain.events import BlocksFinalized
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded

__all__ = ["FinalAhead"]

log = logging.getLogger("cfnode.sync")

MAX_PATH = 1_024
"""Headers up to a justified block: twice the period in which nodes keep one."""


class FinalAhead:
    """The search for justified blocks of a peer's chain; the chain then expects the headers up to them."""

    def __init__(self, chain: NodeChain, asker: Asker) -> None:
        self._chain = chain
        self._asker = asker

    async def run(self, peer: str, number: int) -> None:
        """Look ahead from block `number` of a peer's best chain, while there is a further justified block."""
        fetched: deque[FetchedHeader] = deque()
        try:
            while True:
                path, justification = await self._path(peer, number, fetched)
                if justification is None:
                    return
                await self._chain.expect(path, justification)
                number = path[-1].number + 1
                await self._until_final(path[-1].number)
        except BadJustification as error:
            self._asker.fail(peer, PeerFailure.BAD_JUSTIFICATION, str(error))
        except (PeerFailed, FinalityRefused, LocalFault, StateDiscarded) as error:
            log.debug("No finality ahead of block #%d: %s", number, error)

    async def _path(
        self, peer: str, number: int, fetched: deque[FetchedHeader]
    ) -> tuple[list[Header], bytes | None]:
        """Return the headers from a number up to the first justified one, and its justification.

        The justification is None without a justified one. `fetched`: headers that the peer has sent beyond
        the last path. Raise PeerFailed.
        """
        path: list[Header] = []
        while len(path) < MAX_PATH:
            if not fetched:
                question = justified_above(number + len(path), MAX_BLOCKS_PER_ANSWER)
                fetched.extend((await self._asker.ask_one(peer, question)).value)
            if not fetched:
                break
            fetched_header = fetched.popleft()
            path.append(fetched_header.header)
            if (justification := dict(fetched_header.justifications).get(ENGINE)) is not None:
                return path, justification
        return path, None

    async def _until_final(self, number: int) -> None:
        with self._chain.subscribe(only=BlocksFinalized) as events:
            while self._chain.finalized.number < number and await anext(events, None) is not None:
                pass
