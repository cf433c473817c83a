"""Temporary bans of transactions that were invalid, dropped, or included."""

from __future__ import annotations

import trio

from cfnode.core.bounded import BoundedDict

__all__ = ["Bans"]

BAN_SECONDS = 30 * 60
MAX_BANS = 16_384


class Bans:
    """The hashes of banned transactions; beyond `MAX_BANS`, the oldest bans are lifted."""

    def __init__(self) -> None:
        self._until = BoundedDict[bytes, float](MAX_BANS)

    def __contains__(self, tx_hash: bytes) -> bool:
        """Return whether a ban of the transaction is in force now."""
        return self._until.get(tx_hash, 0.0) > trio.current_time()

    def add(self, tx_hash: bytes) -> None:
        """Refuse the transaction for half an hour from now."""
        self._until.put_last(tx_hash, trio.current_time() + BAN_SECONDS)

    def lift(self, tx_hash: bytes) -> None:
        """Accept the transaction again."""
        self._until.pop(tx_hash, None)

    def clear(self) -> None:
        """Lift all bans."""
        self._until.clear()

    def forget_old(self) -> None:
        """Free the memory of expired bans."""
        now = trio.current_time()
        while self._until and self._until[oldest := next(iter(self._until))] <= now:
            del self._until[oldest]
