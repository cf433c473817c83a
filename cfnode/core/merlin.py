"""Merlin transcripts, by which sr25519 hashes, over STROBE-128 and Keccak-f[1600].

sr25519 hashes everything through Merlin transcripts (merlin.cool): labelled messages absorbed by STROBE-128
(strobe.sourceforge.io, version 1.0.2) over the Keccak-f[1600] permutation. The signature library does that
for signing; it does not return the *seed* of a hard-derived key pair, which `key inspect` prints and an
operator writes into a key file. So the transcripts are computed here, for that seed (`keys`) and for
signatures that are the same each time (`repeatable`).
"""

from __future__ import annotations

from struct import Struct

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
        return self._squeeze(length)

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
        taken = 0
        while taken < len(data):
            part = data[taken : taken + RATE - self._position]
            taken += len(part)
            place = slice(self._position, self._position + len(part))
            mixed = int.from_bytes(self._state[place], "little") ^ int.from_bytes(part, "little")
            self._state[place] = mixed.to_bytes(len(part), "little")
            self._advance(len(part))

    def _squeeze(self, length: int) -> bytes:
        drawn = b""
        while len(drawn) < length:
            end = min(RATE, self._position + length - len(drawn))
            place = slice(self._position, end)
            drawn += self._state[place]
            self._state[place] = bytes(end - self._position)
            self._advance(end - self._position)
        return drawn

    def _advance(self, count: int) -> None:
        self._position += count
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


def _steps() -> tuple[tuple[int, int, int, int], ...]:
    """Return where the lanes come from in the steps rho and pi (FIPS 202, 3.2.2 and 3.2.3).

    For each lane these are: the lane before, its column, and its rotations to the left and to the right.
    """
    x, y, rotation = 1, 0, 0
    origins = {0: (0, 0)}
    for t in range(24):
        rotation = (rotation + t + 1) % 64
        origin, x, y = x + 5 * y, y, (2 * x + 3 * y) % 5
        origins[x + 5 * y] = origin, rotation
    return tuple((lane, lane % 5, left, 64 - left) for lane, left in (origins[i] for i in range(LANES)))


ROUND_CONSTANTS = _round_constants()
STEPS = _steps()
WORDS = Struct(f"<{LANES}Q")


def _keccak_f(state: bytes) -> bytes:
    """Return the permutation Keccak-f[1600] (FIPS 202) of 200 bytes.

    A development chain needs it several times a block; so the steps are written for few operations.
    """
    a = list(WORDS.unpack(state))
    for constant in ROUND_CONSTANTS:
        c0, c1, c2, c3, c4 = (
            a0 ^ a1 ^ a2 ^ a3 ^ a4
            for a0, a1, a2, a3, a4 in zip(a[:5], a[5:10], a[10:15], a[15:20], a[20:], strict=True)
        )
        d = (
            c4 ^ (c1 << 1 & MASK | c1 >> 63),
            c0 ^ (c2 << 1 & MASK | c2 >> 63),
            c1 ^ (c3 << 1 & MASK | c3 >> 63),
            c2 ^ (c4 << 1 & MASK | c4 >> 63),
            c3 ^ (c0 << 1 & MASK | c0 >> 63),
        )
        mixed = [((lane := a[i] ^ d[x]) << left | lane >> right) & MASK for i, x, left, right in STEPS]
        a.clear()
        for y in range(0, LANES, 5):
            p, q, r, s, t = mixed[y : y + 5]
            a += p ^ (~q & r), q ^ (~r & s), r ^ (~s & t), s ^ (~t & p), t ^ (~p & q)
        a[0] ^= constant
    return WORDS.pack(*a)
