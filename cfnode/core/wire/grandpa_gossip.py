"""Gossip messages of GRANDPA, five kinds: protocol `grandpa/1`.

Substrate, GRANDPA gossip.
"""

from __future__ import annotations

from collections.abc import Callable

from cfnode.core.grandpa import (
    CATCH_UP,
    CATCH_UP_REQUEST,
    COMMIT,
    NEIGHBOR,
    VOTE,
    CatchUp,
    CatchUpRequest,
    CommitMessage,
    NeighborPacket,
    Vote,
)
from cfnode.core.wire.errors import WireError, reading

__all__ = [
    "MAX_CATCH_UP_BYTES",
    "MAX_COMMIT",
    "SUFFIX",
    "GossipMessage",
    "decode_catch_up",
    "decode_commit",
    "decode_gossip",
    "encode_commit",
]

SUFFIX = "grandpa/1"

MAX_COMMIT = 256 << 10
"""Bytes of a commit: some 1,900 votes. No set has 950 authorities; the main net's has 150."""

MAX_CATCH_UP_BYTES = 2 * MAX_COMMIT
"""Bytes of a catch-up: prevotes and precommits."""

_LIMITS: dict[int | None, int] = {COMMIT: MAX_COMMIT, CATCH_UP: MAX_CATCH_UP_BYTES}

GossipMessage = CommitMessage | NeighborPacket | Vote | CatchUpRequest | CatchUp

_DECODERS: dict[int | None, Callable[[bytes], GossipMessage]] = {
    VOTE: Vote.decode,
    COMMIT: lambda data: CommitMessage.decode(data[1:]),
    NEIGHBOR: NeighborPacket.decode,
    CATCH_UP_REQUEST: CatchUpRequest.decode,
    CATCH_UP: CatchUp.decode,
}


def encode_commit(commit: CommitMessage) -> bytes:
    """Return the whole message of a commit, with its leading `COMMIT` byte."""
    return bytes((COMMIT,)) + commit.encode()


def decode_commit(data: bytes) -> CommitMessage:
    """Return the commit in these bytes. Raises WireError, also for a message of another kind."""
    message = decode_gossip(data)
    if not isinstance(message, CommitMessage):
        raise WireError(f"GRANDPA message: kind {data[0]} in place of a commit")
    return message


def decode_catch_up(data: bytes) -> CatchUp:
    """Return the catch-up in these bytes. Raises WireError, also for a message of another kind."""
    message = decode_gossip(data)
    if not isinstance(message, CatchUp):
        raise WireError(f"GRANDPA message: kind {data[0]} in place of a catch-up")
    return message


def decode_gossip(data: bytes) -> GossipMessage:
    """Return the message in these bytes. Raises WireError."""
    with reading("GRANDPA message"):
        kind = data[0] if data else None
        if len(data) > _LIMITS.get(kind, len(data)):
            label = "commit" if kind == COMMIT else "catch-up"
            raise WireError(f"GRANDPA message: a {label} of {len(data)} bytes, more than {_LIMITS[kind]}")
        decode = _DECODERS.get(kind)
        if decode is not None:
            return decode(data)
    raise WireError(f"GRANDPA message: unknown kind {kind}")
