"""Readers of bytes from texts that serde passes on unchanged: hex, signatures and base58.

In the official node three libraries read them, each with its own errors: `hex` (messages and seeds),
`array-bytes` (signatures) and `bs58` (Solana).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import base58

from cfnode.rpc.table.convert import read_text
from cfnode.rpc.table.serde import JsonPosition, Misread, invalid_type

__all__ = ["base58_of", "bounded_hex", "signature_hex"]

MAX_BASE58: Final = 4
"""Characters of base58 that are read for each byte: about three times as many as it needs."""
_ORDER: Final = {letter: value for value, letter in enumerate(base58.BITCOIN_ALPHABET.decode())}
_DIGITS: Final = b"0123456789abcdefABCDEF"


def bounded_hex(limit: int) -> Callable[[Any], bytes]:
    """Return a reader of hex of at most `limit` bytes, as the crate `hex` reads it.

    Any number of `0x` may precede it.
    """

    def read(value: Any) -> bytes:
        text = read_text(value)
        while text.startswith("0x"):
            text = text[2:]
        raw = text.encode(errors="replace")
        if len(raw) % 2:
            raise Misread("Odd number of digits", JsonPosition.OUTSIDE)
        if (index := _wrong_digit(raw)) is not None:
            raise Misread(f"Invalid character {_debug(raw[index])} at position {index}", JsonPosition.OUTSIDE)
        if len(raw) > 2 * limit:
            raise Misread(f"invalid length {len(raw) // 2}, expected {limit} bytes", JsonPosition.OUTSIDE)
        return bytes.fromhex(text)

    return read


def signature_hex(length: int) -> Callable[[Any], bytes]:
    """Return a reader of a signature of `length` bytes, as the crate `array-bytes` reads it."""

    def read(value: Any) -> bytes:
        raw = read_text(value).removeprefix("0x").encode(errors="replace")
        if len(raw) % 2:
            raise Misread("InvalidLength", JsonPosition.OUTSIDE)
        if (index := _wrong_digit(raw)) is not None:
            text = f"InvalidCharacter {{ character: {_debug(raw[index])}, index: {index} }}"
            raise Misread(text, JsonPosition.OUTSIDE)
        if len(raw) != 2 * length:
            raise Misread("()", JsonPosition.OUTSIDE)
        return bytes.fromhex(raw.decode())

    return read


def base58_of(length: int) -> Callable[[Any], bytes]:
    """Return a reader of `length` bytes of base58, as the crate `bs58` fills them.

    A short value is padded with zeros at the end.
    """
    expected = "base58 encoded"

    def read(value: Any) -> bytes:
        if not isinstance(value, str):
            raise invalid_type(value, expected)
        return _filled(value[: MAX_BASE58 * length], length)

    return read


def _filled(text: str, length: int) -> bytes:
    number = 0
    for index, letter in enumerate(text):
        if letter not in _ORDER:
            raise _invalid_letter(letter, index)  # all letters before it are ASCII
        number = number * 58 + _ORDER[letter]
        if number >> 8 * length:
            raise _too_long()
    zeros = len(text) - len(text.lstrip("1"))
    data = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(data) > length:
        raise _too_long()
    return data.ljust(length, b"\0")


def _invalid_letter(letter: str, place: int) -> Misread:
    if not letter.isascii():
        return Misread(f"provided string contained non-ascii character starting at byte {place}")
    return Misread(f"provided string contained invalid character {_debug(ord(letter))} at byte {place}")


def _too_long() -> Misread:
    return Misread("buffer provided to decode base58 encoded string into was too small")


def _wrong_digit(raw: bytes) -> int | None:
    wrong_bytes = raw.translate(None, _DIGITS)
    return raw.index(wrong_bytes[:1]) if wrong_bytes else None


def _debug(letter: int) -> str:
    """Return a byte as Rust's Debug writes a character."""
    return {0x27: "'\\''", 0x5C: "'\\\\'", 0x0A: "'\\n'", 0x0D: "'\\r'", 0x09: "'\\t'", 0: "'\\0'"}.get(
        letter, f"'{chr(letter)}'" if chr(letter).isprintable() else f"'\\u{{{letter:x}}}'"
    )
