"""Reference to a block by hash and number.

The hash identifies the block; its number is kept with it where order matters.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BlockRef"]


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block by hash (32 bytes) and number."""

    hash: bytes
    number: int
