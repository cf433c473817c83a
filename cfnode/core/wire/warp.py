"""Requests and answers of warp proofs: protocol `sync/warp`.

Substrate, GRANDPA warp sync. A request is exactly the 32 bytes of a final block's hash. The answer is SCALE
(`cfnode.core.grandpa.PackedWarpProof`); an empty one is a proof without fragments.
"""

from __future__ import annotations

from cfnode.core.grandpa import PackedWarpProof
from cfnode.core.wire.errors import WireError, reading

__all__ = ["MAX_FRAGMENTS", "MAX_WARP_PROOF_BYTES", "SUFFIX", "read_begin", "read_proof"]

SUFFIX = "sync/warp"

MAX_WARP_PROOF_BYTES = 8 << 20
"""Bytes of fragments in one answer, as Substrate's servers cap it."""

MAX_FRAGMENTS = 20_000
"""Fragments in one answer: more than fit in the bytes above with one vote each."""


def read_begin(request: bytes) -> bytes:
    """Return the hash of the block after which changes are requested; raise WireError."""
    if len(request) != 32:
        raise WireError(f"warp request: {len(request)} bytes; it must be a hash of 32 bytes")
    return request


def read_proof(answer: bytes) -> PackedWarpProof:
    """Return the proof in an answer, still packed; raise WireError."""
    with reading("warp proof"):
        proof = PackedWarpProof(answer)
    if len(proof) > MAX_FRAGMENTS:
        raise WireError(f"warp proof: {len(proof)} fragments, more than {MAX_FRAGMENTS}")
    return proof
