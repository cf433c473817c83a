"""Verification of an account's `MultiSignature` (Polkadot spec, "Extrinsics")."""

from __future__ import annotations

from functools import lru_cache

import coincurve

from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Scheme, account_id, verify

__all__ = ["is_signed_by"]

MAX_CACHED_SIGNATURES = 4096
"""Answers that are kept: each takes about 600 bytes, since a payload has at most 256."""
SCHEME_BY_VARIANT: dict[str, Scheme] = {"Sr25519": "sr25519", "Ed25519": "ed25519"}


@lru_cache(maxsize=MAX_CACHED_SIGNATURES)
def is_signed_by(who: bytes, payload: bytes, signature: tuple[str, bytes]) -> bool:
    """Return whether the account has signed. `signature` is the scheme and 64 or 65 bytes.

    An ecdsa account is the hash of its key, so the key is recovered. The answer depends on nothing else, and
    is kept: the pool validates a transaction before each block, and then it is in one.
    """
    scheme, signature_bytes = signature
    if scheme in SCHEME_BY_VARIANT:
        return verify(SCHEME_BY_VARIANT[scheme], who, payload, signature_bytes)
    try:
        key = coincurve.PublicKey.from_signature_and_message(
            signature_bytes, blake2_256(payload), hasher=None
        )
    except ValueError:
        return False
    return account_id(key.format()) == who
