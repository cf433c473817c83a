"""The GRANDPA votes that this node has cast, on disk, so that it never equivocates after a restart.

An authority that votes twice in a stage of a round equivocates: two conflicting blocks could become final. So
the votes of the last round in which this node has voted are written to disk before they are sent. With them
the last completed round is stored, with all its votes, in the form of a catch-up: a voter continues from
there even if all voters restart. It casts the same votes again in the last round, and none in earlier ones.

The file is next to the database, since another copy of the chain starts its rounds again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfnode.core.grandpa import CatchUp, Vote
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.store import StoreError, atomic_file

__all__ = ["CastVotes", "CastVotesError"]


class CastVotesError(StoreError):
    """A file of votes that cannot be read, or is damaged."""


@dataclass(slots=True)
class CastVotes:
    """The votes cast on one chain, stored in a file."""

    path: Path
    votes: tuple[Vote, ...] = ()
    completed: CatchUp | None = None

    @classmethod
    def load(cls, path: Path) -> CastVotes:
        """Read the file; without one, no vote has been cast. Blocks; raises StoreError."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise CastVotesError(f"cannot read {path}: {error.strerror}") from None
        try:
            return cls(path, *_decode(data))
        except ScaleError as error:
            text = "the votes that this node has cast are lost. Restore the file, or purge the chain"
            raise CastVotesError(f"{path} is damaged ({error}): {text}") from None

    @property
    def place(self) -> tuple[int, int]:
        """The set id and round of the last votes; (-1, 0) before the first vote."""
        return (self.votes[0].set_id, self.votes[0].round) if self.votes else (-1, 0)

    def allows(self, set_id: int, number: int, stage: int, authority: bytes) -> bool:
        """Return whether this vote may be cast: not in a round before the last one, nor twice in it."""
        if (set_id, number) != self.place:
            return (set_id, number) > self.place
        return all((vote.stage, vote.authority) != (stage, authority) for vote in self.votes)

    def add(self, votes: Sequence[Vote], completed: CatchUp | None) -> None:
        """Store votes of one round before they are cast, and the last completed round. Raises StoreError."""
        is_same_round = (votes[0].set_id, votes[0].round) == self.place
        self.votes, self.completed = (*(self.votes if is_same_round else ()), *votes), completed
        atomic_file.replace(self.path, self._encode(), durable=True)

    def _encode(self) -> bytes:
        encoded_votes = [b"" if self.completed is None else self.completed.encode()]
        encoded_votes += [vote.encode() for vote in self.votes]
        return b"".join(encode_compact(len(part)) + part for part in encoded_votes)


def _decode(data: bytes) -> tuple[tuple[Vote, ...], CatchUp | None]:
    cursor = ByteCursor(data)
    completed, votes = cursor.bytes(), list[Vote]()
    while cursor.remaining:
        votes.append(Vote.decode(cursor.bytes()))
    if not votes or len({(vote.set_id, vote.round) for vote in votes}) > 1:
        raise ScaleError("not the votes of one round")
    return tuple(votes), CatchUp.decode(completed) if completed else None
