"""Which commits of peers are worth judging, and in which order is that found out?

By cost. A commit of another set, or for a block that is final, is left alone. One that no honest peer passes
on (`check_plausible`) costs its sender, before a header or a signature is looked at. One with a vote for a
block that is not here waits for that very block. Then its headers are read, and its signatures checked, in
threads.

One task judges; of each peer the newest commit waits for it, and one for a block. So what peers send takes
no more memory than a commit or two for each, and their rate decides nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from cfnode.core.grandpa import (
    CommitMessage,
    EncodedJustification,
    FinalityError,
    Justification,
    check_plausible,
)
from cfnode.core.header import Header
from cfnode.network.model import Network
from cfnode.node.chain import Chain
from cfnode.node.events import BlockRef
from cfnode.node.sync import repute
from cfnode.node.votes import UnknownVote, blocks_between
from cfnode.runtime.door import LocalFault
from cfnode.store import StateDiscarded, StoreError

__all__ = ["Commits"]

log = logging.getLogger("cfnode.grandpa")

Finalize = Callable[[str, BlockRef, EncodedJustification], Awaitable[None]]
"""(peer, block, its justification): have the chain check it."""


class Commits:
    """The commits that peers have sent and nobody has judged."""

    def __init__(self, network: Network, chain: Chain, finalize: Finalize) -> None:
        self._network = network
        self._chain = chain
        self._finalize = finalize
        self._queued: dict[str, CommitMessage] = {}
        self._waiting: dict[str, tuple[bytes, CommitMessage]] = {}
        self._woken = trio.Event()

    def received(self, peer: str, message: CommitMessage) -> None:
        """A peer has sent one; it takes the place of an older one of his that was not looked at."""
        self._queued[peer] = message
        self._woken.set()

    def arrived(self, block: bytes) -> None:
        """A block has come: those that wait for it are judged."""
        for peer in [peer for peer, (missing, _) in self._waiting.items() if missing == block]:
            self._queued.setdefault(peer, self._waiting.pop(peer)[1])
            self._woken.set()

    def forget(self, peer: str) -> None:
        """A peer is gone."""
        self._queued.pop(peer, None)
        self._waiting.pop(peer, None)

    async def run(self) -> None:
        """Judge until cancelled."""
        while True:
            await self._woken.wait()
            self._woken = trio.Event()
            while self._queued:
                peer = next(iter(self._queued))
                await self._judge(peer, self._queued.pop(peer))

    async def _judge(self, peer: str, message: CommitMessage) -> None:
        target = BlockRef(message.commit.target_hash, message.commit.target_number)
        try:
            voters = await self._chain.voters()
            if message.set_id != voters.set_id or target.number <= self._chain.finalized.number:
                return
            check_plausible(message, voters, self._chain.finalized.number)
            blocks = blocks_between(message, self._chain)
            headers = await trio.to_thread.run_sync(self._headers, blocks)
        except UnknownVote as unknown:
            self._waiting[peer] = unknown.block, message
        except FinalityError as error:
            self._network.report(peer, repute.BAD_GOSSIP, str(error))
        except (LocalFault, StateDiscarded, StoreError) as fault:
            log.warning("Votes for #%d are not judged: %s", target.number, fault)
        else:
            votes = Justification(message.round, message.commit, headers)
            await self._finalize(peer, target, EncodedJustification.of(votes))

    def _headers(self, blocks: list[bytes]) -> tuple[Header, ...]:
        headers = [self._chain.header(block) for block in blocks]
        return tuple(header for header in headers if header is not None)
