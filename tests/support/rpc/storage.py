"""Storage keys and hashes of blocks."""

from __future__ import annotations

from cfnode.core.hashing import twox_128

UNKNOWN = "0x" + "77" * 32
NUMBER = "0x" + (twox_128(b"System") + twox_128(b"Number")).hex()
