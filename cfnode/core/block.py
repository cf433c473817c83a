"""Which block is meant? A block is named by its hash; its number goes with it wherever order matters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BlockRef"]


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block by hash (32 bytes) and number."""

    hash: bytes
    number: int
