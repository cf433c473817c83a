"""Block headers: their encoding, their digest items, and the block's hash.

A header is `parent hash ‖ compact number ‖ state root ‖ extrinsics root ‖ digest`, and the block's hash is
the BLAKE2b-256 of exactly that. Digest items of unknown engines are kept as they are, or the hash would
change. Polkadot spec, "Block header".

A decoded header keeps its bytes, and its hash is computed once. Peers send headers, so their size and the
number of their items are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact

__all__ = ["MAX_HEADER", "DigestItem", "DigestKind", "Header"]

MAX_NUMBER = (1 << 32) - 1
"""Block numbers are u32 on the chain, though compact in headers."""

MAX_HEADER = 128 << 10
"""Bytes of a header. A change of 200 authorities takes 8,000; the largest one known, of Kusama, 72,562."""

MAX_DIGEST_ITEMS = 32
"""Items of one digest. Real headers have two to five, and an item may be a single byte."""


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
        """Raise ValueError for a missing engine, a superfluous one, or one of other than four bytes."""
        if (self.engine is None) == (self.kind in _OF_AN_ENGINE) or len(self.engine or b"four") != 4:
            raise ValueError(f"digest item {self.kind.name}: engine {self.engine!r} does not fit")

    def encode(self) -> bytes:
        """Return the SCALE of the item: kind, engine and data."""
        head = bytes((self.kind,))
        if self.kind is DigestKind.RUNTIME_ENVIRONMENT_UPDATED:
            return head
        return head + (self.engine or b"") + encode_compact(len(self.data)) + self.data

    @classmethod
    def read(cls, cursor: ByteCursor) -> DigestItem:
        """Return the item at the cursor; raise ScaleError."""
        number = cursor.u8()
        try:
            kind = DigestKind(number)
        except ValueError:
            raise ScaleError(f"header: unknown kind {number} of a digest item") from None
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
    _encoded: bytes | None = field(default=None, init=False, repr=False, compare=False)
    _hash: bytes | None = field(default=None, init=False, repr=False, compare=False)

    def encode(self) -> bytes:
        """Return the bytes that are hashed: those that were decoded, or encoded at the first call."""
        if self._encoded is None:
            object.__setattr__(self, "_encoded", self._encode())
        assert self._encoded is not None
        return self._encoded

    def _encode(self) -> bytes:
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
        """The block hash: 32 bytes, computed at the first call."""
        if self._hash is None:
            object.__setattr__(self, "_hash", blake2_256(self.encode()))
        assert self._hash is not None
        return self._hash

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """Return the header in exactly these bytes; raise ScaleError."""
        if len(data) > MAX_HEADER:
            raise _too_large()
        cursor = ByteCursor(data)
        header = cls.read(cursor)
        cursor.finish()
        return header

    @classmethod
    def read(cls, cursor: ByteCursor) -> Header:
        """Return the header at the cursor; raise ScaleError."""
        start = cursor.offset
        parent_hash, number = cursor.take(32), cursor.compact()
        if number > MAX_NUMBER:
            raise ScaleError(f"header: block number {number} does not fit in 32 bits")
        state_root, extrinsics_root = cursor.take(32), cursor.take(32)
        digest = _read_digest(cursor, start + MAX_HEADER)
        header = cls(parent_hash, number, state_root, extrinsics_root, digest)
        object.__setattr__(header, "_encoded", cursor.data[start : cursor.offset])
        return header


def _read_digest(cursor: ByteCursor, end: int) -> tuple[DigestItem, ...]:
    """Return the items at the cursor, which have to lie before the offset `end`."""
    count = cursor.count()
    if count > MAX_DIGEST_ITEMS:
        raise ScaleError(f"header: {count} digest items, more than {MAX_DIGEST_ITEMS}")
    items = []
    for _ in range(count):
        items.append(DigestItem.read(cursor))
        if cursor.offset > end:
            raise _too_large()
    return tuple(items)


def _too_large() -> ScaleError:
    return ScaleError(f"header: more than {MAX_HEADER} bytes")
