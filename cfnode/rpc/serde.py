"""How does the official node word a parameter that it cannot read?

It reads JSON with serde_json, whose errors say what was found, what was expected, and at which line and
column of the text that it was given: `invalid type: integer `5`, expected u32 at line 1 column 1`. That text
begins, for a parameter by position, behind the bracket or comma before it; for parameters by name, with the
object.

A reader raises Misread, which knows the place as a path; `located` adds line and column from the bytes that
the client sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from typing import Any, Final

import msgspec

__all__ = ["Misread", "Place", "cut", "invalid_type", "invalid_value", "located", "missing_field"]

MAX_REPEATED: Final = 1024
"""Characters that an error repeats of a text; the official node repeats all of it."""
MAX_SEARCHED: Final = 4 * 1024
"""Bytes of parameters in which a place is looked for, which takes 4 ms of the event loop at most; errors of
longer ones lack it."""

_TOKEN: Final = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)')
_OPENING: Final = (b"[", b"{")
_CLOSING: Final = (b"]", b"}")
_QUOTED: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}

Step = int | str
_Tokens = list[tuple[bytes, int, int]]


class Place(Enum):
    """Where serde_json stands when it refuses a value."""

    BEFORE = "before"
    """At its first byte: it has only seen that this is an array or an object."""
    AFTER = "after"
    """Behind it."""
    OUTSIDE = "outside"
    """Behind it and out of its reach: a parameter of its own gets no place."""
    FIRST = "first"
    """Behind its first byte, which begins nothing that it wants."""
    SECOND = "second"
    """Behind the first byte after its bracket."""
    NAME = "name"
    """Behind the name of the member that the path ends with."""
    COLON = "colon"
    """At the colon behind that name."""
    NEXT = "next"
    """At what follows it, where an end is wanted."""
    DIGITS = "digits"
    """Behind the first byte after its leading digits."""


class Misread(ValueError):
    """A value that is not of the official node's type, in the words of serde."""

    def __init__(
        self,
        text: str,
        place: Place = Place.AFTER,
        path: tuple[Step, ...] = (),
        buffered: str | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.place = place
        self.path = path
        self.buffered = buffered
        """Other words, for a value that was kept before its type was known."""

    def inside(self, step: Step) -> Misread:
        """The same as an error of the array or object that holds the value."""
        return Misread(self.text, self.place, (step, *self.path), self.buffered)


def invalid_type(value: Any, expected: str) -> Misread:
    """The value is of another JSON type than the wanted one."""
    place = Place.BEFORE if isinstance(value, list | dict) else Place.AFTER
    if type(value) is int and _float(value) == "inf":
        return Misread("number out of range")
    return Misread(f"invalid type: {_found(value)}, expected {expected}", place)


def invalid_value(value: Any, expected: str) -> Misread:
    """The type is right, the value is out of its range."""
    return Misread(f"invalid value: {_found(value)}, expected {expected}")


def missing_field(name: str) -> Misread:
    """An object lacks a member."""
    return Misread(f"missing field `{name}`")


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
    """As serde_json writes it: without exponent from 0.00001 on."""
    try:
        text = repr(float(value))
    except OverflowError:
        return "inf"
    return f"{Decimal(text):f}" if text.endswith("e-05") else text.replace("e-0", "e-")


def cut(text: str) -> str:
    """A text as an error repeats it: not all of a long one."""
    return f"{text[:MAX_REPEATED]}…" if len(text) > MAX_REPEATED else text


def quoted(text: str) -> str:
    """A text as Rust's Debug writes it, cut short where it is long."""
    return '"' + "".join(_QUOTED.get(letter, letter) for letter in cut(text)) + '"'


def located(error: Misread, params: bytes) -> str:
    """The text with line and column. `params`: the JSON array or object in which `error.path` leads to the
    value.
    """
    by_name = params[:1] == b"{"
    if len(params) > MAX_SEARCHED or (error.place is Place.OUTSIDE and len(error.path) < 2 and not by_name):
        return error.text
    tokens = list(_tokens(params))
    first, base = _find(tokens, error.path, by_name=by_name)
    if first >= len(tokens):
        return error.text
    in_array = bool(error.path) and isinstance(error.path[-1], int)
    read = params[base : _stop(tokens, first, error.place, in_array=in_array)]
    line, column = 1 + read.count(b"\n"), len(read) - read.rfind(b"\n") - 1
    return f"{error.text} at line {line} column {column}"


def _tokens(params: bytes) -> Iterator[tuple[bytes, int, int]]:
    for match in _TOKEN.finditer(params):
        yield match[1], match.start(1), match.end(1)


def _find(tokens: _Tokens, path: tuple[Step, ...], *, by_name: bool) -> tuple[int, int]:
    """The first token of the value, and where the text begins that the official node's reader was given."""
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
    """The token behind the value that begins at `index`."""
    depth = 0
    while index < len(tokens):
        depth += (tokens[index][0] in _OPENING) - (tokens[index][0] in _CLOSING)
        index += 1
        if depth <= 0:
            break
    return index


_NEAR: Final[dict[Place, Callable[[_Tokens, int], int]]] = {
    Place.BEFORE: lambda tokens, first: tokens[first][1],
    Place.FIRST: lambda tokens, first: tokens[first][1] + 1,
    Place.SECOND: lambda tokens, first: tokens[first + 1][1] + 1,
    Place.NAME: lambda tokens, first: tokens[first - 2][2],
    Place.COLON: lambda tokens, first: tokens[first - 1][1],
    Place.DIGITS: lambda tokens, first: tokens[first][1] + _digits(tokens[first][0]) + 1,
}
"""Where the reader stands before the end of a value."""


def _digits(number: bytes) -> int:
    return len(number) - len(number.lstrip(b"0123456789"))


def _stop(tokens: _Tokens, first: int, place: Place, *, in_array: bool) -> int:
    """Where the reader stands. Out of a value's reach it has tried to read the end of what holds it, and has
    passed over a comma in an array.
    """
    if place in _NEAR:
        return _NEAR[place](tokens, first)
    after = _after(tokens, first)
    if place is Place.AFTER or after >= len(tokens):
        return tokens[after - 1][2]
    if place is Place.NEXT:
        return tokens[after][1]
    if tokens[after][0] in _CLOSING:
        return tokens[after][2]
    return tokens[after + in_array][1]
