"""Which transactions are refused for a while? Those found invalid, dropped, or included already."""

from __future__ import annotations

import trio

__all__ = ["Bans"]

BAN_SECONDS = 30 * 60
MAX_BANS = 16_384


class Bans:
    """The hashes of transactions; of more than `MAX_BANS`, those banned first are let in again."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def __contains__(self, tx_hash: bytes) -> bool:
        return self._until.get(tx_hash, 0.0) > trio.current_time()

    def add(self, tx_hash: bytes) -> None:
        """Refuse it for half an hour from now."""
        self._until.pop(tx_hash, None)
        self._until[tx_hash] = trio.current_time() + BAN_SECONDS
        while len(self._until) > MAX_BANS:
            del self._until[next(iter(self._until))]

    def lift(self, tx_hash: bytes) -> None:
        """Let it in again."""
        self._until.pop(tx_hash, None)

    def clear(self) -> None:
        """Let all in again."""
        self._until.clear()

    def forget_old(self) -> None:
        """Free the memory of those that are over."""
        now = trio.current_time()
        while self._until and self._until[oldest := next(iter(self._until))] <= now:
            del self._until[oldest]
