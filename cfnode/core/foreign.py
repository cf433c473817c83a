"""Bounded reading of what another program wrote: JSON, numbers and bytes, with one error.

Input of a few kilobytes or megabytes may be made to cost much more: 32 MB of `[[],[],…` make 13 million
objects and a gigabyte, brackets without end exhaust a decoder's stack, and a number of 5,000 digits raises an
error where none is expected. So a text is checked before it is decoded, in this order:

1. its bytes (`JsonLimits.size`);
2. what makes it slow or large to decode: values, white space and escapes, characters that make a text wide
   (`JsonWeight`, which counts piece by piece, so that a message can be dropped while it still arrives);
3. how deeply it is nested: brackets outside of texts are paired from the inside, one level a pass.

The decoded value may have any shape. Its numbers have at most 4,300 digits; a caller that needs a smaller one
reads it with `whole_number`, `hex_number` or `block_number`.

Every fault is a ForeignError, whose text continues a sentence about the text that was read: "is not JSON",
"has more than 262144 JSON values".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final, Protocol, TypeVar, overload

import msgspec

__all__ = [
    "ANSWER",
    "ForeignError",
    "JsonLimits",
    "JsonWeight",
    "block_number",
    "decimal_number",
    "hex_bytes",
    "hex_number",
    "read_bounded",
    "read_json",
    "require_light",
    "whole_number",
]

T = TypeVar("T")
BLOCK_NUMBER_BITS: Final = 32
MAX_HEX_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a text in hex may stand for, if its reader names no maximum."""
MAX_QUOTES: Final = 4
"""Quotation marks for each value: a member of an object has two texts."""
PORTION: Final = 1024 * 1024
"""Bytes that are counted before the limits are looked at again."""
_STRUCTURE: Final = (b",", b"[", b"{")
_FILLING: Final = (b" ", b"\t", b"\r", b"\n", b"\\")
_NOT_NESTING: Final = bytes(set(range(256)) - set(b"[]{}"))
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+", re.ASCII)
_DECIMAL: Final = re.compile(r"[0-9]+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


class SupportsRead(Protocol):
    """An open file of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes: fewer than `size` at the end only."""
        ...


class ForeignError(ValueError):
    """Text of another program that is malformed or over a limit. The message repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Bounds of a JSON text.

    `size`: bytes; `values`: JSON values; `depth`: levels of arrays and objects; `filling`: bytes of white
    space and escapes; `wide`: bytes if the text has any character that is not ASCII, since one such character
    can make each of a text take four bytes.
    """

    size: int = 32 * 1024 * 1024
    values: int = 1 << 18
    depth: int = 64
    filling: int = 8 * 1024 * 1024
    wide: int = 8 * 1024 * 1024


ANSWER: Final = JsonLimits()
"""For the answer of a node, a broker or a service. The largest, all open channels, have some ten thousand
values; a value takes about a hundred bytes of memory."""


class JsonWeight:
    """Counts of what makes a text slow or large to decode, added piece by piece."""

    __slots__ = ("_ends_with_escape", "_filling", "_is_wide", "_limits", "_size", "values")

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self._size = self.values = self._filling = 0
        self._is_wide = self._ends_with_escape = False

    def add(self, piece: bytes | bytearray) -> None:
        """Count the values, the white space, the escapes and the bytes of the next piece.

        Each value but the first follows a comma or a bracket. Commas and brackets inside texts count too; no
        text that anyone needs has thousands.
        """
        self._size += len(piece)
        self.values += sum(map(piece.count, _STRUCTURE))
        is_split_escape = self._ends_with_escape and piece[:1] == b"u"
        self._is_wide |= is_split_escape or not piece.isascii() or (b"\\" in piece and b"\\u" in piece)
        self._ends_with_escape = piece[-1:] == b"\\"
        self._filling += sum(piece.count(letter) for letter in _FILLING if letter in piece)

    @property
    def excess(self) -> str | None:
        """The limit that is exceeded, as text; None within all limits."""
        limits = self._limits
        if self.values > limits.values:
            return f"{limits.values} JSON values"
        if self._is_wide and self._size > limits.wide:
            return f"{limits.wide} bytes of other text than ASCII"
        return f"{limits.filling} spaces and escapes" if self._filling > limits.filling else None


def read_bounded(file: SupportsRead, most: int) -> bytes:
    """Return the rest of an open file, which may be a pipe or a device without end.

    Raises ForeignError above `most` bytes, and what the file raises.
    """
    data = file.read(most + 1)
    if len(data) > most:
        raise ForeignError(f"is larger than {most} bytes")
    return data


def require_light(text: bytes | bytearray | str, limits: JsonLimits) -> bytes:
    """Return the text in UTF-8, without checking that it is JSON. Raises ForeignError over a limit.

    The text is weighed in portions, before a copy of the whole is made.
    """
    if len(text) > limits.size:
        raise ForeignError(f"is larger than {limits.size} bytes")
    weight = JsonWeight(limits)
    for start in range(0, len(text), PORTION):
        weight.add(_encoded(text[start : start + PORTION]))
        if (excess := weight.excess) is not None:
            raise ForeignError(f"has more than {excess}")
    encoded = _encoded(text)
    if len(encoded) > limits.size:
        raise ForeignError(f"is larger than {limits.size} bytes")
    if weight.values > limits.depth:
        _require_shallow(encoded, limits)
    return encoded


def _encoded(text: bytes | bytearray | str) -> bytes:
    try:
        return text.encode() if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise ForeignError("is not UTF-8 text") from None


def _require_shallow(text: bytes, limits: JsonLimits) -> None:
    """Pair brackets from the inside. A pass removes at least one level, or none can be paired."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if text.count(b'"') > MAX_QUOTES * (limits.values + 1):
        raise ForeignError("is not JSON")
    brackets = b"".join(text.split(b'"')[::2]).translate(None, _NOT_NESTING)
    for _ in range(limits.depth):
        previous, brackets = brackets, brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) == len(previous):
            break
    if brackets:
        is_paired = len(brackets) < len(previous)
        raise ForeignError(f"is nested more than {limits.depth} levels deep" if is_paired else "is not JSON")


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@overload
def read_json(text: bytes | bytearray | str, limits: JsonLimits = ...) -> Any: ...


@overload
def read_json(text: bytes | bytearray | str, limits: JsonLimits = ..., *, kind: type[T]) -> T: ...


def read_json(text: bytes | bytearray | str, limits: JsonLimits = ANSWER, *, kind: Any = Any) -> Any:
    """Return the value of a JSON text, of a `kind` that msgspec knows. Raises ForeignError.

    Numbers are exact. `NaN`, numbers beyond a float and unpaired surrogates are not JSON; the last of two
    equal names counts.
    """
    encoded = require_light(text, limits)
    try:
        return _decoder(kind).decode(encoded)
    except msgspec.ValidationError as error:
        reason = "is not JSON" if kind is Any else f"has another shape than expected: {error}"
        raise ForeignError(reason) from None
    except UnicodeDecodeError:
        raise ForeignError("is not UTF-8 text") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ForeignError("is not JSON") from None


def hex_number(value: Any, bits: int = 64) -> int:
    """Return the number that a text in 0x hex stands for. Raises ForeignError."""
    if isinstance(value, str) and len(value) <= 2 + bits // 4 and _HEX.fullmatch(value):
        return int(value, 16)
    raise ForeignError(f"is not a number of at most {bits} bits in 0x hex")


def whole_number(value: Any, bits: int = 256) -> int:
    """Return a number from 0 on, as a JSON number or as a text in decimal or 0x hex. Raises ForeignError."""
    number = -1
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and len(value) <= bits:
        if _HEX.fullmatch(value):
            number = int(value, 16)
        elif _DECIMAL.fullmatch(value):
            number = int(value)
    if 0 <= number < 1 << bits:
        return number
    raise ForeignError(f"is not a whole number of at most {bits} bits")


def decimal_number(text: str) -> Decimal:
    """Return the finite number of a text in decimal, perhaps with an exponent. Raises ForeignError.

    Python itself also reads `1_0` as 10, digits of any script, NaN and infinities.
    """
    if _NUMBER.fullmatch(text):
        try:
            number = Decimal(text)
        except InvalidOperation:  # an exponent beyond any number
            number = Decimal("NaN")
        if number.is_finite():
            return number
    raise ForeignError("is not a decimal number")


def hex_bytes(value: Any, most: int = MAX_HEX_BYTES) -> bytes:
    """Return the bytes that a text in 0x hex stands for, none for `0x`.

    Raises ForeignError, also above `most` bytes.
    """
    if isinstance(value, str) and value.startswith("0x") and len(value) <= 2 + 2 * most:
        digits = value[2:]
        if digits.isascii() and (digits.isalnum() or not digits):  # without the blanks that `fromhex` skips
            try:
                return bytes.fromhex(digits)
            except ValueError:
                pass
    raise ForeignError(f"is not at most {most} bytes in 0x hex")


def block_number(header: Any) -> int:
    """Return the number of a block's header in JSON-RPC's form. Raises ForeignError."""
    number = header.get("number") if isinstance(header, Mapping) else None
    try:
        return hex_number(number, BLOCK_NUMBER_BITS)
    except ForeignError:
        raise ForeignError("is not the header of a block") from None
