"""Conversion between keys and nibbles.

A nibble is one byte (0 to 15) here; the high nibble of each key byte is first. Polkadot spec, state storage:
key encoding.
"""

from __future__ import annotations

_TO_NIBBLES = bytes(int(chr(c), 16) if chr(c) in "0123456789abcdef" else 0 for c in range(256))
_TO_HEX = bytes(ord("0123456789abcdef"[n]) if n < 16 else 0 for n in range(256))


def to_nibbles(key: bytes) -> bytes:
    """Return the nibbles of a key, twice as many as its bytes."""
    return key.hex().encode().translate(_TO_NIBBLES)


def to_key(nibbles: bytes) -> bytes:
    """Return the key of an even number of nibbles; raise ValueError for an odd number."""
    return bytes.fromhex(nibbles.translate(_TO_HEX).decode())


def pack(nibbles: bytes) -> bytes:
    """Return the partial key of a node as bytes: an odd number of nibbles is led by a zero nibble."""
    if not nibbles:
        return b""
    return to_key(b"\x00" + nibbles if len(nibbles) & 1 else nibbles)


def covering_key(path: bytes) -> bytes:
    """Return a key whose look-up passes through the node at `path`."""
    return to_key(path + b"\x00" if len(path) & 1 else path)


def common_prefix(a: bytes, b: bytes) -> int:
    """Return the number of nibbles that two sequences share at their beginning."""
    if a == b:
        return len(a)
    length = min(len(a), len(b))
    if a[:length] == b[:length]:
        return length
    return next(i for i in range(length) if a[i] != b[i])
