"""The errors of the official node for malformed parameters: texts and positions of serde_json.

Such an error names what was found, what was expected, and the line and column of the parsed text: `invalid
type: integer `5`, expected u32 at line 1 column 1`. For a parameter by position, the parsed text begins after
the bracket or comma before the parameter; for parameters by name, it is the whole object.

A reader raises Misread, which has the location as a path; `located` adds line and column from the bytes that
the client sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, Final

import msgspec

__all__ = [
    "JsonPosition",
    "Misread",
    "cut",
    "duplicate_field",
    "invalid_type",
    "invalid_value",
    "located",
    "missing_field",
]

MAX_QUOTED_VALUE: Final = 1024
"""Characters of a text that an error quotes; the official node quotes all of it."""
MAX_SEARCHED: Final = 16 * 1024
"""Bytes of the parameters whose errors get line and column."""
MAX_JSON_TOKENS: Final = 4 * 1024
"""Tokens of those parameters: finding the place takes a microsecond of the event loop for each."""

_TOKEN: Final = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)')
_OPENING: Final = (b"[", b"{")
_CLOSING: Final = (b"]", b"}")
_QUOTED: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}

Step = int | str
_Tokens = list[tuple[bytes, int, int]]


class JsonPosition(Enum):
    """The position of serde_json's parser when it refuses a value."""

    BEFORE = "before"
    """At the value's first byte: the parser has only seen that this is an array or an object."""
    AFTER = "after"
    """After the value."""
    OUTSIDE = "outside"
    """After the value, and outside of the parser: a whole parameter gets no line and column."""
    FIRST = "first"
    """After the value's first byte, which cannot start the expected type."""
    SECOND = "second"
    """After the first byte that follows the value's bracket."""
    NAME = "name"
    """After the name of the member at the end of the path."""
    COLON = "colon"
    """At the colon after the name of the member at the end of the path."""
    AGAIN = "again"
    """At the colon after that name where the name stands for the second time."""
    NEXT = "next"
    """At the token that follows the value, where an end is expected."""
    DIGITS = "digits"
    """After the first byte that follows the value's leading digits."""


