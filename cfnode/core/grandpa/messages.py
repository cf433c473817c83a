"""Encoding of GRANDPA commits, justifications and neighbor packets.

Votes are sent in two forms. A *justification* proves a block to any node: it lists the signed precommits one
by one and the headers between the blocks they name. The *commit* of the gossip leaves the headers out and has
votes and signatures in two lists. All numbers here are fixed-width, unlike in headers. Substrate, GRANDPA
client; Polkadot spec, "GRANDPA messages".
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.header import Header
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact

__all__ = [
    "COMMIT",
    "NEIGHBOR",
    "Commit",
    "CommitMessage",
    "EncodedJustification",
    "Justification",
    "NeighborPacket",
    "Precommit",
]

COMMIT, NEIGHBOR = 1, 2
"""First bytes of gossip messages."""

MAX_PRECOMMITS = 20_000
"""Votes in one commit; the check against the authority set comes later and is tighter."""

_MIN_HEADER = 98  # three hashes, a number and an empty digest


@dataclass(frozen=True, slots=True)
class Precommit:
    """One authority's signed vote for a block."""

    target_hash: bytes
    target_number: int
    signature: bytes
    authority: bytes

    def encode(self) -> bytes:
        """Return the 132 bytes of SCALE: target, signature, authority."""
        return self.target() + self.signature + self.authority

    def target(self) -> bytes:
        """Return the vote without signature and key."""
        return self.target_hash + self.target_number.to_bytes(4, "little")

    @classmethod
    def read(cls, cursor: ByteCursor) -> Precommit:
        """Read a precommit at the cursor. Raises ScaleError."""
        return cls(cursor.take(32), cursor.u32(), cursor.take(64), cursor.take(32))


@dataclass(frozen=True, slots=True)
class Commit:
    """A block and the votes that make it final."""

    target_hash: bytes
    target_number: int
    precommits: tuple[Precommit, ...]

    def encode(self) -> bytes:
        """Return the commit as bytes of a justification."""
        votes = b"".join(vote.encode() for vote in self.precommits)
        head = self.target_hash + self.target_number.to_bytes(4, "little")
        return head + encode_compact(len(self.precommits)) + votes

    @classmethod
    def read(cls, cursor: ByteCursor) -> Commit:
        """Read a commit at the cursor. Raises ScaleError."""
        target_hash, target_number = cursor.take(32), cursor.u32()
        votes = tuple(Precommit.read(cursor) for _ in range(_votes(cursor, 132)))
        return cls(target_hash, target_number, votes)


@dataclass(frozen=True, slots=True)
class Justification:
    """The proof that a block is final; `ancestries` are the headers from the lowest vote to the others."""

    round: int
    commit: Commit
    ancestries: tuple[Header, ...] = ()

    def encode(self) -> bytes:
        """Return the SCALE of round, commit and headers."""
        headers = b"".join(header.encode() for header in self.ancestries)
        head = self.round.to_bytes(8, "little") + self.commit.encode()
        return head + encode_compact(len(self.ancestries)) + headers

    @classmethod
    def decode(cls, data: bytes) -> Justification:
        """Return the justification in these bytes, to the last one; raise ScaleError."""
        cursor = ByteCursor(data)
        justification = cls.read(cursor)
        cursor.finish()
        return justification

    @classmethod
    def read(cls, cursor: ByteCursor) -> Justification:
        """Return the justification at the cursor; raise ScaleError."""
        round_number, commit = cursor.u64(), Commit.read(cursor)
        headers = tuple(Header.read(cursor) for _ in range(cursor.count(_MIN_HEADER)))
        return cls(round_number, commit, headers)


@dataclass(frozen=True, slots=True)
class EncodedJustification:
    """A justification with its bytes, so that it need not be decoded or encoded again."""

    value: Justification
    data: bytes

    @classmethod
    def of(cls, value: Justification) -> EncodedJustification:
        """Return a justification that this node has assembled, with its bytes."""
        return cls(value, value.encode())

    @classmethod
    def decode(cls, data: bytes) -> EncodedJustification:
        """Return the justification in these bytes; raise ScaleError."""
        return cls(Justification.decode(data), data)


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A commit as it is sent in gossip."""

    round: int
    set_id: int
    commit: Commit

    def encode(self) -> bytes:
        """Return the message body, without its leading `COMMIT` byte."""
        commit, votes = self.commit, self.commit.precommits
        count = encode_compact(len(votes))
        head = self.round.to_bytes(8, "little") + self.set_id.to_bytes(8, "little")
        head += commit.target_hash + commit.target_number.to_bytes(4, "little")
        targets = b"".join(vote.target() for vote in votes)
        return head + count + targets + count + b"".join(vote.signature + vote.authority for vote in votes)

    @classmethod
    def decode(cls, data: bytes) -> CommitMessage:
        """Return the message in a body without its leading `COMMIT` byte; raise ScaleError."""
        cursor = ByteCursor(data)
        round_number, set_id = cursor.u64(), cursor.u64()
        target_hash, target_number = cursor.take(32), cursor.u32()
        targets = [(cursor.take(32), cursor.u32()) for _ in range(_votes(cursor, 36))]
        signatures = [(cursor.take(64), cursor.take(32)) for _ in range(_votes(cursor, 96))]
        cursor.finish()
        if len(targets) != len(signatures):
            raise ScaleError(f"commit: {len(targets)} votes but {len(signatures)} signatures")
        votes = (Precommit(*vote, *signed) for vote, signed in zip(targets, signatures, strict=True))
        return cls(round_number, set_id, Commit(target_hash, target_number, tuple(votes)))


@dataclass(frozen=True, slots=True)
class NeighborPacket:
    """The state of a peer: it wants commits of set `set_id` for blocks above number `finalized`."""

    round: int
    set_id: int
    finalized: int

    def encode(self) -> bytes:
        """Return the whole message, with its leading `NEIGHBOR` byte; packet version 1."""
        numbers = self.round.to_bytes(8, "little") + self.set_id.to_bytes(8, "little")
        return bytes((NEIGHBOR, 1)) + numbers + self.finalized.to_bytes(4, "little")

    @classmethod
    def decode(cls, data: bytes) -> NeighborPacket:
        """Return the packet in a whole message, with its leading `NEIGHBOR` byte; raise ScaleError."""
        cursor = ByteCursor(data)
        if cursor.take(2) != bytes((NEIGHBOR, 1)):
            raise ScaleError("not a neighbor packet of version 1")
        packet = cls(cursor.u64(), cursor.u64(), cursor.u32())
        cursor.finish()
        return packet


def _votes(cursor: ByteCursor, size: int) -> int:
    count = cursor.count(size)
    if count > MAX_PRECOMMITS:
        raise ScaleError(f"commit of {count} votes, more than {MAX_PRECOMMITS}")
    return count
