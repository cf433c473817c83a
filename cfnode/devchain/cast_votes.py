"""Which votes has this node cast, so that it casts no others after a restart?

An authority that votes twice in a stage of a round equivocates: two conflicting blocks could become final.
So votes are on disk before they leave, those of the last round in which this node has voted. With them goes
the last round that was over, with all its votes, as a catch-up carries it: from there a voter goes on even
where all of them start again. It casts the same votes once more in the round, and none in earlier ones.

The file lies with the database, for another copy of the chain begins its rounds anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfnode.core.grandpa import CatchUp, Vote
from cfnode.core.scale import Cursor, ScaleError, encode_compact
from cfnode.store import StoreError, atomic_file

__all__ = ["CastVotes", "CastVotesError"]


class CastVotesError(StoreError):
    """The file holds something else."""


@dataclass(slots=True)
class CastVotes:
    """The record of one chain, kept in a file. `place` is the set and round of the last votes."""

    path: Path
    votes: tuple[Vote, ...] = ()
    completed: CatchUp | None = None

    @classmethod
    def load(cls, path: Path) -> CastVotes:
        """What the file holds; nothing has been cast where there is none. It blocks; raises StoreError."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise CastVotesError(f"cannot read {path}: {error.strerror}") from None
        try:
            return cls(path, *_decode(data))
        except ScaleError as error:
            text = "this node does not know which votes it has cast. Restore the file, or purge the chain"
            raise CastVotesError(f"{path} is damaged ({error}): {text}") from None

    @property
    def place(self) -> tuple[int, int]:
        return (self.votes[0].set_id, self.votes[0].round) if self.votes else (-1, 0)

    def allows(self, set_id: int, number: int, stage: int, authority: bytes) -> bool:
        """May this vote be cast? Not in a round before the last one, nor twice in it."""
        if (set_id, number) != self.place:
            return (set_id, number) > self.place
        return all((vote.stage, vote.authority) != (stage, authority) for vote in self.votes)

    def add(self, votes: Sequence[Vote], completed: CatchUp | None) -> None:
        """Keep votes of one round, about to be cast, and the last round that is over. Raises StoreError."""
        is_same = (votes[0].set_id, votes[0].round) == self.place
        self.votes, self.completed = (*(self.votes if is_same else ()), *votes), completed
        atomic_file.replace(self.path, self._encode(), durable=True)

    def _encode(self) -> bytes:
        parts = [b"" if self.completed is None else self.completed.encode()]
        parts += [vote.encode() for vote in self.votes]
        return b"".join(encode_compact(len(part)) + part for part in parts)


def _decode(data: bytes) -> tuple[tuple[Vote, ...], CatchUp | None]:
    cursor = Cursor(data)
    completed, votes = cursor.bytes(), list[Vote]()
    while cursor.remaining:
        votes.append(Vote.decode(cursor.bytes()))
    if not votes or len({(vote.set_id, vote.round) for vote in votes}) > 1:
        raise ScaleError("not the votes of one round")
    return tuple(votes), CatchUp.decode(completed) if completed else None
