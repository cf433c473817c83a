"""Which announced blocks are still to be linked to our chain?

The table is kept by peer: each has a bounded number of entries, so that a peer can only crowd out what it
announced itself. Nothing is believed yet: an announced header is kept to spare a request, not because it is
true.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from cfnode.core.header import Header

__all__ = ["Announced", "Wanted"]

MAX_ANNOUNCED = 64
"""Announced blocks of one peer that wait to be linked; the oldest make way."""

MAX_ANNOUNCED_HEADER = 4_096
"""Bytes of an announced header that is kept; a longer one (it names new authorities) is asked for again."""


@dataclass(frozen=True, slots=True)
class Announced:
    """A block that a peer says it has, with its header where that was at hand."""

    hash: bytes
    number: int
    header: Header | None = None


class Wanted:
    """Announced blocks that are not linked yet, by peer."""

    def __init__(self) -> None:
        self._of: dict[str, OrderedDict[bytes, Announced]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def note(self, peer: str, block: Announced) -> None:
        """A peer has announced a block."""
        if block.header is not None and len(block.header.encode()) > MAX_ANNOUNCED_HEADER:
            block = Announced(block.hash, block.number)
        rows = self._of.setdefault(peer, OrderedDict())
        rows.setdefault(block.hash, block)
        while len(rows) > MAX_ANNOUNCED:
            rows.popitem(last=False)

    def forget(self, peer: str) -> None:
        """The peer is gone."""
        self._of.pop(peer, None)

    def remove(self, block: bytes) -> None:
        """The block is linked, or it will never be."""
        for peer in list(self._of):
            self.give_up(peer, block)

    def give_up(self, peer: str, block: bytes) -> None:
        """This peer cannot have the block linked."""
        rows = self._of.get(peer, OrderedDict())
        rows.pop(block, None)
        if not rows:
            self._of.pop(peer, None)

    def peers(self) -> list[str]:
        """Those that have announced something."""
        return list(self._of)

    def of(self, peer: str) -> Iterator[Announced]:
        """What the peer has announced, lowest first."""
        return iter(sorted(self._of.get(peer, {}).values(), key=lambda block: block.number))

    def announcers(self, block: bytes) -> list[str]:
        """The peers that have announced the block."""
        return [peer for peer, rows in self._of.items() if block in rows]

    def prune(self, finalized: int) -> None:
        """Drop what is final or has lost against finality."""
        for peer in list(self._of):
            for block in list(self._of.get(peer, {}).values()):
                if block.number <= finalized:
                    self.give_up(peer, block.hash)
