"""How do JSON values become bytes and numbers, and back? The readers and writers that all namespaces share.

Each Reader names the shape it takes (for the reference page and the error) and raises ValueError with words
that fit after the parameter's name. Hex is lower case on output; `0x` is optional on input where Substrate
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cfnode.core import ss58
from cfnode.rpc.table import Reader

SS58_PREFIX = 2112
U16_MAX, U32_MAX, U64_MAX, U128_MAX = (2**bits - 1 for bits in (16, 32, 64, 128))
_SHOWN = 80
_LONGEST_FIXED = 4096
"""Characters from which on hex of a fixed length is not converted to see how long it is."""
MAX_KEY = 32 * 1024
"""Bytes of a storage key: a partial key of a trie has fewer than 65,536 nibbles."""
MAX_TEXT = 64 * 1024
"""Characters of a parameter that is text: names, addresses, secret URIs. A longer one takes up to four bytes
a character while its call lasts."""

Member = tuple[Callable[[Any], Any], bool]
"""How an object's member is read, and whether it may be missing or null."""


def shown(value: Any) -> str:
    """A value as an error repeats it: cut short, never raising. What is cut off is not looked at."""
    text = ""
    for part in _parts(value):
        text += part
        if len(text) > _SHOWN:
            return f"{text[:_SHOWN]}…"
    return text


def _parts(value: Any) -> Iterator[str]:
    """The text of a decoded JSON value, in the pieces of its structure."""
    if isinstance(value, str):
        yield repr(value[: _SHOWN + 1])
    elif isinstance(value, list):
        yield "["
        for index, entry in enumerate(value):
            yield ", " if index else ""
            yield from _parts(entry)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (name, entry) in enumerate(value.items()):
            yield f"{', ' if index else ''}{name[: _SHOWN + 1]!r}: "
            yield from _parts(entry)
        yield "}"
    else:
        is_huge = isinstance(value, int) and value.bit_length() >= 600
        yield "a huge number" if is_huge else repr(value)


def to_hex(data: bytes) -> str:
    """`0x` and lower-case digits."""
    return f"0x{data.hex()}"


def number_hex(value: int) -> str:
    """`0x` and no leading zeros; zero is `0x0`."""
    return hex(value)


def account(public: bytes) -> str:
    """An account id as SS58 with the chain's prefix (`cF…`)."""
    return ss58.encode(public, SS58_PREFIX)


