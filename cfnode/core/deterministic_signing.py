"""Deterministic sr25519 signatures, for keys of development chains.

The signature library draws the one-time scalar of each signature at random, so a block sealed twice has two
hashes. A test chain needs one. Here that scalar is a hash of the key's own nonce and of all signed data, as
in ed25519 (RFC 8032); the rest is schnorrkel's, and verifiers see no difference.

The scalars are Python's integers, whose timing depends on their values: use this for keys of development
chains only.
"""

from __future__ import annotations

from functools import cache

from nacl.bindings import (
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_base_noclamp,
)

from cfnode.core.merlin import Transcript

__all__ = ["sign"]

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
CONTEXT = b"substrate"
MARK = 0x80
"""The top bit of the last byte marks a signature of schnorrkel's form."""


def sign(public: bytes, secret: bytes, message: bytes) -> bytes:
    """Return the signature (64 bytes) of a message by `secret`: 32 bytes of scalar, 32 bytes of nonce."""
    scalar, nonce = secret[:32], secret[32:]
    transcript = _transcript(public, message)
    witness = transcript.copy()
    witness.append(b"witness", nonce)
    witness_scalar = crypto_core_ed25519_scalar_reduce(witness.challenge(b"signing", 64))
    commitment = _ristretto(crypto_scalarmult_ed25519_base_noclamp(witness_scalar))
    transcript.append(b"sign:R", commitment)
    challenge = crypto_core_ed25519_scalar_reduce(transcript.challenge(b"sign:c", 64))
    response = crypto_core_ed25519_scalar_add(
        crypto_core_ed25519_scalar_mul(challenge, scalar), witness_scalar
    )
    return commitment + response[:31] + bytes([response[31] | MARK])


def _transcript(public: bytes, message: bytes) -> Transcript:
    """Return the transcript that signer and verifier have before the signature's commitment."""
    transcript = _in_context().copy()
    transcript.append(b"sign-bytes", message)
    transcript.append(b"proto-name", b"Schnorr-sig")
    transcript.append(b"sign:pk", public)
    return transcript


@cache
def _in_context() -> Transcript:
    """Return the common beginning of all transcripts: each signature continues a copy of it."""
    transcript = Transcript(b"SigningContext")
    transcript.append(b"", CONTEXT)
    return transcript


def _ristretto(point: bytes) -> bytes:
    """Return the Ristretto encoding (32 bytes) of an encoded Edwards point (RFC 9496, 4.3.2)."""
    y = int.from_bytes(point, "little") & (1 << 255) - 1
    x = _x_of(y, point[31] >> 7)
    u1, u2 = (1 + y) * (1 - y) % P, x * y % P
    inverse = _inverse_sqrt(u1 * u2 * u2)
    den1, den2 = inverse * u1 % P, inverse * u2 % P
    z_inverse = den1 * den2 * x * y % P
    if _is_negative(x * y * z_inverse):
        x, y, den = y * SQRT_M1 % P, x * SQRT_M1 % P, den1 * _inverse_sqrt(-1 - D) % P
    else:
        den = den2
    if _is_negative(x * z_inverse):
        y = -y
    return _absolute(den * (1 - y)).to_bytes(32, "little")


def _x_of(y: int, sign_bit: int) -> int:
    """Return the x of a point of the curve -x² + y² = 1 + d x² y² (RFC 8032, 5.1.3)."""
    square = y * y
    u, v = square - 1, D * square + 1
    x = u * _inverse_sqrt(u * v) % P
    return -x % P if x & 1 != sign_bit else x


def _inverse_sqrt(value: int) -> int:
    """Return the nonnegative root of 1 / value, for a value that is a square; 0 for 0 (RFC 9496, 4.2)."""
    value %= P
    cube = value**3 % P
    root = cube * pow(cube * cube * value, (P - 5) // 8, P) % P
    if value * root * root % P != 1:
        root = root * SQRT_M1 % P
    return _absolute(root)


def _is_negative(value: int) -> bool:
    return bool(value % P & 1)


def _absolute(value: int) -> int:
    value %= P
    return -value % P if value & 1 else value
