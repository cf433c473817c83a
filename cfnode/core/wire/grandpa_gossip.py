"""What do GRANDPA's gossip messages say? Protocol `grandpa/1`; of the five kinds an observer needs two.

Substrate, GRANDPA gossip. Commits and neighbour packets are read; votes and catch-up messages are recognised
by their first byte and left alone.
"""

from __future__ import annotations

from cfnode.core.grandpa import COMMIT, NEIGHBOUR, CommitMessage, NeighbourPacket
from cfnode.core.wire.errors import WireError, reading

__all__ = ["MAX_COMMIT", "SUFFIX", "decode_gossip", "encode_commit"]

SUFFIX = "grandpa/1"

MAX_COMMIT = 256 << 10
"""Bytes of a commit: some 1,900 votes. No set has 950 authorities; the main net's has 150."""

_VOTE, _CATCH_UP_REQUEST, _CATCH_UP = 0, 3, 4
_LEFT_ALONE = frozenset({_VOTE, _CATCH_UP_REQUEST, _CATCH_UP})


def encode_commit(commit: CommitMessage) -> bytes:
    """The whole message."""
    return bytes((COMMIT,)) + commit.encode()


def decode_gossip(data: bytes) -> CommitMessage | NeighbourPacket | None:
    """The message in these bytes; None for one that an observer leaves alone. Raises WireError."""
    with reading("GRANDPA message"):
        kind = data[0] if data else None
        if kind == COMMIT:
            if len(data) > MAX_COMMIT:
                raise WireError(f"GRANDPA message: a commit of {len(data)} bytes, more than {MAX_COMMIT}")
            return CommitMessage.decode(data[1:])
        if kind == NEIGHBOUR:
            return NeighbourPacket.decode(data)
        if kind in _LEFT_ALONE:
            return None
    raise WireError(f"GRANDPA message: there is no kind {kind}")
