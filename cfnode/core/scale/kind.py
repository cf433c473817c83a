"""What is a compiled type?

A pair of closures. `encode(value, out, depth)` appends to `out`; `decode(data, offset, depth)` gives the
value and the offset behind it. `depth` counts how often a value has entered its own type, see `compiler`.
Closures and not classes, since a call through `self` costs a third of a small decode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Decode", "Encode", "Kind", "least"]

Encode = Callable[[Any, bytearray, int], None]
Decode = Callable[[bytes, int, int], tuple[Any, int]]


class Kind(NamedTuple):
    """`size` is the fewest bytes that a value takes: a length is checked with it before any item is read."""

    encode: Encode
    decode: Decode
    size: int


_MOST = 1 << 32


def least(sizes: Iterable[int]) -> int:
    """The size of parts together, kept small: a hostile type table can double it with each row."""
    return min(sum(sizes), _MOST)
