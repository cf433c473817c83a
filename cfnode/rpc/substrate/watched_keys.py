"""The keys that a storage subscription watches, packed to take little memory.

Hundreds of subscriptions may watch thousands of keys each. The keys of a subscription lie in one bytes
object, with a sorted table of their hashes for lookups. As separate objects they would take four times as
much, and the garbage collector would visit each of them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, overload

__all__ = ["WatchedKeys"]

HASH: Final = "q"
"""The array type of `hash` values."""
OFFSET: Final = "Q"


class WatchedKeys(Sequence[bytes]):
    """Keys in the order of the list; the place of a repeated key is that of its first occurrence."""

    __slots__ = ("_data", "_ends", "_hashes", "_places")

    def __init__(self, keys: Sequence[bytes]) -> None:
        hashes = [hash(key) for key in keys]
        places = sorted(range(len(keys)), key=hashes.__getitem__)
        self._data = b"".join(keys)
        self._ends = array(OFFSET, accumulate(map(len, keys)))
        self._hashes = array(HASH, (hashes[index] for index in places))
        self._places = array(OFFSET, places)

    def __len__(self) -> int:
        """Return the number of keys, repeated ones included."""
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...

    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        """Return the key at a place, or the list of keys of a slice."""
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        return self._data[self._ends[place - 1] if place else 0 : self._ends[place]]

    def place(self, key: bytes) -> int | None:
        """Return the place of a key; None if it is not watched."""
        key_hash = hash(key)
        position = bisect_left(self._hashes, key_hash)
        while position < len(self) and self._hashes[position] == key_hash:
            if self[self._places[position]] == key:
                return self._places[position]
            position += 1
        return None
