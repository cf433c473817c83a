"""Warp proofs: the way from a known authority set to the current one without the blocks between.

A warp proof is a list of fragments, each a header and its justification, one for every block that changes the
authorities, and possibly a last one that does not. Each set signs the change to the next, so the chain of
trust is as long as the number of sets, not of blocks. A forced change breaks it. Substrate, GRANDPA warp
sync.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cfnode.core.grandpa.authorities import AuthoritySet
from cfnode.core.grandpa.changes import scheduled_change
from cfnode.core.grandpa.messages import Justification
from cfnode.core.grandpa.verify import FinalityError, verify_justification
from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor, encode_compact

__all__ = [
    "PackedWarpProof",
    "WarpFragment",
    "WarpProof",
    "WarpTarget",
    "follow_warp_proof",
    "verify_warp_proof",
]

_MIN_FRAGMENT = 98 + 46  # a header and a justification without votes


@dataclass(frozen=True, slots=True)
class WarpFragment:
    """A finalized header with its proof."""

    header: Header
    justification: Justification

    def encode(self) -> bytes:
        """Return the SCALE of header and justification."""
        return self.header.encode() + self.justification.encode()


@dataclass(frozen=True, slots=True)
class WarpProof:
    """The answer of a warp server; `finished`: the server has nothing newer."""

    fragments: tuple[WarpFragment, ...]
    finished: bool

    def encode(self) -> bytes:
        """Return the SCALE of a warp sync answer."""
        body = b"".join(fragment.encode() for fragment in self.fragments)
        return encode_compact(len(self.fragments)) + body + bytes((self.finished,))

    def __len__(self) -> int:
        """Return the number of fragments."""
        return len(self.fragments)

    def __iter__(self) -> Iterator[WarpFragment]:
        """Yield the fragments, the lowest block first."""
        return iter(self.fragments)

    @classmethod
    def decode(cls, data: bytes) -> WarpProof:
        """Return the proof in these bytes, to the last one; raise ScaleError."""
        packed = PackedWarpProof(data)
        return cls(tuple(packed), packed.finished)


class PackedWarpProof:
    """An encoded proof, of which one fragment at a time is decoded: all of them are a million objects.

    The constructor and each step of an iteration raise ScaleError for malformed bytes; only at its end does
    an iteration prove that all of them are well formed.
    """

    def __init__(self, data: bytes) -> None:
        cursor = ByteCursor(data)
        self._count = cursor.count(_MIN_FRAGMENT)
        self._data, self._start = data, cursor.offset
        self.finished = data[-1:] == b"\x01"

    def __len__(self) -> int:
        """Return the number of fragments that the proof claims; none is decoded for it."""
        return self._count

    def __iter__(self) -> Iterator[WarpFragment]:
        """Decode and yield one fragment at a time. Raises ScaleError for malformed bytes."""
        cursor = ByteCursor(self._data, self._start)
        for _ in range(self._count):
            yield WarpFragment(Header.read(cursor), Justification.read(cursor))
        cursor.boolean()
        cursor.finish()


@dataclass(frozen=True, slots=True)
class WarpTarget:
    """The end of a proof: a finalized header, its votes, and the authorities after it."""

    header: Header
    justification: Justification
    authorities: AuthoritySet
    finished: bool


def verify_warp_proof(proof: WarpProof, authorities: AuthoritySet, after: int = 0) -> WarpTarget:
    """Return the end of a warp proof; raise FinalityError.

    The proof begins with the authorities after block number `after`.
    """
    if not len(proof):
        raise FinalityError("the warp proof is empty")
    *_, target = follow_warp_proof(proof, authorities, after)
    return target


def follow_warp_proof(
    proof: WarpProof | PackedWarpProof, authorities: AuthoritySet, after: int = 0
) -> Iterator[WarpTarget]:
    """Yield the targets of a warp proof's fragments, one by one.

    Those before a FinalityError (or ScaleError) are proven. `finished` is true for the last fragment of a
    finished proof.
    """
    for index, fragment in enumerate(proof):
        header = fragment.header
        if header.number <= after:
            raise FinalityError(f"warp proof: block {header.number} follows block {after}")
        verify_justification(fragment.justification, authorities, (header.hash, header.number))
        finished = proof.finished and index == len(proof) - 1
        authorities = _next_set(header, authorities, may_stay=finished)
        yield WarpTarget(header, fragment.justification, authorities, finished)
        after = header.number


def _next_set(header: Header, authorities: AuthoritySet, *, may_stay: bool) -> AuthoritySet:
    try:
        change = scheduled_change(header)
        if change is not None:
            return authorities.successor(change.authorities)
    except ValueError as error:
        raise FinalityError(
            f"warp proof: the change in block {header.number} is malformed: {error}"
        ) from error
    if not may_stay:
        raise FinalityError(f"warp proof: block {header.number} changes no authorities and is not the end")
    return authorities
