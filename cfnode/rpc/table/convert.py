"""Readers and writers that all namespaces share, between JSON values and bytes, numbers and accounts.

Each Reader names the shape it accepts, for the reference page. For any other value it raises Misread with the
official node's text (`serde.py`), or ValueError with a text that fits after the parameter's name. Hex is
lower case on output; on input `0x` is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cfnode.core import ss58
from cfnode.rpc.table.rows import Reader
from cfnode.rpc.table.serde import JsonPosition, Misread, invalid_type, invalid_value

SS58_PREFIX = 2112
U16_MAX, U32_MAX, U64_MAX, U128_MAX = (2**bits - 1 for bits in (16, 32, 64, 128))
MAX_QUOTED_PARAM = 80
MAX_STORAGE_KEY_BYTES = 32 * 1024
"""Bytes of a storage key: a partial key of a trie has fewer than 65,536 nibbles."""
MAX_PARAM_TEXT = 64 * 1024
"""Characters of a text parameter: names, addresses, secret URIs. A character takes up to four bytes while the
call lasts."""


def excerpt(value: Any) -> str:
    """Return a value as errors quote it: cut short, never raising.

    The part that is cut off is not read.
    """
    text = ""
    for part in _parts(value):
        text += part
        if len(text) > MAX_QUOTED_PARAM:
            return f"{text[:MAX_QUOTED_PARAM]}…"
    return text


def _parts(value: Any) -> Iterator[str]:
    """Yield the text of a decoded JSON value, piece by piece."""
    if isinstance(value, str):
        yield repr(value[: MAX_QUOTED_PARAM + 1])
    elif isinstance(value, list):
        yield "["
        for index, entry in enumerate(value):
            yield ", " if index else ""
            yield from _parts(entry)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (name, entry) in enumerate(value.items()):
            yield f"{', ' if index else ''}{name[: MAX_QUOTED_PARAM + 1]!r}: "
            yield from _parts(entry)
        yield "}"
    else:
        is_huge = isinstance(value, int) and value.bit_length() >= 600
        yield "a huge number" if is_huge else repr(value)


def to_hex(data: bytes) -> str:
    """Write bytes as `0x` and lower-case digits."""
    return f"0x{data.hex()}"


def number_hex(value: int) -> str:
    """Write a number as `0x` and hex without leading zeros; zero is `0x0`."""
    return hex(value)


def account(public: bytes) -> str:
    """Write an account id as SS58 with the chain's prefix (`cF…`)."""
    return ss58.encode(public, SS58_PREFIX)


_HEX_BYTES = "a (both 0x-prefixed or not) hex string or byte array"
_READ_AT_ONCE = 64 * 1024
"""Digits read at once, an even number: a fault is located within one such piece, not by a second full pass.
"""
_DIGITS, _WHITE = b"0123456789abcdefABCDEF", b" \t\r\n"


def read_hex(value: Any) -> bytes:
    """Read hex of any length, as `impl-serde` reads it.

    `0x` is optional, the empty string gives no bytes, and with an odd number of digits the first digit is a
    byte of its own.
    """
    if not isinstance(value, str):
        raise invalid_type(value, _HEX_BYTES)
    digits = value.removeprefix("0x")
    start = len(value) - len(digits)
    odd = len(digits) % 2
    text, pieces = f"0{digits}" if odd else digits, []
    for offset in range(0, len(text), _READ_AT_ONCE):
        piece = text[offset : offset + _READ_AT_ONCE]
        try:
            data = bytes.fromhex(piece)
        except ValueError:
            _check_digits(piece, start + offset - odd)
            data = b""
        if 2 * len(data) != len(piece):
            return _read_spaced(digits, start)
        pieces.append(data)
    return b"".join(pieces)


