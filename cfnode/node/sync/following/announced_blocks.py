"""Announced blocks that are not yet linked to our chain, by peer.

A bounded number of announcements is kept of each peer, so that a peer can only displace its own. They are
not verified yet: an announced header is kept to save a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cfnode.core.bounded import BoundedDict
from cfnode.core.header import Header

__all__ = ["AnnouncedBlock", "Wanted"]

MAX_ANNOUNCED_PER_PEER = 64
"""Announced blocks of one peer that wait to be linked; the oldest are dropped."""

MAX_ANNOUNCED_HEADER = 4_096
"""Bytes of an announced header that is kept; a longer one (it names new authorities) is requested again."""


@dataclass(frozen=True, slots=True)
class AnnouncedBlock:
    """A block that a peer announced; with its header, unless a handshake named it or it is too long."""

    hash: bytes
    number: int
    header: Header | None = None


class Wanted:
    """Announced blocks that are not linked yet, by peer."""

    def __init__(self) -> None:
        self._of: dict[str, BoundedDict[bytes, AnnouncedBlock]] = {}

    def __len__(self) -> int:
        """Return the number of blocks over all peers; two peers' announcements of one block count twice."""
        return sum(map(len, self._of.values()))

    def add(self, peer: str, block: AnnouncedBlock) -> None:
        """Add a block that a peer has announced."""
        if block.header is not None and len(block.header.encode()) > MAX_ANNOUNCED_HEADER:
            block = AnnouncedBlock(block.hash, block.number)
        announced = self._of.setdefault(peer, BoundedDict(MAX_ANNOUNCED_PER_PEER))
        announced.setdefault(block.hash, block)

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        self._of.pop(peer, None)

    def remove(self, block: bytes) -> None:
        """Drop the block of all peers, since it is linked, or never will be."""
        for peer in list(self._of):
            self.remove_of(peer, block)

    def remove_of(self, peer: str, block: bytes) -> None:
        """Drop one peer's announcement of the block."""
        announced = self._of.get(peer)
        if announced is not None:
            announced.pop(block, None)
            if not announced:
                del self._of[peer]

    def peers(self) -> list[str]:
        """Return the peers with announced blocks that are not linked."""
        return list(self._of)

    def of(self, peer: str) -> Iterator[AnnouncedBlock]:
        """Return the blocks that a peer has announced, lowest first."""
        return iter(sorted(self._of.get(peer, {}).values(), key=lambda block: block.number))

    def announcers(self, block: bytes) -> list[str]:
        """Return the peers that have announced the block."""
        return [peer for peer, announced in self._of.items() if block in announced]

    def prune(self, finalized: int) -> None:
        """Drop blocks that are final or conflict with finality."""
        for peer in list(self._of):
            for block in list(self._of.get(peer, {}).values()):
                if block.number <= finalized:
                    self.remove_of(peer, block.hash)
