"""Verification of ed25519 signatures by the rule of the chain (ZIP-215).

Implementations of ed25519 disagree in edge cases. The chain decides by ZIP-215 (zips.z.cash/zip-0215): points
may be encoded non-canonically and may have small order, the scalar must be canonical, and the equation is
checked times the cofactor eight. This is the chain's own library, ed25519-zebra: libsodium is stricter, so it
would refuse votes that all other nodes count, and takes half as long again.
"""

from __future__ import annotations

import ed25519_zebra

__all__ = ["verify"]


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether `signature` (64 bytes) by `public` (32 bytes) covers `message`, by ZIP-215."""
    if len(public) != 32 or len(signature) != 64:
        return False
    return bool(ed25519_zebra.ed_verify(signature, message, public))
