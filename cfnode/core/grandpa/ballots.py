"""Encoding of GRANDPA votes as gossip sends them, and of catch-up requests and answers.

A vote names its round and set, its stage (prevote, precommit, or the proposal of the round's primary) and a
block. A node that is rounds behind asks a peer for all votes of a completed round: the catch-up. Numbers are
fixed-width. Substrate, GRANDPA gossip.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfnode.core import ed25519
from cfnode.core.grandpa.authorities import PRECOMMIT, PREVOTE, PROPOSE, sign_payload
from cfnode.core.grandpa.messages import MAX_PRECOMMITS, Precommit
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact

__all__ = ["CATCH_UP", "CATCH_UP_REQUEST", "VOTE", "VOTE_SIZE", "CatchUp", "CatchUpRequest", "Vote"]

VOTE, CATCH_UP_REQUEST, CATCH_UP = 0, 3, 4
"""First bytes of gossip messages."""

VOTE_SIZE = 150
"""Bytes of each vote."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One authority's signed vote of a round."""

    round: int
    set_id: int
    stage: int
    target_hash: bytes
    target_number: int
    signature: bytes
    authority: bytes

    def encode(self) -> bytes:
        """Return the whole message, with its leading `VOTE` byte."""
        head = bytes((VOTE,)) + self.round.to_bytes(8, "little") + self.set_id.to_bytes(8, "little")
        return head + bytes((self.stage,)) + self.signed().encode()

    @classmethod
    def decode(cls, data: bytes) -> Vote:
        """Return the vote in a whole message, with its leading `VOTE` byte; raise ScaleError."""
        cursor = ByteCursor(data)
        if cursor.take(1) != bytes((VOTE,)):
            raise ScaleError("not a vote message")
        round_number, set_id, stage = cursor.u64(), cursor.u64(), cursor.take(1)[0]
        if stage not in (PREVOTE, PRECOMMIT, PROPOSE):
            raise ScaleError(f"a vote of the unknown stage {stage}")
        signed = Precommit.read(cursor)
        cursor.finish()
        return cls.of(signed, round_number, set_id, stage)

    @classmethod
    def of(cls, signed: Precommit, round_number: int, set_id: int, stage: int = PRECOMMIT) -> Vote:
        """Return the vote of a commit or of a catch-up, which state round, set and stage once for all."""
        block, number = signed.target_hash, signed.target_number
        return cls(round_number, set_id, stage, block, number, signed.signature, signed.authority)

    def signed(self) -> Precommit:
        """Return the vote as a commit or a catch-up carries it; a prevote looks the same there."""
        return Precommit(self.target_hash, self.target_number, self.signature, self.authority)

    def is_signed(self) -> bool:
        """Return whether the signature is that of the vote's authority. Takes about 50 µs."""
        payload = sign_payload(self.target_hash, self.target_number, self.round, self.set_id, self.stage)
        return ed25519.verify(self.authority, payload, self.signature)


@dataclass(frozen=True, slots=True)
class CatchUpRequest:
    """A request of the votes of a completed round: round `round` or a later one."""

    round: int
    set_id: int

    def encode(self) -> bytes:
        """Return the whole message, with its leading `CATCH_UP_REQUEST` byte."""
        numbers = self.round.to_bytes(8, "little") + self.set_id.to_bytes(8, "little")
        return bytes((CATCH_UP_REQUEST,)) + numbers

    @classmethod
    def decode(cls, data: bytes) -> CatchUpRequest:
        """Return the request in a whole message, with its leading byte; raise ScaleError."""
        cursor = ByteCursor(data, 1)
        request = cls(cursor.u64(), cursor.u64())
        cursor.finish()
        return request


@dataclass(frozen=True, slots=True)
class CatchUp:
    """All votes of a completed round; `base` is a block below all of their blocks."""

    set_id: int
    round: int
    prevotes: tuple[Precommit, ...]
    precommits: tuple[Precommit, ...]
    base_hash: bytes
    base_number: int

    def encode(self) -> bytes:
        """Return the whole message, with its leading `CATCH_UP` byte."""
        head = bytes((CATCH_UP,)) + self.set_id.to_bytes(8, "little") + self.round.to_bytes(8, "little")
        base = self.base_hash + self.base_number.to_bytes(4, "little")
        return head + _encode(self.prevotes) + _encode(self.precommits) + base

    @classmethod
    def decode(cls, data: bytes) -> CatchUp:
        """Return the catch-up in a whole message, with its leading byte; raise ScaleError."""
        cursor = ByteCursor(data, 1)
        set_id, round_number = cursor.u64(), cursor.u64()
        answer = cls(set_id, round_number, _read(cursor), _read(cursor), cursor.take(32), cursor.u32())
        cursor.finish()
        return answer

    def votes(self) -> list[Vote]:
        """Return all votes, prevotes first."""
        staged = [(PREVOTE, vote) for vote in self.prevotes] + [(PRECOMMIT, vote) for vote in self.precommits]
        return [Vote.of(vote, self.round, self.set_id, stage) for stage, vote in staged]


def _encode(votes: Iterable[Precommit]) -> bytes:
    encoded = [vote.encode() for vote in votes]
    return encode_compact(len(encoded)) + b"".join(encoded)


def _read(cursor: ByteCursor) -> tuple[Precommit, ...]:
    count = cursor.count(132)
    if count > MAX_PRECOMMITS:
        raise ScaleError(f"catch-up with {count} votes, more than {MAX_PRECOMMITS}")
    return tuple(Precommit.read(cursor) for _ in range(count))
