"""Peers that have proved useful, in this run and in earlier ones.

The sync reports each answer that it could verify. A peer with several such answers has slots that unknown
peers cannot take. The list is small, and peers that delivered least are removed from it. A file next to the
node key keeps it for the next start: a line with the format's name and version, then one line for each peer
with its id and its number of answers, the latest last. A file that cannot be read is ignored, with a log
line.
"""

from __future__ import annotations

import logging
from pathlib import Path

import trio

from cfnode.core.peer_id import PeerIdError, public_of
from cfnode.store import StoreError, atomic_file

__all__ = ["MAX_USEFUL", "MIN_DELIVERED", "USEFUL_PEERS_FILE", "UsefulPeers"]

log = logging.getLogger("cfnode.sub-libp2p")

USEFUL_PEERS_FILE = "useful-peers"
_HEAD = "cfnode useful peers 1"
MAX_USEFUL = 256
"""Peers in the list; a node has some dozens at a time."""
MIN_DELIVERED = 3
"""Verified answers that make a peer useful: a single one may be luck."""
MAX_DELIVERED = 1_000_000
MAX_USEFUL_PEERS_BYTES = 64 << 10
"""Bytes of the file: 256 peers take a third of it."""
USEFUL_PEERS_SAVE_S = 60.0
"""Seconds between checks whether the file has to be written."""


class UsefulPeers:
    """The list of useful peers. `path`: its file; None for no file."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._delivered: dict[str, int] = {}
        self._changed = False
        self._load()

    def __contains__(self, peer: object) -> bool:
        """Return whether the peer has given enough verified answers to be useful."""
        return isinstance(peer, str) and self._delivered.get(peer, 0) >= MIN_DELIVERED

    def note(self, peer: str) -> None:
        """Count a verified answer of the peer."""
        self._delivered[peer] = min(MAX_DELIVERED, self._delivered.pop(peer, 0) + 1)
        if len(self._delivered) > MAX_USEFUL:
            other_peers = (other for other in self._delivered if other != peer)
            del self._delivered[min(other_peers, key=self._delivered.__getitem__)]
        self._changed = True

    async def save_regularly(self) -> None:
        """Write the file after changes, until cancelled."""
        try:
            while True:
                await trio.sleep(USEFUL_PEERS_SAVE_S)
                await trio.to_thread.run_sync(self.save)
        finally:
            self.save()

    def _load(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            if self._path.stat().st_size > MAX_USEFUL_PEERS_BYTES:
                raise ValueError(f"it is larger than {MAX_USEFUL_PEERS_BYTES} bytes")
            self._delivered = _decode(self._path.read_text("ascii"))
        except (OSError, ValueError) as error:
            log.info("The list of useful peers %s is ignored: %s", self._path, error)

    def save(self) -> None:
        """Write the file if the list has changed. Blocks the calling thread."""
        if self._path is None or not self._changed:
            return
        self._changed = False
        lines = [_HEAD, *(f"{peer} {count}" for peer, count in list(self._delivered.items()))]
        try:
            atomic_file.replace(self._path, "\n".join([*lines, ""]).encode("ascii"))
        except StoreError as error:
            log.warning("The list of useful peers was not saved: %s", error)


def _decode(text: str) -> dict[str, int]:
    head, *lines = text.splitlines()[: MAX_USEFUL + 1] or [""]
    if head != _HEAD:
        raise ValueError(f"it begins with {head[:40]!r}, not with {_HEAD!r}")
    delivered: dict[str, int] = {}
    for line in lines:
        peer, _, count = line.partition(" ")
        try:
            public_of(peer)
            delivered[peer] = min(MAX_DELIVERED, max(0, int(count)))
        except (PeerIdError, ValueError):
            raise ValueError(f"it has the line {line[:80]!r}") from None
    return delivered