class Misread(ValueError):
    """A value that does not fit the official node's type, with serde's text."""

    def __init__(
        self,
        text: str,
        place: JsonPosition = JsonPosition.AFTER,
        path: tuple[Step, ...] = (),
        buffered: str | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.place = place
        self.path = path
        self.buffered = buffered
        """The text for a value that serde buffers before it knows the type, if it is another one."""

    def inside(self, step: Step) -> Misread:
        """Return this error as one of the array or object that holds the value."""
        return Misread(self.text, self.place, (step, *self.path), self.buffered)


def invalid_type(value: Any, expected: str) -> Misread:
    """Return the error for a value of another JSON type than expected."""
    place = JsonPosition.BEFORE if isinstance(value, list | dict) else JsonPosition.AFTER
    if type(value) is int and _float(value) == "inf":
        return Misread("number out of range")
    return Misread(f"invalid type: {_found(value)}, expected {expected}", place)


def invalid_value(value: Any, expected: str) -> Misread:
    """Return the error for a value of the right type that is out of range."""
    return Misread(f"invalid value: {_found(value)}, expected {expected}")


def missing_field(name: str) -> Misread:
    """Return the error for an object that lacks a member."""
    return Misread(f"missing field `{name}`")


def duplicate_field(name: str, spelling: str, *, is_same: bool) -> Misread:
    """Return the error for an object that has a member twice, the second time by the name `spelling`.

    `is_same`: whether the first time was by that name too.
    """
    return Misread(
        f"duplicate field `{name}`", JsonPosition.AGAIN if is_same else JsonPosition.COLON, (spelling,)
    )


def _found(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int() if -(2**63) <= value < 2**64:
            return f"integer `{value}`"
        case int() | float():
            return f"floating point `{_float(value)}`"
        case str():
            return f"string {quoted(value)}"
        case list():
            return "sequence"
    return "map"


def _float(value: int | float) -> str:
    """Return a number as serde_json writes it: without exponent from 0.00001 on."""
    try:
        text = repr(float(value))
    except OverflowError:
        return "inf"
    return f"{Decimal(text):f}" if text.endswith("e-05") else text.replace("e-0", "e-")


def cut(text: str) -> str:
    """Return a text as an error quotes it: a long one is cut."""
    return f"{text[:MAX_QUOTED_VALUE]}…" if len(text) > MAX_QUOTED_VALUE else text


def quoted(text: str) -> str:
    """Return a text as Rust's Debug writes it; a long one is cut."""
    return '"' + "".join(_QUOTED.get(letter, letter) for letter in cut(text)) + '"'


def located(error: Misread, params: bytes) -> str:
    """Return the text of an error with line and column.

    `params`: the JSON array or object in which `error.path` leads to the value.
    """
    by_name = params[:1] == b"{"
    if len(params) > MAX_SEARCHED or (
        error.place is JsonPosition.OUTSIDE and len(error.path) < 2 and not by_name
    ):
        return error.text
    tokens = list(islice(_tokens(params), MAX_JSON_TOKENS + 1))
    if len(tokens) > MAX_JSON_TOKENS:
        return error.text
    index, base = _find(tokens, error.path, by_name=by_name)
    if index >= len(tokens):
        return error.text
    in_array = bool(error.path) and isinstance(error.path[-1], int)
    read_text = params[base : _stop(tokens, index, error.place, in_array=in_array)]
    line, column = 1 + read_text.count(b"\n"), len(read_text) - read_text.rfind(b"\n") - 1
    return f"{error.text} at line {line} column {column}"


def _tokens(params: bytes) -> Iterator[tuple[bytes, int, int]]:
    for match in _TOKEN.finditer(params):
        yield match[1], match.start(1), match.end(1)


def _find(tokens: _Tokens, path: tuple[Step, ...], *, by_name: bool) -> tuple[int, int]:
    """Return the first token of the value, and where the text begins that the official node parses."""
    index, base = 0, 0
    for depth, step in enumerate(path):
        index = _member(tokens, index, step) if isinstance(step, str) else _entry(tokens, index, step)
        if depth == 0 and not by_name and index < len(tokens):
            base = tokens[index - 1][2]
    return index, base


def _entry(tokens: _Tokens, index: int, step: int) -> int:
    index += 1
    for _ in range(step):
        index = _after(tokens, index) + 1
    return index


def _member(tokens: _Tokens, index: int, name: str) -> int:
    index += 1
    while index < len(tokens) and tokens[index][0] not in _CLOSING:
        if msgspec.json.decode(tokens[index][0]) == name:
            return index + 2
        index = _after(tokens, index + 2) + 1
    return len(tokens)


def _after(tokens: _Tokens, index: int) -> int:
    """Return the token after the value that begins at `index`."""
    depth = 0
    while index < len(tokens):
        depth += (tokens[index][0] in _OPENING) - (tokens[index][0] in _CLOSING)
        index += 1
        if depth <= 0:
            break
    return index


_NEAR: Final[dict[JsonPosition, Callable[[_Tokens, int], int]]] = {
    JsonPosition.BEFORE: lambda tokens, first: tokens[first][1],
    JsonPosition.FIRST: lambda tokens, first: tokens[first][1] + 1,
    JsonPosition.SECOND: lambda tokens, first: tokens[first + 1][1] + 1,
    JsonPosition.NAME: lambda tokens, first: tokens[first - 2][2],
    JsonPosition.COLON: lambda tokens, first: tokens[first - 1][1],
    JsonPosition.AGAIN: lambda tokens, first: tokens[_next_of_name(tokens, first) - 1][1],
    JsonPosition.DIGITS: lambda tokens, first: tokens[first][1] + _digits(tokens[first][0]) + 1,
}
"""The parser's position before the end of a value."""


def _next_of_name(tokens: _Tokens, first: int) -> int:
    """Return the next value in the object whose member has the name of the one that begins at `first`."""
    return _member(tokens, _after(tokens, first), msgspec.json.decode(tokens[first - 2][0]))


def _digits(number: bytes) -> int:
    return len(number) - len(number.lstrip(b"0123456789"))


def _stop(tokens: _Tokens, first: int, place: JsonPosition, *, in_array: bool) -> int:
    """Return the parser's position.

    For Place.OUTSIDE it has tried to read the end of the enclosing array or object, and has passed a comma in
    an array.
    """
    if place in _NEAR:
        return _NEAR[place](tokens, first)
    next_index = _after(tokens, first)
    if place is JsonPosition.AFTER or next_index >= len(tokens):
        return tokens[next_index - 1][2]
    if place is JsonPosition.NEXT:
        return tokens[next_index][1]
    if tokens[next_index][0] in _CLOSING:
        return tokens[next_index][2]
    return tokens[next_index + in_array][1]
