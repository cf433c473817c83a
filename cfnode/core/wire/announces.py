"""Block announcements and their handshake: protocol `block-announces/1`.

Substrate, network sync. The handshake has exactly 69 bytes: the node's roles, its best block and the genesis
hash. An announcement carries the header of a new block; the fields after the header may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from cfnode.core.header import MAX_HEADER, Header
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.wire.errors import WireError, reading

__all__ = ["MAX_ANNOUNCEMENT", "SUFFIX", "AnnounceHandshake", "BlockAnnounce", "Roles"]

SUFFIX = "block-announces/1"

MAX_ANNOUNCEMENT = MAX_HEADER + 1024
"""Bytes of an announcement: a header, a byte, and data, which State Chain nodes leave empty."""


class Roles(IntFlag):
    """The roles of a node in the network."""

    FULL = 1
    LIGHT = 2
    AUTHORITY = 4


@dataclass(frozen=True, slots=True)
class AnnounceHandshake:
    """The handshake of block announcements: roles, best block, and genesis hash, which has to be ours."""

    roles: Roles
    best_number: int
    best_hash: bytes
    genesis_hash: bytes

    def encode(self) -> bytes:
        """Return the SCALE of roles, best block and genesis hash."""
        number = self.best_number.to_bytes(4, "little")
        return bytes((self.roles,)) + number + self.best_hash + self.genesis_hash

    @classmethod
    def decode(cls, data: bytes) -> AnnounceHandshake:
        """Return the handshake in these bytes; raise WireError."""
        with reading("block announces handshake"):
            cursor = ByteCursor(data)
            roles = cursor.u8()
            if not roles or roles & ~0b111:
                raise WireError(f"block announces handshake: unknown roles 0b{roles:b}")
            handshake = cls(Roles(roles), cursor.u32(), cursor.take(32), cursor.take(32))
            cursor.finish()
            return handshake


@dataclass(frozen=True, slots=True)
class BlockAnnounce:
    """The header of a block that the peer has imported; `best`: it is the head of the peer's best chain."""

    header: Header
    best: bool = True

    def encode(self) -> bytes:
        """Return the SCALE of header, whether the block is best, and no data."""
        return self.header.encode() + bytes((self.best,)) + encode_compact(0)

    @classmethod
    def decode(cls, data: bytes) -> BlockAnnounce:
        """Return the announcement in these bytes; raise WireError."""
        with reading("block announcement"):
            if len(data) > MAX_ANNOUNCEMENT:
                raise WireError(f"block announcement: {len(data)} bytes, {MAX_ANNOUNCEMENT} are allowed")
            cursor = ByteCursor(data)
            header = Header.read(cursor)
            is_best = cursor.boolean() if cursor.remaining else False
            if cursor.remaining:
                cursor.bytes()
            cursor.finish()
            return cls(header, is_best)
