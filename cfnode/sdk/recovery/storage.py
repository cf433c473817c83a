"""Keys and values of State Chain storage, from the hex of `state_getStorage`."""

from __future__ import annotations

from typing import Any

from cfnode.core import foreign
from cfnode.core.hashing import twox_128
from cfnode.sdk.errors import BadAnswer
from cfnode.sdk.exchange import origin_of

__all__ = ["bad_answer", "hex_bytes", "hex_number", "storage_key"]


def storage_key(pallet: str, item: str) -> str:
    """Return the key of a storage item, 0x hex."""
    return "0x" + (twox_128(pallet.encode()) + twox_128(item.encode())).hex()


def hex_number(text: Any, source: str, width: int = 4) -> int:
    """Read a storage value that is a number of `width` bytes, little-endian; 0 if it is missing.

    Raises BadAnswer.
    """
    data = hex_bytes(text, source)
    if len(data) not in (0, width):
        raise bad_answer(source, f"state_getStorage returned {len(data)} bytes for a number of {width}")
    return int.from_bytes(data, "little")


def hex_bytes(text: Any, source: str) -> bytes:
    """Read a storage value in 0x hex from `source` (a node's address); empty if it is missing.

    Raises BadAnswer.
    """
    try:
        return b"" if text is None else foreign.hex_bytes(text)
    except foreign.ForeignError:
        raise bad_answer(source, "state_getStorage returned text that is not hex") from None


def bad_answer(source: str, text: str) -> BadAnswer:
    """Return the error for a malformed answer of `source`."""
    return BadAnswer(f"{text} ({origin_of(source)})", url=origin_of(source), sent=True, retryable=False)
