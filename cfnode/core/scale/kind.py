"""The kind of a compiled type: its encoder, its decoder and its minimum size.

Encoder and decoder are closures. `encode(value, out, depth)` appends to `out`; `decode(data, offset, depth)`
returns the value and the offset after it. `depth` counts how often a value is nested in its own type, see
`compiler`. Closures rather than classes, since a call through `self` takes a third of the time of a small
decode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Decode", "Encode", "Kind", "min_size"]

Encode = Callable[[Any, bytearray, int], None]
Decode = Callable[[bytes, int, int], tuple[Any, int]]


class Kind(NamedTuple):
    """A compiled type; `size` is the minimum number of bytes of a value.

    A length is checked with `size` before any item is read.
    """

    encode: Encode
    decode: Decode
    size: int


_MAX_SIZE = 1 << 32


def min_size(sizes: Iterable[int]) -> int:
    """Return the minimum size of all parts, bounded: a hostile type table can double it with each row."""
    return min(sum(sizes), _MAX_SIZE)
