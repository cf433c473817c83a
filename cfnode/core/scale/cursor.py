"""Cursor over bytes of a hand-written SCALE layout, which never reads past their end.

It serves formats that have no type table: headers, justifications, network messages.
"""

from __future__ import annotations

from cfnode.core.scale.compact import decode_compact, decode_length, end_of_input
from cfnode.core.scale.errors import ScaleError

__all__ = ["ByteCursor"]


class ByteCursor:
    """A position in bytes; each read advances it, and raises `ScaleError` if too few bytes are left."""

    __slots__ = ("data", "offset")

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = bytes(data)
        self.offset = offset

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self.data) - self.offset

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        end = self.offset + size
        if size < 0 or end > len(self.data):
            raise end_of_input(self.offset, size, self.data)
        chunk = self.data[self.offset : end]
        self.offset = end
        return chunk

    def uint(self, size: int) -> int:
        """Return an unsigned little-endian integer of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def u8(self) -> int:
        """Read an integer of one byte. Raises ScaleError."""
        return self.uint(1)

    def u16(self) -> int:
        """Read a little-endian integer of two bytes. Raises ScaleError."""
        return self.uint(2)

    def u32(self) -> int:
        """Read a little-endian integer of four bytes. Raises ScaleError."""
        return self.uint(4)

    def u64(self) -> int:
        """Read a little-endian integer of eight bytes. Raises ScaleError."""
        return self.uint(8)

    def u128(self) -> int:
        """Read a little-endian integer of 16 bytes. Raises ScaleError."""
        return self.uint(16)

    def boolean(self) -> bool:
        """Return a bool, or the presence byte of an Option, as bool."""
        value = self.u8()
        if value > 1:
            raise ScaleError(f"a bool is 0 or 1, not {value} (offset {self.offset - 1})")
        return value == 1

    def compact(self) -> int:
        """Return a compact number, in its shortest form."""
        number, self.offset = decode_compact(self.data, self.offset)
        return number

    def count(self, item_size: int = 1) -> int:
        """Return the length of a sequence of items of at least `item_size` bytes each.

        The length is checked against the bytes that are left.
        """
        length, offset = decode_length(self.data, self.offset)
        if length * item_size > len(self.data) - offset:
            raise end_of_input(offset, length * item_size, self.data)
        self.offset = offset
        return length

    def bytes(self) -> bytes:
        """Return the bytes of a `Vec<u8>`."""
        return self.take(self.count())

    def text(self) -> str:
        """Return the text of a string."""
        start = self.offset
        try:
            return self.bytes().decode()
        except UnicodeDecodeError:
            raise ScaleError(f"the string at offset {start} is not UTF-8") from None

    def finish(self) -> None:
        """Raise ScaleError if any byte follows."""
        if self.remaining:
            raise ScaleError(f"{self.remaining} bytes follow the end of the value at offset {self.offset}")
