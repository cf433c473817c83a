"""What names a block, and what does its header say?

A header is `parent hash ‖ compact number ‖ state root ‖ extrinsics root ‖ digest`, and the block's hash is
the BLAKE2b-256 of exactly that. Digest items of engines we do not know are kept as they are, or the hash
would be another. Polkadot spec, "Block header".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import Cursor, ScaleError, encode_compact

__all__ = ["DigestItem", "DigestKind", "Header"]

MAX_NUMBER = (1 << 32) - 1
"""Block numbers are u32 on the chain, though compact in headers."""

MAX_DIGEST_ITEMS = 16_384
"""Items of one digest. An item may be a single byte, so the bytes at hand do not bound the memory well."""


class DigestKind(IntEnum):
    """The first byte of a digest item."""

    OTHER = 0
    CONSENSUS = 4
    SEAL = 5
    PRE_RUNTIME = 6
    RUNTIME_ENVIRONMENT_UPDATED = 8


_OF_AN_ENGINE = frozenset({DigestKind.CONSENSUS, DigestKind.SEAL, DigestKind.PRE_RUNTIME})


@dataclass(frozen=True, slots=True)
class DigestItem:
    """A log in a header. `engine` is a four-letter consensus engine, None for the kinds without one."""

    kind: DigestKind
    engine: bytes | None = None
    data: bytes = b""

    def __post_init__(self) -> None:
        if (self.engine is None) == (self.kind in _OF_AN_ENGINE) or len(self.engine or b"four") != 4:
            raise ValueError(f"digest item {self.kind.name}: engine {self.engine!r} does not fit")

    def encode(self) -> bytes:
        head = bytes((self.kind,))
        if self.kind is DigestKind.RUNTIME_ENVIRONMENT_UPDATED:
            return head
        return head + (self.engine or b"") + encode_compact(len(self.data)) + self.data

    @classmethod
    def read(cls, cursor: Cursor) -> DigestItem:
        """The item at the cursor; raises ScaleError."""
        number = cursor.u8()
        try:
            kind = DigestKind(number)
        except ValueError:
            raise ScaleError(f"header: there is no digest item of kind {number}") from None
        if kind is DigestKind.RUNTIME_ENVIRONMENT_UPDATED:
            return cls(kind)
        engine = cursor.take(4) if kind in _OF_AN_ENGINE else None
        return cls(kind, engine, cursor.bytes())


@dataclass(frozen=True, slots=True)
class Header:
    """A block header; the three hashes are 32 bytes each."""

    parent_hash: bytes
    number: int
    state_root: bytes
    extrinsics_root: bytes
    digest: tuple[DigestItem, ...] = ()

    def encode(self) -> bytes:
        """The bytes that the hash is taken of."""
        return b"".join(
            (
                self.parent_hash,
                encode_compact(self.number),
                self.state_root,
                self.extrinsics_root,
                encode_compact(len(self.digest)),
                *(item.encode() for item in self.digest),
            )
        )

    @property
    def hash(self) -> bytes:
        """The block hash: 32 bytes, computed at each call."""
        return blake2_256(self.encode())

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """The header in these bytes, to the last one; raises ScaleError."""
        cursor = Cursor(data)
        header = cls.read(cursor)
        cursor.finish()
        return header

    @classmethod
    def read(cls, cursor: Cursor) -> Header:
        """The header at the cursor; raises ScaleError."""
        parent_hash, number = cursor.take(32), cursor.compact()
        if number > MAX_NUMBER:
            raise ScaleError(f"header: block number {number} does not fit in 32 bits")
        state_root, extrinsics_root = cursor.take(32), cursor.take(32)
        count = cursor.count()
        if count > MAX_DIGEST_ITEMS:
            raise ScaleError(f"header: {count} digest items, more than {MAX_DIGEST_ITEMS}")
        digest = tuple(DigestItem.read(cursor) for _ in range(count))
        return cls(parent_hash, number, state_root, extrinsics_root, digest)
