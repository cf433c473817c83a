"""Protobuf messages of the peer-to-peer protocols, and messages with their length in front.

Protocol Buffers, "Encoding": a message is a sequence of `varint(number << 3 | wire type) ‖ value`. Only the
wire format is read here; each protocol reads the fields that it knows and skips the others, so that it
accepts a newer peer. `Frames` cuts a byte stream into messages with their length in front (unsigned LEB128).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cfnode.core.p2p.errors import RemoteError

__all__ = ["Frames", "Message", "bytes_field", "decode_varint", "encode_varint", "framed", "uint_field"]

MAX_FIELDS = 65_536
"""Fields of one message. The widest real one is a block answer with a few thousand extrinsics a block."""
MAX_VARINT_BYTES = 10
"""A 64-bit number in groups of seven bits."""
MAX_LENGTH_BYTES = 5
"""The length in front of a message: below 2^32."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}


def encode_varint(number: int) -> bytes:
    """Return the unsigned LEB128 form of a number in 0..2^64-1; raise ValueError."""
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{number} does not fit in an unsigned 64-bit varint")
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def decode_varint(data: bytes, offset: int = 0) -> tuple[int, int]:
    """Return the number at `offset` and the offset behind it; raise RemoteError."""
    number = 0
    for count, byte in enumerate(data[offset : offset + MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            if number >= 1 << 64:
                raise RemoteError("protobuf: a varint does not fit in 64 bits")
            return number, offset + count + 1
    raise RemoteError("protobuf: a varint has no end")


def uint_field(number: int, value: int) -> bytes:
    """Return a varint field (also for bool and enum)."""
    return encode_varint(number << 3 | VARINT) + encode_varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """Return a length-delimited field: bytes, string or an embedded message."""
    return encode_varint(number << 3 | BYTES) + framed(value)


def framed(data: bytes) -> bytes:
    """Return the bytes with their length in front (LEB128)."""
    return encode_varint(len(data)) + data


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of one message, in the order in which they came: (number, value)."""

    fields: tuple[tuple[int, int | bytes], ...]

    @classmethod
    def decode(cls, data: bytes, *, max_fields: int = MAX_FIELDS) -> Message:
        """Return the message in these bytes.

        Raises RemoteError if it is malformed or has more than `max_fields` fields.
        """
        fields: list[tuple[int, int | bytes]] = []
        for field in _fields(data):
            if len(fields) == max_fields:
                raise RemoteError(f"protobuf: more than {max_fields} fields in one message")
            fields.append(field)
        return cls(tuple(fields))

    def uint(self, number: int, default: int = 0) -> int:
        """Return the last varint of a field number, as protobuf requires; `default` if there is none.

        Raises RemoteError if it holds bytes.
        """
        values = [value for key, value in self.fields if key == number]
        return self._varint(number, values[-1]) if values else default

    def data(self, number: int) -> bytes | None:
        """Return the last bytes field of a field number; None if there is none. Raises RemoteError."""
        values = self.repeated(number)
        return values[-1] if values else None

    def repeated(self, number: int) -> list[bytes]:
        """Return all bytes fields of a field number, in order; raise RemoteError."""
        values = [value for key, value in self.fields if key == number]
        return [self._bytes(number, value) for value in values]

    @staticmethod
    def _varint(number: int, value: int | bytes) -> int:
        if isinstance(value, bytes):
            raise RemoteError(f"protobuf: field {number} holds bytes where a number belongs")
        return value

    @staticmethod
    def _bytes(number: int, value: int | bytes) -> bytes:
        if isinstance(value, int):
            raise RemoteError(f"protobuf: field {number} holds a number where bytes belong")
        return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    offset = 0
    while offset < len(data):
        key, offset = decode_varint(data, offset)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise RemoteError("protobuf: the field number 0 is not allowed")
        if kind == VARINT:
            value, offset = decode_varint(data, offset)
            yield number, value
            continue
        if kind == BYTES:
            length, offset = decode_varint(data, offset)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise RemoteError(f"protobuf: unknown wire type {kind} of field {number}")
        if length > len(data) - offset:
            raise RemoteError(f"protobuf: field {number} ends {length - len(data) + offset} bytes too early")
        yield number, data[offset : offset + length]
        offset += length


class Frames:
    """A byte stream that is cut into messages of at most `limit` bytes, with LEB128 lengths in front."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length: int | None = None

    @property
    def partial(self) -> bool:
        """Whether a message is incomplete."""
        return bool(self._buffer) or self._length is not None

    @property
    def held(self) -> int:
        """The number of bytes of an incomplete message."""
        return len(self._buffer)

    @property
    def rest(self) -> bytes:
        """The bytes after the last message: the next protocol's first bytes."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._buffer += data

    def next(self) -> bytes | None:
        """Return the next complete message, None while it is incomplete; raise RemoteError."""
        if self._length is None:
            self._length = self._read_length()
        if self._length is None or len(self._buffer) < self._length:
            return None
        message = bytes(memoryview(self._buffer)[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return message

    def _read_length(self) -> int | None:
        head = bytes(self._buffer[:MAX_LENGTH_BYTES])
        if not any(byte < 0x80 for byte in head):
            if len(head) == MAX_LENGTH_BYTES:
                raise RemoteError(f"the length of a message takes more than {MAX_LENGTH_BYTES} bytes")
            return None
        length, prefix_size = decode_varint(head)
        if length > self._limit:
            raise RemoteError(f"a message of {length} bytes, {self._limit} are allowed here")
        del self._buffer[:prefix_size]
        return length
