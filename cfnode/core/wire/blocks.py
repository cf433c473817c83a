"""Requests and answers of headers, bodies and justifications: protocol `sync/2`.

Substrate, network sync, `api.v1.proto`: a request names a first block (hash or number), a direction and the
wanted parts of each block; an answer lists blocks in that order. Attribute bits are in the most significant
byte of a 32-bit number, and a number as start is four little-endian bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag

from cfnode.core.engines import GRANDPA
from cfnode.core.header import Header
from cfnode.core.p2p.protobuf import Message, bytes_field, uint_field
from cfnode.core.scale import ByteCursor, encode_compact
from cfnode.core.wire.errors import WireError, reading

__all__ = ["MAX_BLOCKS_PER_ANSWER", "SUFFIX", "Attributes", "BlockData", "BlockRequest", "BlockResponse"]

SUFFIX = "sync/2"

MAX_BLOCKS_PER_ANSWER = 128
"""Blocks of one answer, as Substrate's servers cap it."""

MAX_BODIES_BYTES = 8 << 20
"""Bytes of bodies after which a server ends its answer; the first block always fits."""

MAX_JUSTIFICATIONS = 8
"""Justifications of one block: one for each finality engine, and there is one such engine."""

_FIELDS, _HASH, _NUMBER, _DIRECTION, _MAX_BLOCKS, _MULTIPLE_JUSTIFICATIONS = 1, 2, 3, 5, 6, 7
_BLOCK = 1
_D_HASH, _D_HEADER, _D_BODY, _D_ONE, _D_EMPTY_ONE, _D_ALL = 1, 2, 3, 6, 7, 8


class Attributes(IntFlag):
    """The wanted parts of each block."""

    HEADER = 0x01000000
    BODY = 0x02000000
    JUSTIFICATION = 0x10000000

    @classmethod
    def whole(cls) -> Attributes:
        """Return all parts that are needed to import a block."""
        return cls.HEADER | cls.BODY | cls.JUSTIFICATION


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """A request of blocks from `start` on: 32 bytes of a hash, or a number.

    `max_blocks` 0 leaves the number of blocks to the server.
    """

    start: bytes | int
    attributes: Attributes
    max_blocks: int = 0
    descending: bool = False
    multiple_justifications: bool = True

    def encode(self) -> bytes:
        """Return the protobuf of the request."""
        start = self.start
        if isinstance(start, int):
            from_field = bytes_field(_NUMBER, start.to_bytes(4, "little"))
        else:
            from_field = bytes_field(_HASH, start)
        parts = [uint_field(_FIELDS, int(self.attributes)), from_field]
        if self.descending:
            parts.append(uint_field(_DIRECTION, 1))
        if self.max_blocks:
            parts.append(uint_field(_MAX_BLOCKS, self.max_blocks))
        if self.multiple_justifications:
            parts.append(uint_field(_MULTIPLE_JUSTIFICATIONS, 1))
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> BlockRequest:
        """Return the request in these bytes, without attributes that we do not support. Raises WireError."""
        with reading("block request"):
            message = Message.decode(data, max_fields=16)
            direction, max_blocks = message.uint(_DIRECTION), message.uint(_MAX_BLOCKS)
            if direction > 1 or max_blocks >= 1 << 32:
                raise WireError(f"block request: direction {direction}, {max_blocks} blocks")
            attributes = Attributes(message.uint(_FIELDS) & int(Attributes.whole()))
            multiple = bool(message.uint(_MULTIPLE_JUSTIFICATIONS))
            return cls(_start(message), attributes, max_blocks, bool(direction), multiple)


def _start(message: Message) -> bytes | int:
    by_hash, by_number = message.data(_HASH), message.data(_NUMBER)
    if by_hash is not None and by_number is None and len(by_hash) == 32:
        return by_hash
    if by_number is not None and by_hash is None and len(by_number) == 4:
        return int.from_bytes(by_number, "little")
    raise WireError("block request: it must begin at one hash of 32 bytes or one number of 4")


@dataclass(frozen=True, slots=True)
class BlockData:
    """One block of an answer, with the requested parts.

    `body`: extrinsics with their length prefixes. `justifications`: (engine, bytes) pairs.
    """

    hash: bytes
    header: Header | None = None
    body: tuple[bytes, ...] = ()
    justifications: tuple[tuple[bytes, bytes], ...] = ()

    def encode(self, *, multiple_justifications: bool = True) -> bytes:
        """Return the protobuf of one block; without `multiple_justifications` only GRANDPA's is included."""
        parts = [bytes_field(_D_HASH, self.hash)]
        if self.header is not None:
            parts.append(bytes_field(_D_HEADER, self.header.encode()))
        parts += [bytes_field(_D_BODY, extrinsic) for extrinsic in self.body]
        if self.justifications and multiple_justifications:
            parts.append(bytes_field(_D_ALL, _encode_justifications(self.justifications)))
        elif self.justifications:
            parts += [bytes_field(_D_ONE, data) for engine, data in self.justifications if engine == GRANDPA]
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> BlockData:
        """Return the block in these bytes.

        Raises WireError, RemoteError or ScaleError for malformed bytes; `BlockResponse.decode` makes them
        WireErrors.
        """
        message = Message.decode(data)
        block_hash, header = message.data(_D_HASH), message.data(_D_HEADER)
        if block_hash is None or len(block_hash) != 32:
            raise WireError("block answer: a block without its hash of 32 bytes")
        decoded = Header.decode(header) if header else None
        return cls(block_hash, decoded, tuple(message.repeated(_D_BODY)), _justifications(message))


def _encode_justifications(justifications: Sequence[tuple[bytes, bytes]]) -> bytes:
    items = (engine + encode_compact(len(data)) + data for engine, data in justifications)
    return encode_compact(len(justifications)) + b"".join(items)


def _justifications(message: Message) -> tuple[tuple[bytes, bytes], ...]:
    data = message.data(_D_ALL)
    if data:
        return _decode_justifications(data)
    justification = message.data(_D_ONE)
    return ((GRANDPA, justification or b""),) if justification or message.uint(_D_EMPTY_ONE) else ()


def _decode_justifications(data: bytes) -> tuple[tuple[bytes, bytes], ...]:
    cursor = ByteCursor(data)
    count = cursor.count(5)
    if count > MAX_JUSTIFICATIONS:
        raise WireError(f"block answer: {count} justifications of one block, more than {MAX_JUSTIFICATIONS}")
    justifications = tuple((cursor.take(4), cursor.bytes()) for _ in range(count))
    cursor.finish()
    return justifications


@dataclass(frozen=True, slots=True)
class BlockResponse:
    """The blocks of an answer, in the requested order; empty if the server does not have them."""

    blocks: tuple[BlockData, ...]

    def encode(self, *, multiple_justifications: bool = True) -> bytes:
        """Return the protobuf of the answer, its blocks in their order."""
        parts = (block.encode(multiple_justifications=multiple_justifications) for block in self.blocks)
        return b"".join(bytes_field(_BLOCK, part) for part in parts)

    @classmethod
    def decode(cls, data: bytes, max_blocks: int = MAX_BLOCKS_PER_ANSWER) -> BlockResponse:
        """Return the answer in these bytes, of at most `max_blocks` blocks; raise WireError."""
        with reading("block answer"):
            items = Message.decode(data).repeated(_BLOCK)
            if len(items) > max_blocks:
                raise WireError(f"block answer: {len(items)} blocks, {max_blocks} at most were requested")
            return cls(tuple(BlockData.decode(item) for item in items))
