"""Codecs of SCALE types without parts: integers, bool, char, strings, bytes, bit sequences.

Polkadot spec, "SCALE codec".
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812  (an exception that struct names in lower case)
from typing import Any

from cfnode.core.scale.compact import decode_compact, decode_length, encode_compact, end_of_input
from cfnode.core.scale.errors import ScaleError, describe
from cfnode.core.scale.kind import Decode, Kind

__all__ = ["BOOL", "BYTES", "CHAR", "TEXT", "bits", "byte_array", "compact", "integer"]

_STRUCT_FORMATS = {8: "b", 16: "h", 32: "i", 64: "q"}
MAX_BITS = (1 << 29) - 1
"""The maximum length of a bit sequence, as in parity-scale-codec."""


def integer(width: int, signed: bool) -> Kind:
    """Return the kind of a fixed-width little-endian integer of 8 to 256 bits."""
    size = width // 8
    name = f"{'i' if signed else 'u'}{width}"

    def encode(value: Any, out: bytearray, _depth: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ScaleError(f"{name} takes an int, not {describe(value)}")
        try:
            out += value.to_bytes(size, "little", signed=signed)
        except OverflowError:
            raise ScaleError(f"{describe(value)} does not fit in {name}") from None

    return Kind(encode, _packed(width, signed) if width <= 64 else _wide(size, signed), size)


def _packed(width: int, signed: bool) -> Decode:
    code = _STRUCT_FORMATS[width]
    layout = Struct("<" + (code if signed else code.upper()))
    unpack, size = layout.unpack_from, layout.size

    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        try:
            return unpack(data, offset)[0], offset + size
        except StructError:
            raise end_of_input(offset, size, data) from None

    return decode


def _wide(size: int, signed: bool) -> Decode:
    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        end = offset + size
        if end > len(data):
            raise end_of_input(offset, size, data)
        return int.from_bytes(data[offset:end], "little", signed=signed), end

    return decode


def compact(width: int) -> Kind:
    """Return the kind of a compact number that must fit in `width` bits."""
    limit = 1 << width

    def encode(value: Any, out: bytearray, _depth: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            raise ScaleError(f"{describe(value)} does not fit in Compact<u{width}>")
        out += encode_compact(int(value))

    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        number, end = decode_compact(data, offset)
        if number >= limit:
            raise ScaleError(f"compact {describe(number)} at offset {offset} does not fit in u{width}")
        return number, end

    return Kind(encode, decode, 1)


def _encode_bool(value: Any, out: bytearray, _depth: int) -> None:
    if not isinstance(value, bool):
        raise ScaleError(f"a bool is True or False, not {describe(value)}")
    out.append(value)


def _decode_bool(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
    try:
        value = data[offset]
    except IndexError:
        raise end_of_input(offset, 1, data) from None
    if value > 1:
        raise ScaleError(f"a bool is 0 or 1, not {value} (offset {offset})")
    return value == 1, offset + 1


def _encode_char(value: Any, out: bytearray, _depth: int) -> None:
    if not isinstance(value, str) or len(value) != 1 or 0xD800 <= ord(value) < 0xE000:
        raise ScaleError(f"a char is one Unicode character, not {describe(value)}")
    out += ord(value).to_bytes(4, "little")


def _decode_char(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
    end = offset + 4
    if end > len(data):
        raise end_of_input(offset, 4, data)
    code = int.from_bytes(data[offset:end], "little")
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ScaleError(f"{code} is not a Unicode character (offset {offset})")
    return chr(code), end


def _encode_text(value: Any, out: bytearray, _depth: int) -> None:
    if not isinstance(value, str):
        raise ScaleError(f"a string is a str, not {describe(value)}")
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        raise ScaleError("a string with lone surrogates has no UTF-8 form") from None
    out += encode_compact(len(encoded))
    out += encoded


def _decode_text(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
    length, start = decode_length(data, offset)
    end = start + length
    if end > len(data):
        raise end_of_input(start, length, data)
    try:
        return data[start:end].decode(), end
    except UnicodeDecodeError:
        raise ScaleError(f"the string at offset {offset} is not UTF-8") from None


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise ScaleError(f"expected bytes, not {describe(value)}")


def _encode_bytes(value: Any, out: bytearray, _depth: int) -> None:
    encoded = _as_bytes(value)
    out += encode_compact(len(encoded))
    out += encoded


def _decode_bytes(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
    length, start = decode_length(data, offset)
    end = start + length
    if end > len(data):
        raise end_of_input(start, length, data)
    return data[start:end], end


BOOL = Kind(_encode_bool, _decode_bool, 1)
CHAR = Kind(_encode_char, _decode_char, 4)
TEXT = Kind(_encode_text, _decode_text, 1)
BYTES = Kind(_encode_bytes, _decode_bytes, 1)
"""The kind of a `Vec<u8>`."""


def byte_array(length: int) -> Kind:
    """Return the kind of a `[u8; N]`."""

    def encode(value: Any, out: bytearray, _depth: int) -> None:
        encoded = _as_bytes(value)
        if len(encoded) != length:
            raise ScaleError(f"expected {length} bytes, not {len(encoded)}")
        out += encoded

    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        end = offset + length
        if end > len(data):
            raise end_of_input(offset, length, data)
        return data[offset:end], end

    return Kind(encode, decode, length)


def bits(word_bits: int, lowest_first: bool) -> Kind:
    """Return the kind of a bit sequence in words of 8 to 64 bits.

    Its encoding is its length in bits, then whole little-endian words. Lsb0 (`lowest_first`) fills a word
    from its lowest bit. Bits of the last word behind the length are ignored, as the chain ignores them.
    """
    word_size = word_bits // 8

    def encode(value: Any, out: bytearray, _depth: int) -> None:
        if not isinstance(value, (list, tuple)) or not all(isinstance(bit, bool) for bit in value):
            raise ScaleError(f"a bit sequence is a list of bools, not {describe(value)}")
        out += encode_compact(len(value))
        for start in range(0, len(value), word_bits):
            text = "".join("1" if bit else "0" for bit in value[start : start + word_bits])
            text = text.ljust(word_bits, "0")
            out += int(text[::-1] if lowest_first else text, 2).to_bytes(word_size, "little")

    def decode(data: bytes, offset: int, _depth: int) -> tuple[Any, int]:
        length, start = decode_length(data, offset)
        size = (length + word_bits - 1) // word_bits * word_size
        end = start + size
        if length > MAX_BITS or end > len(data):
            raise end_of_input(start, size, data)
        words = (
            int.from_bytes(data[position : position + word_size], "little")
            for position in range(start, end, word_size)
        )
        texts = (f"{word:0{word_bits}b}" for word in words)
        text = "".join(word[::-1] if lowest_first else word for word in texts)
        return [bit == "1" for bit in text[:length]], end

    return Kind(encode, decode, 1)
