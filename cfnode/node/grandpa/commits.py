"""Verification of the commits of peers, cheapest checks first.

A commit of another set, or for a final block, is ignored. A commit that no honest peer relays
(`check_plausible`) is charged to its sender before any header is read or signature checked. A commit with a
vote for a missing block waits for that block. Then the headers are read and the signatures checked, in
threads.

A commit that this node has assembled from the votes of a round (`rounds.py`) takes the same path; if it is
invalid, no peer is charged: with more votes there will be another.

One task decodes and verifies. It keeps the newest commit of each peer, as bytes, and one that waits for a
block: what peers send takes no more memory than that. Each peer has ten turns a second at most, which is
enough for any chain, and after a useless commit one in two seconds: a higher rate gains a peer nothing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import (
    CommitMessage,
    EncodedJustification,
    FinalityError,
    Justification,
    check_plausible,
)
from cfnode.core.header import Header
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import decode_commit
from cfnode.flow.wakeup import Wakeup
from cfnode.network.interface import PeerNetwork
from cfnode.node.asking import reputation
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.justifications import UnknownVote, blocks_between
from cfnode.node.threads import check_in_thread
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded, StoreError

__all__ = ["Commits"]

log = logging.getLogger("cfnode.grandpa")

COMMIT_TURN_S = 0.1
"""Seconds between two commits of one peer: no chain has final blocks more often for long."""

TURN_AFTER_USELESS_COMMIT_S = 2.0
"""Seconds until the next commit of a peer after one that proves nothing: decoding it took a millisecond."""

Sender = str | None
"""The peer that has sent a commit; None for one that this node assembled from checked votes."""

Finalize = Callable[[Sender, BlockRef, EncodedJustification], Awaitable[bool]]
"""A function of (sender, block, its justification) that has the chain verify it; it returns False for invalid
votes."""


class Commits:
    """The commits that peers have sent and that are not verified yet."""

    def __init__(self, network: PeerNetwork, chain: NodeChain, finalize: Finalize) -> None:
        self._network = network
        self._chain = chain
        self._finalize = finalize
        self._queued: dict[Sender, bytes | CommitMessage] = {}
        self._next_turn: dict[Sender, float] = {}
        self._waiting: dict[Sender, tuple[bytes, CommitMessage]] = {}
        self._arrival = Wakeup()

    def received(self, peer: str, data: bytes) -> None:
        """Queue a commit of a peer, in place of an older one of that peer."""
        self._queued[peer] = data
        self._arrival.notify()

    def add_own(self, message: CommitMessage) -> None:
        """Queue a commit that this node assembled from single votes."""
        self._queued[None] = message
        self._arrival.notify()

    def block_imported(self, block: bytes) -> None:
        """Queue the commits that wait for a block, which has been imported."""
        for peer in [peer for peer, (missing, _) in self._waiting.items() if missing == block]:
            self._queued.setdefault(peer, self._waiting.pop(peer)[1])
            self._arrival.notify()

    def forget(self, peer: str) -> None:
        """Drop the commits of a peer that has disconnected."""
        self._queued.pop(peer, None)
        self._waiting.pop(peer, None)
        self._next_turn.pop(peer, None)

    async def run(self) -> None:
        """Verify queued commits until cancelled."""
        while True:
            arrival = self._arrival.next
            turn = min(map(self._turn_of, self._queued), default=math.inf)
            if turn > trio.current_time():
                with trio.move_on_at(turn):
                    await arrival.wait()
                continue
            sender = min(self._queued, key=self._turn_of)
            if sender is not None:
                self._next_turn[sender] = trio.current_time() + COMMIT_TURN_S
            await self._take(sender, self._queued.pop(sender))

    def _turn_of(self, sender: Sender) -> float:
        return self._next_turn.get(sender, 0.0)

    async def _take(self, peer: Sender, message: bytes | CommitMessage) -> None:
        if isinstance(message, bytes):
            try:
                message = await check_in_thread(decode_commit, message)
            except WireError as error:
                self._useless(peer, reputation.BAD_MESSAGE, str(error))
                return
        await self._judge(peer, message)

    def _useless(self, peer: Sender, change: int, reason: str) -> None:
        self._slow_down(peer)
        if peer is not None:
            self._network.report(peer, change, reason)

    def _slow_down(self, peer: Sender) -> None:
        if peer in self._next_turn:
            self._next_turn[peer] = trio.current_time() + TURN_AFTER_USELESS_COMMIT_S

    async def _judge(self, peer: Sender, message: CommitMessage) -> None:
        target = BlockRef(message.commit.target_hash, message.commit.target_number)
        try:
            voters = await self._chain.voters()
            if message.set_id != voters.set_id or target.number <= self._chain.finalized.number:
                return
            check_plausible(message, voters, self._chain.finalized.number)
            blocks = blocks_between(message, self._chain)
            headers = await trio.to_thread.run_sync(self._headers, blocks)
        except UnknownVote as unknown:
            if peer is None or peer in self._next_turn:  # else it has disconnected meanwhile
                self._waiting[peer] = unknown.block, message
        except FinalityError as error:
            self._useless(peer, reputation.BAD_GOSSIP, str(error))
        except (LocalFault, StateDiscarded, StoreError) as fault:
            log.warning("Votes for #%d could not be verified: %s", target.number, fault)
        else:
            votes = Justification(message.round, message.commit, headers)
            if not await self._finalize(peer, target, EncodedJustification.of(votes)):
                self._slow_down(peer)

    def _headers(self, blocks: list[bytes]) -> tuple[Header, ...]:
        headers = [self._chain.header(block) for block in blocks]
        return tuple(header for header in headers if header is not None)
