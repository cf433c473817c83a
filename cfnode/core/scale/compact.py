"""Compact integers of SCALE, which take as few bytes as their size needs.

Polkadot spec, "SCALE codec, compact/general integers": the two low bits of the first byte are the mode.
0, 1, 2: the number takes the rest of 1, 2 or 4 bytes; 3: the upper six bits plus 4 count the bytes behind.
Each number has exactly one form; the longer ones are refused, as parity-scale-codec does, since otherwise
two byte strings (and so two hashes) would mean the same value.
"""

from __future__ import annotations

from cfnode.core.scale.errors import ScaleError, describe

__all__ = ["MAX_COMPACT", "MAX_LENGTH", "decode_compact", "decode_length", "encode_compact", "end_of_input"]

MAX_COMPACT = (1 << 536) - 1
"""The largest number of the compact form, which has 67 bytes."""

MAX_LENGTH = (1 << 32) - 1
"""The largest length of a sequence or string: these lengths are `Compact<u32>`."""

_ONE_BYTE = tuple(bytes([number << 2]) for number in range(64))


def end_of_input(offset: int, wanted: int, data: bytes) -> ScaleError:
    """Return the error for truncated bytes."""
    remaining = max(0, len(data) - offset)
    return ScaleError(
        f"the input ends too early: expected {wanted} bytes at offset {offset}, {remaining} left"
    )


def encode_compact(number: int) -> bytes:
    """Return the compact form of 0 ≤ number < 2^536; raise ScaleError."""
    if type(number) is not int or number < 0:
        raise ScaleError(f"a compact is a whole number from 0 up, not {describe(number)}")
    if number < 1 << 6:
        return _ONE_BYTE[number]
    if number < 1 << 14:
        return (number << 2 | 1).to_bytes(2, "little")
    if number < 1 << 30:
        return (number << 2 | 2).to_bytes(4, "little")
    size = (number.bit_length() + 7) // 8
    if size > 67:
        raise ScaleError(f"a compact holds at most 536 bits, not {number.bit_length()}")
    return bytes([(size - 4) << 2 | 3]) + number.to_bytes(size, "little")


def decode_compact(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number at `offset` and the offset after it.

    Raises ScaleError, also for a number that is not in its shortest form.
    """
    try:
        first = data[offset]
    except IndexError:
        raise end_of_input(offset, 1, data) from None
    mode = first & 3
    if mode == 0:
        return first >> 2, offset + 1
    if mode == 3:
        return _decode_big(data, offset, (first >> 2) + 4)
    size = mode * 2
    end = offset + size
    if end > len(data):
        raise end_of_input(offset, size, data)
    number = int.from_bytes(data[offset:end], "little") >> 2
    if number < (1 << 6 if mode == 1 else 1 << 14):
        raise _not_minimal(number, offset)
    return number, end


def _decode_big(data: bytes, offset: int, size: int) -> tuple[int, int]:
    end = offset + 1 + size
    if end > len(data):
        raise end_of_input(offset + 1, size, data)
    number = int.from_bytes(data[offset + 1 : end], "little")
    if data[end - 1] == 0 or number < 1 << 30:
        raise _not_minimal(number, offset)
    return number, end


def decode_length(data: bytes, offset: int) -> tuple[int, int]:
    """Return a compact length (items or bytes, at most 2^32 - 1) and the offset after it.

    Raises ScaleError. The caller compares the length with what is left.
    """
    try:
        first = data[offset]
    except IndexError:
        raise end_of_input(offset, 1, data) from None
    if not first & 3:
        return first >> 2, offset + 1
    length, end = decode_compact(data, offset)
    if length > MAX_LENGTH:
        raise ScaleError(f"a length at offset {offset} does not fit in 32 bits")
    return length, end


def _not_minimal(number: int, offset: int) -> ScaleError:
    return ScaleError(f"compact {describe(number)} at offset {offset} is not in its shortest form")
