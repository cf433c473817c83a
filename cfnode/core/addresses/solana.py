"""Addresses of Chainflip's deposit channels on Solana, and program-derived addresses.

A channel has a program-derived address of the vault program (Solana documentation, "Program Derived
Addresses"): SHA-256 of the seeds, a bump byte, the program and a fixed text, with the highest bump for which
the hash is not a point of ed25519, so that it has no private key. The seeds are `channel` and the channel id.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.addresses.errors import AddressError
from cfnode.core.hashing import sha2_256

__all__ = ["deposit_address", "is_on_curve", "program_address"]

_MARKER = b"ProgramDerivedAddress"
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P  # the curve: -x² + y² = 1 + d·x²·y²


def deposit_address(program: bytes, channel_id: int) -> tuple[bytes, int]:
    """Return the 32-byte address of a channel and its bump; SOL and tokens have the same address."""
    return program_address([b"channel", channel_id.to_bytes(8, "little")], program)


def program_address(seeds: Sequence[bytes], program: bytes) -> tuple[bytes, int]:
    """Return the program-derived address with the highest bump, and that bump.

    Raises AddressError if none exists.
    """
    prefix = b"".join(seeds)
    for bump in range(255, -1, -1):
        candidate = sha2_256(prefix + bytes([bump]) + program + _MARKER)
        if not is_on_curve(candidate):
            return candidate, bump
    raise AddressError(f"no program-derived address exists for the program {program.hex()} and these seeds")


def is_on_curve(encoded: bytes) -> bool:
    """Return whether 32 bytes decode to a point of ed25519, as the reference decoder decides it.

    The y coordinate is taken modulo the prime and the sign bit is ignored, so a point exists exactly if
    x² = (y² - 1) / (d·y² + 1) has a root (Euler's criterion; the denominator is never zero).
    """
    y = int.from_bytes(encoded, "little") & ~(1 << 255)
    y2 = y * y % _P
    return pow((y2 - 1) * (_D * y2 + 1), (_P - 1) // 2, _P) in (0, 1)
