"""Decoded storage values that a runtime keeps, each with the bytes that it was decoded from.

A value is a function of its codec and its bytes. So a kept value is used only where the storage holds exactly
those bytes: after a rollback, in another block or on another fork they may be others, which are then
decoded. Writes need no rule of their own. The values are shared by all their readers, who may not change
them: they are frozen dataclasses, and sequences and mappings without methods that write in their types.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

__all__ = ["MAX_DECODED_BYTES", "KeptValues"]

V = TypeVar("V")

MAX_DECODED_BYTES: Final = 8 << 20
"""Bytes of memory that all kept values take, by estimate."""
MAX_ENCODED_BYTES: Final = 256 << 10
"""Encoded bytes of one kept value."""
DECODED_ENTRY_BYTES: Final = 400
"""Bytes of memory of an entry besides its value."""
BYTES_PER_ENCODED_BYTE: Final = 10
"""Bytes of memory that each encoded byte of a value takes, encoded and decoded."""

_Entry = tuple[bytes, Any]


class KeptValues:
    """The decoded values of one runtime by storage key, or by another key that belongs to one decoder.

    Beyond `max_bytes` of memory, by estimate, the values that came first are dropped.
    """

    def __init__(self, max_bytes: int = MAX_DECODED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: dict[Hashable, _Entry] = {}
        self.size = 0
        """Bytes of memory that the values take, by estimate."""

    def __len__(self) -> int:
        """Return the number of kept values."""
        return len(self._entries)

    def decoded(self, key: Hashable, encoded: bytes, decode: Callable[[bytes], V]) -> V:
        """Return the value that `decode` returns for these bytes; it is called only if they are new."""
        entry = self._entries.get(key)
        if entry is not None and entry[0] == encoded:
            value: V = entry[1]
            return value
        value = decode(encoded)
        self.keep(key, encoded, value)
        return value

    def keep(self, key: Hashable, encoded: bytes, value: object) -> None:
        """Keep a value, and forget the one before under the key. A very large one is not kept."""
        previous = self._entries.get(key)
        if previous is not None:
            self.size -= _cost(previous[0])
        if len(encoded) > MAX_ENCODED_BYTES:
            self._entries.pop(key, None)
            return
        self._entries[key] = encoded, value
        self.size += _cost(encoded)
        while self.size > self._max_bytes:
            self._drop_first()

    def _drop_first(self) -> None:
        encoded, _ = self._entries.pop(next(iter(self._entries)))
        self.size -= _cost(encoded)


def _cost(encoded: bytes) -> int:
    return DECODED_ENTRY_BYTES + BYTES_PER_ENCODED_BYTE * len(encoded)
