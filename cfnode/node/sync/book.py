"""Which peers are there, how far is each by its own word, and whom do we ask first?

Only words: a peer's best block is what it says in its handshake and its announcements. It decides whom to
ask, and nothing else. What a peer cannot lie about is how it helps: who was slow, or gave little of much, is
asked after the others from then on, so one that drips holds nobody up for as long as there is somebody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

__all__ = ["PATIENCE_S", "Known", "PeerBook"]

PATIENCE_S = 5.0
"""Seconds for an answer; who takes longer has a lapse."""


@dataclass(frozen=True, slots=True)
class Known:
    """A peer's best block, as it says."""

    number: int
    hash: bytes


class PeerBook:
    """The peers that one can sync from. It wakes those who wait for it to change."""

    def __init__(self) -> None:
        self._peers: dict[str, Known] = {}
        self._lapses: Counter[str] = Counter()
        self._changed = trio.Event()

    def __contains__(self, peer: str) -> bool:
        return peer in self._peers

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, peer: str) -> Known | None:
        """What the peer says; None when it is gone."""
        return self._peers.get(peer)

    def note(self, peer: str, number: int, block_hash: bytes) -> None:
        """A peer has said where it is."""
        self._peers[peer] = Known(number, block_hash)
        self._wake()

    def forget(self, peer: str) -> None:
        """A peer is gone."""
        self._lapses.pop(peer, None)
        if self._peers.pop(peer, None) is not None:
            self._wake()

    def lapse(self, peer: str) -> None:
        """The peer was slow, gave little or could not help: others are asked first."""
        if peer in self._peers:
            self._lapses[peer] += 1

    @contextmanager
    def timed(self, peer: str) -> Iterator[None]:
        """Ask the peer in the block: longer than `PATIENCE_S` is a lapse."""
        began = trio.current_time()
        try:
            yield
        finally:
            if trio.current_time() - began > PATIENCE_S:
                self.lapse(peer)

    def candidates(self, least: int = 0) -> list[str]:
        """Those at `least` or higher: who has lapsed least often, and of these the highest, first."""
        found = [peer for peer, known in self._peers.items() if known.number >= least]
        return sorted(found, key=lambda peer: (self._lapses[peer], -self._peers[peer].number))

    def outdone(self, peer: str, least: int = 0) -> bool:
        """Is there somebody at `least` or higher who has lapsed less often?"""
        return any(self._lapses[other] < self._lapses[peer] for other in self.candidates(least))

    @property
    def median(self) -> int:
        """The best number of the peer in the middle, 0 without peers: one liar does not move it far."""
        numbers = sorted(known.number for known in self._peers.values())
        return numbers[(len(numbers) - 1) // 2] if numbers else 0

    async def changed(self, seconds: float) -> None:
        """Wait for a change, at most so long."""
        with trio.move_on_after(seconds):
            await self._changed.wait()

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait until a condition over the book is met."""
        while not met():
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
