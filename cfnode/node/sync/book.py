"""Which peers are there, and how far is each by its own word?

Only words: a peer's best block is what it says in its handshake and its announcements. It decides whom to
ask, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import trio

__all__ = ["Known", "PeerBook"]


@dataclass(frozen=True, slots=True)
class Known:
    """A peer's best block, as it says."""

    number: int
    hash: bytes


class PeerBook:
    """The peers that one can sync from. It wakes those who wait for it to change."""

    def __init__(self) -> None:
        self._peers: dict[str, Known] = {}
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
        if self._peers.pop(peer, None) is not None:
            self._wake()

    def by_height(self, least: int = 0) -> list[str]:
        """Those at `least` or higher, the highest first."""
        found = [(known.number, peer) for peer, known in self._peers.items() if known.number >= least]
        return [peer for _, peer in sorted(found, key=lambda pair: -pair[0])]

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
