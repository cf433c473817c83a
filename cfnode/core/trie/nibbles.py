"""Conversion between keys and nibbles.

A nibble is one byte (0 to 15) here; the high nibble of each key byte is first. Polkadot spec, state storage:
key encoding.
"""

from __future__ import annotations

_TO_NIBBLES = bytes(int(chr(c), 16) if chr(c) in "0123456789abcdef" else 0 for c in range(256))
_TO_HEX = bytes(ord("0123456789abcdef"[n]) if n < 16 else 0 for n in range(256))


def to_nibbles(key: bytes) -> bytes:
    """The nibbles of a key: twice its length."""
    return key.hex().encode().translate(_TO_NIBBLES)


def to_key(nibbles: bytes) -> bytes:
    """The key of an even number of nibbles; an odd number raises ValueError."""
    return bytes.fromhex(nibbles.translate(_TO_HEX).decode())


def pack(nibbles: bytes) -> bytes:
    """The partial key bytes of a node: an odd number is led by a zero nibble."""
    if not nibbles:
        return b""
    return to_key(b"\x00" + nibbles if len(nibbles) & 1 else nibbles)


def covering_key(path: bytes) -> bytes:
    """A key whose look-up passes through the node at `path`."""
    return to_key(path + b"\x00" if len(path) & 1 else path)


def common_prefix(a: bytes, b: bytes) -> int:
    """How many nibbles two sequences share at their beginning."""
    if a == b:
        return len(a)
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    return next(i for i in range(length) if a[i] != b[i])
