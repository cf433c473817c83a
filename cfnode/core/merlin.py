"""Merlin transcripts, by which sr25519 hashes, over STROBE-128 and Keccak-f[1600].

sr25519 hashes everything through Merlin transcripts (merlin.cool): labelled messages absorbed by STROBE-128
(strobe.sourceforge.io, version 1.0.2) over the Keccak-f[1600] permutation. The signature library does that
for signing; it does not return the *seed* of a hard-derived key pair, which `key inspect` prints and an
operator writes into a key file. So the transcripts are computed here, for that seed (`keys`) and for
signatures that are the same each time (`repeatable`).
"""

from __future__ import annotations

__all__ = ["Transcript"]

RATE = 166  # STROBE-128 bytes a block: 200 - 2 · 16 - 2
META, INBOUND, APPLICATION, CIPHER, KEY = 16, 1, 2, 4, 32
LANES = 25
MASK = (1 << 64) - 1


class Transcript:
    """A Merlin transcript: append labelled messages, then draw challenges."""

    __slots__ = ("_begin", "_flags", "_position", "_state")

    def __init__(self, label: bytes) -> None:
        header = bytes([1, RATE + 2, 1, 0, 1, 96]) + b"STROBEv1.0.2"
        self._state = bytearray(_keccak_f(header.ljust(200, b"\0")))
        self._position = self._begin = self._flags = 0
        self._operate(META | APPLICATION, b"Merlin v1.0")
        self.append(b"dom-sep", label)

    def copy(self) -> Transcript:
        """Return another transcript that has absorbed the same messages."""
        transcript = Transcript.__new__(Transcript)
        transcript._state = bytearray(self._state)
        transcript._position, transcript._begin, transcript._flags = self._position, self._begin, self._flags
        return transcript

    def append(self, label: bytes, message: bytes) -> None:
        """Absorb a message under a label."""
        self._frame(label, len(message))
        self._operate(APPLICATION, message)

    def challenge(self, label: bytes, length: int) -> bytes:
        """Draw `length` bytes that depend on everything absorbed so far."""
        self._frame(label, length)
        self._begin_operation(INBOUND | APPLICATION | CIPHER)
        return bytes(self._squeeze_byte() for _ in range(length))

    def _frame(self, label: bytes, length: int) -> None:
        self._operate(META | APPLICATION, label)
        self._absorb(length.to_bytes(4, "little"))

    def _operate(self, flags: int, data: bytes) -> None:
        self._begin_operation(flags)
        self._absorb(data)

    def _begin_operation(self, flags: int) -> None:
        previous, self._begin, self._flags = self._begin, self._position + 1, flags
        self._absorb(bytes([previous, flags]))
        if flags & (CIPHER | KEY) and self._position:
            self._permute()

    def _absorb(self, data: bytes) -> None:
        for byte in data:
            self._state[self._position] ^= byte
            self._advance()

    def _squeeze_byte(self) -> int:
        byte = self._state[self._position]
        self._state[self._position] = 0
        self._advance()
        return byte

    def _advance(self) -> None:
        self._position += 1
        if self._position == RATE:
            self._permute()

    def _permute(self) -> None:
        self._state[self._position] ^= self._begin
        self._state[self._position + 1] ^= 0x04
        self._state[RATE + 1] ^= 0x80
        self._state = bytearray(_keccak_f(bytes(self._state)))
        self._position = self._begin = 0


def _round_constants() -> tuple[int, ...]:
    """Return the round constants of Keccak-f[1600] (FIPS 202, 3.2.5).

    Their bits come from the linear feedback shift register x^8 + x^6 + x^5 + x^4 + 1.
    """
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << ((1 << j) - 1)
            register = register << 1 ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return tuple(constants)


def _path() -> tuple[tuple[int, int], ...]:
    """Return (lane, rotation) along the 24 steps of rho and pi (FIPS 202, 3.2.2 and 3.2.3)."""
    x, y, rotation, steps = 1, 0, 0, []
    for t in range(24):
        rotation += t + 1
        x, y = y, (2 * x + 3 * y) % 5
        steps.append((x + 5 * y, rotation % 64))
    return tuple(steps)


ROUND_CONSTANTS = _round_constants()
PATH = _path()


def _rotate(lane: int, by: int) -> int:
    return (lane << by | lane >> (64 - by)) & MASK


def _keccak_f(state: bytes) -> bytes:
    """Return the permutation Keccak-f[1600] (FIPS 202) of 200 bytes."""
    a = [int.from_bytes(state[8 * i : 8 * i + 8], "little") for i in range(LANES)]
    for constant in ROUND_CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[x - 1] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [lane ^ d[i % 5] for i, lane in enumerate(a)]
        carried = a[1]
        for lane, rotation in PATH:
            carried, a[lane] = a[lane], _rotate(carried, rotation)
        for y in range(0, LANES, 5):
            row = a[y : y + 5]
            a[y : y + 5] = [row[x] ^ (~row[(x + 1) % 5] & MASK & row[(x + 2) % 5]) for x in range(5)]
        a[0] ^= constant
    return b"".join(lane.to_bytes(8, "little") for lane in a)