def _read_spaced(digits: str, start: int) -> bytes:
    """Read hex with white space.

    White space counts for the length but has no value, so bytes at the end stay zero.
    """
    _check_digits(digits, start)
    text = digits.encode()
    padded = b"0" * (len(text) % 2) + text.translate(None, _WHITE)
    return bytes.fromhex(padded[: len(padded) // 2 * 2].decode()).ljust((len(text) + 1) // 2, b"\0")


def _check_digits(digits: str, start: int) -> None:
    """Raise Misread at the first character that is not a digit; its position counts to its first byte."""
    for offset in range(0, len(digits), _READ_AT_ONCE):
        piece = digits[offset : offset + _READ_AT_ONCE].encode(errors="replace")
        if wrong_bytes := piece.translate(None, _DIGITS + _WHITE):
            position = start + offset + piece.index(wrong_bytes[:1])
            raise Misread(f"invalid hex character: {chr(wrong_bytes[0])}, at {position}")


def read_prefixed_hex(value: Any) -> bytes:
    """Read hex of whole bytes with `0x`.

    For cfnode's own methods, where a text without `0x` may mean something else.
    """
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError(f"expected a string of 0x and hex digits, got {excerpt(value)}")
    return read_whole_bytes(value)


def read_whole_bytes(value: Any) -> bytes:
    """Read hex with or without `0x`, an even number of digits.

    For texts that official methods decode themselves.
    """
    if not isinstance(value, str):
        raise invalid_type(value, "a string")
    digits = value.removeprefix("0x")
    if len(digits) % 2 or not (digits.isalnum() or not digits):
        raise ValueError(f"expected an even number of hex digits, got {excerpt(value)}")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueError(f"expected an even number of hex digits, got {excerpt(value)}") from None


def _check_key(value: Any) -> None:
    if isinstance(value, str) and len(value) > 2 * MAX_STORAGE_KEY_BYTES + 2:
        raise ValueError(f"expected at most {MAX_STORAGE_KEY_BYTES} bytes of hex, got {len(value) // 2}")


def read_key(value: Any) -> bytes:
    """Read a storage key or a prefix of one: hex."""
    _check_key(value)
    return read_hex(value)


def fixed_hex(length: int) -> Callable[[Any], bytes]:
    """Return a reader of hex of exactly `length` bytes, `0x` optional."""
    return _sized_hex(2 * length, 2 * length, f"{_HEX_BYTES} containing {length} bytes")


def _sized_hex(minimum: int, maximum: int, expected: str) -> Callable[[Any], bytes]:
    """Return a reader of hex with `minimum` to `maximum` digits, `0x` optional."""

    def read(value: Any) -> bytes:
        if not isinstance(value, str):
            raise invalid_type(value, expected)
        digits = len(value.encode(errors="replace")) - 2 * value.startswith("0x")
        if not minimum <= digits <= maximum:
            raise Misread(f"invalid length {digits}, expected {expected}")
        return read_hex(value)

    return read


_read_digits_256 = _sized_hex(1, 64, f"{_HEX_BYTES} containing between (0; 32] bytes")


def read_hex_number(value: Any) -> int:
    """Read hex up to 2^256 - 1, `0x` optional; a JSON number is refused."""
    return int.from_bytes(_read_digits_256(value), "big")


def bounded_integer(maximum: int, minimum: int = 0) -> Callable[[Any], int]:
    """Return a reader of a JSON integer within the bounds; booleans and fractions are refused."""
    expected = f"{'i' if minimum else 'u'}{(maximum - minimum).bit_length()}"

    def read(value: Any) -> int:
        if type(value) is not int or not -(2**63) <= value < max(2**64, maximum + 1):
            raise invalid_type(value, expected)  # beyond 64 bits it is a fraction to serde_json
        if not minimum <= value <= maximum:
            raise invalid_value(value, expected)
        return value

    return read


def read_number_or_hex(value: Any) -> int:
    """Read a JSON integer up to 2^64 - 1, or a string of hex up to 2^256 - 1.

    `0x` is optional: "100" is 256.
    """
    try:
        return _number(value) if type(value) is int else read_hex_number(value)
    except Misread:
        raise no_variant("NumberOrHex") from None


_number = bounded_integer(U64_MAX)


def no_variant(kind: str) -> Misread:
    """Return the error for a value that fits none of an enum's types."""
    return Misread(f"data did not match any variant of untagged enum {kind}", JsonPosition.OUTSIDE)


def read_amount(value: Any) -> int:
    """Read a JSON integer, or a string of hex with `0x`, up to 2^128 - 1."""
    if type(value) is int:
        return bounded_integer(U128_MAX)(value)
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError(f"expected an integer or a string of 0x and hex digits, got {excerpt(value)}")
    return bounded_integer(U128_MAX)(read_number_or_hex(value))


def write_number_or_hex(value: int) -> int | str:
    """Write a u32 or u64 of the chain: a number while JavaScript represents it exactly, else hex."""
    return value if value < 2**53 else hex(value)


def read_text(value: Any) -> str:
    """Read a string."""
    if not isinstance(value, str):
        raise invalid_type(value, "a string")
    if len(value) > MAX_PARAM_TEXT:
        raise ValueError(f"expected at most {MAX_PARAM_TEXT} characters, got {len(value)}")
    return value


def read_bool(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise invalid_type(value, "a boolean")
    return value


def read_account(value: Any) -> bytes:
    """Read an SS58 account id of any prefix; hex is refused, as by the official node."""
    try:
        return ss58.decode(read_text(value))[1]
    except ss58.Ss58Error as error:
        raise Misread(error.official, JsonPosition.OUTSIDE) from None


def read_u128(value: Any) -> int:
    """Read a JSON number up to 2^128 - 1, which serde_json reads digit by digit."""
    if type(value) is float and value >= 0:
        raise Misread("trailing characters", JsonPosition.DIGITS)
    if type(value) not in (int, float):
        raise Misread("invalid number", JsonPosition.FIRST)
    if not 0 <= value <= U128_MAX:
        raise Misread("number out of range", JsonPosition.FIRST if value < 0 else JsonPosition.AFTER)
    return int(value)


def listed(reader: Reader, maximum: int) -> Reader:
    """Return a reader of an array of at most `maximum` values of `reader`."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise invalid_type(value, "a sequence")
        if len(value) > maximum:
            raise ValueError(f"expected at most {maximum} entries, got {len(value)}")
        return [_read_entry(reader, index, entry) for index, entry in enumerate(value)]

    return Reader(f"[{reader.shape}]", read)


def _read_entry(reader: Reader, index: int, entry: Any) -> Any:
    try:
        return reader.read(entry)
    except Misread as error:
        raise error.inside(index) from None


BYTES = Reader("0x hex", read_hex)
STORAGE_KEY = Reader("0x hex", read_key)
HASH = Reader("0x hash", fixed_hex(32))
BOOL = Reader("bool", read_bool)
TEXT = Reader("string", read_text)
U16 = Reader("u16", bounded_integer(U16_MAX))
U32 = Reader("u32", bounded_integer(U32_MAX))
U64 = Reader("u64", bounded_integer(U64_MAX))
U128 = Reader("u128", read_u128)
AMOUNT = Reader("u128 or 0x hex", read_amount)
NUMBER_OR_HEX = Reader("number or hex", read_number_or_hex)
ACCOUNT = Reader("SS58 account", read_account)