def read_hex(value: Any) -> bytes:
    """`0x` hex of any length; the prefix is required, as Substrate requires it of `Bytes`."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError(f"expected a string of 0x and hex digits, got {shown(value)}")
    try:
        return bytes.fromhex(value[2:]) if " " not in value else _bad_hex(value)
    except ValueError:
        return _bad_hex(value)


def _bad_hex(value: str) -> bytes:
    raise ValueError(f"expected an even number of hex digits after 0x, got {shown(value)}") from None


def read_loose_hex(value: Any) -> bytes:
    """Hex with or without `0x`."""
    if isinstance(value, str) and not value.startswith("0x"):
        value = f"0x{value}"
    return read_hex(value)


def _check_key(value: Any) -> None:
    if isinstance(value, str) and len(value) > 2 * MAX_KEY + 2:
        raise ValueError(f"expected at most {MAX_KEY} bytes of hex, got {len(value) // 2}")


def read_key(value: Any) -> bytes:
    """A storage key, or the beginning of one: `0x` hex."""
    _check_key(value)
    return read_hex(value)


def read_loose_key(value: Any) -> bytes:
    """The same with or without `0x`."""
    _check_key(value)
    return read_loose_hex(value)


def fixed_hex(length: int) -> Callable[[Any], bytes]:
    """Hex of exactly so many bytes, `0x` optional."""

    def read(value: Any) -> bytes:
        if isinstance(value, str) and len(value) > _LONGEST_FIXED:
            raise ValueError(f"expected {length} bytes of hex, got {len(value) // 2}")
        data = read_loose_hex(value)
        if len(data) != length:
            raise ValueError(f"expected {length} bytes of hex, got {len(data)}")
        return data

    return read


def bounded_integer(maximum: int, minimum: int = 0) -> Callable[[Any], int]:
    """A JSON integer within the bounds; booleans and fractions are refused."""

    def read(value: Any) -> int:
        if type(value) is not int:
            raise ValueError(f"expected an integer, got {shown(value)}")
        if not minimum <= value <= maximum:
            raise ValueError(f"expected an integer from {minimum} to {maximum}, got {shown(value)}")
        return value

    return read


def read_number_or_hex(value: Any) -> int:
    """A JSON integer up to 2^64 - 1, or a string of hex up to 2^256 - 1; without `0x` too: "100" is 256."""
    if type(value) is int:
        return bounded_integer(U64_MAX)(value)
    digits = value.removeprefix("0x") if isinstance(value, str) else ""
    if not digits or len(digits) > 64 or not set(digits) <= set("0123456789abcdefABCDEF"):
        raise ValueError(f"expected an integer or a hex string, got {shown(value)}")
    return int(digits, 16)


def read_amount(value: Any) -> int:
    """A JSON integer, or a string of hex with `0x`, up to 2^128 - 1."""
    if type(value) is int:
        return bounded_integer(U128_MAX)(value)
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError(f"expected an integer or a string of 0x and hex digits, got {shown(value)}")
    return bounded_integer(U128_MAX)(read_number_or_hex(value))


def write_number_or_hex(value: int) -> int | str:
    """What comes from a u32 or u64: a number while JavaScript holds it exactly, else hex."""
    return value if value < 2**53 else hex(value)


def read_text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {shown(value)}")
    if len(value) > MAX_TEXT:
        raise ValueError(f"expected at most {MAX_TEXT} characters, got {len(value)}")
    return value


def read_bool(value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {shown(value)}")
    return value


def read_account(value: Any) -> bytes:
    """An SS58 account id of any prefix; hex is refused, as the official node does."""
    text = read_text(value)
    try:
        return ss58.decode(text)[1]
    except ValueError as error:
        raise ValueError(f"expected an SS58 account id, got {shown(text)}: {error}") from None


def read_members(value: Any, members: Mapping[str, Member]) -> dict[str, Any]:
    """An object's members; missing optional ones are None, unknown ones are ignored. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {shown(value)}")
    found = {}
    for name, (read, optional) in members.items():
        if name not in value and not optional:
            raise ValueError(f"missing field `{name}`")
        entry = value.get(name)
        try:
            found[name] = None if entry is None and optional else read(entry)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def listed(reader: Reader, maximum: int) -> Reader:
    """An array of what `reader` takes, at most so many."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"expected an array, got {shown(value)}")
        if len(value) > maximum:
            raise ValueError(f"expected at most {maximum} entries, got {len(value)}")
        return [reader.read(entry) for entry in value]

    return Reader(f"[{reader.shape}]", read)


BYTES = Reader("0x hex", read_hex)
STORAGE_KEY = Reader("0x hex", read_key)
LOOSE_KEY = Reader("hex", read_loose_key)
LOOSE_BYTES = Reader("hex", read_loose_hex)
HASH = Reader("0x hash", fixed_hex(32))
BOOL = Reader("bool", read_bool)
TEXT = Reader("string", read_text)
U16 = Reader("u16", bounded_integer(U16_MAX))
U32 = Reader("u32", bounded_integer(U32_MAX))
U64 = Reader("u64", bounded_integer(U64_MAX))
U128 = Reader("u128", bounded_integer(U128_MAX))
AMOUNT = Reader("u128 or 0x hex", read_amount)
NUMBER_OR_HEX = Reader("number or hex", read_number_or_hex)
ACCOUNT = Reader("SS58 account", read_account)
