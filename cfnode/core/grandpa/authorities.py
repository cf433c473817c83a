"""Authority sets of GRANDPA: keys, weights, the threshold of finality, and the payload of a vote.

A set of authorities has an id, which grows by one at each change, and a weight for each key. Weights are not
all one on this chain (votes are delegated), so votes are counted by weight, never by number. A block is final
with more than two thirds of the total. Polkadot spec, "Finality"; the thresholds of finality-grandpa.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cfnode.core.scale import ByteCursor, encode_compact

__all__ = [
    "PRECOMMIT",
    "PREVOTE",
    "PROPOSE",
    "Authority",
    "AuthoritySet",
    "encode_authorities",
    "read_authorities",
    "sign_payload",
    "threshold",
]

Authority = tuple[bytes, int]
"""An ed25519 key (32 bytes) and its weight (u64, at least 1)."""

PREVOTE, PRECOMMIT, PROPOSE = 0, 1, 2
"""Stages of a vote: the first byte of the signed payload."""


def threshold(total: int) -> int:
    """Return the weight that suffices of a total weight: the smallest above two thirds of it."""
    return total - (total - 1) // 3


def sign_payload(
    target_hash: bytes, target_number: int, round_number: int, set_id: int, stage: int = PRECOMMIT
) -> bytes:
    """Return the 53 bytes that an authority signs to vote for a block."""
    vote = target_hash + target_number.to_bytes(4, "little")
    return bytes((stage,)) + vote + round_number.to_bytes(8, "little") + set_id.to_bytes(8, "little")


@dataclass(frozen=True)
class AuthoritySet:
    """The authorities of one set id. A key listed twice has the sum of its weights."""

    set_id: int
    authorities: tuple[Authority, ...]

    def __post_init__(self) -> None:
        """Raise ValueError for an empty set, a malformed key, a weight of zero, or a total beyond 64 bits."""
        if not self.authorities or any(len(key) != 32 or weight < 1 for key, weight in self.authorities):
            raise ValueError(f"authority set {self.set_id}: it needs keys of 32 bytes with weights from 1 up")
        if self.total >= 1 << 64:
            raise ValueError(f"authority set {self.set_id}: the total weight does not fit in 64 bits")

    @cached_property
    def weights(self) -> dict[bytes, int]:
        """Weight by key."""
        weights: dict[bytes, int] = {}
        for key, weight in self.authorities:
            weights[key] = weights.get(key, 0) + weight
        return weights

    @cached_property
    def total(self) -> int:
        """The weight of all authorities together."""
        return sum(weight for _, weight in self.authorities)

    @property
    def threshold(self) -> int:
        """The weight that makes a block final."""
        return threshold(self.total)

    def successor(self, authorities: Sequence[Authority]) -> AuthoritySet:
        """Return the set that follows this one; raise ValueError for malformed authorities."""
        return AuthoritySet(self.set_id + 1, tuple(authorities))


def encode_authorities(authorities: Sequence[Authority]) -> bytes:
    """Return the authorities as SCALE Vec<(key, u64)>."""
    items = (key + weight.to_bytes(8, "little") for key, weight in authorities)
    return encode_compact(len(authorities)) + b"".join(items)


def read_authorities(cursor: ByteCursor) -> tuple[Authority, ...]:
    """Return the authorities of a SCALE Vec<(key, u64)> at the cursor; raise ScaleError."""
    return tuple((cursor.take(32), cursor.u64()) for _ in range(cursor.count(40)))
