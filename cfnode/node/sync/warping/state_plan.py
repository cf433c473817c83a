"""The parts of a state, and the peers that download them.

At first there is one part, the whole key space. A peer without work takes half of what is left of another
part, cut at a key that lies ahead according to the last proof; so the parts follow the data, not the key
space. A part is a start position and the key where it ends. An answer that reaches beyond its part shortens
the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cfnode.core.trie import Position

__all__ = ["PartTurn", "StatePart", "StatePlan"]

MAX_STATE_PARTS = 64


@dataclass(frozen=True, slots=True)
class PartTurn:
    """The peer that works on a part, and since when, by the clock of trio."""

    peer: str
    since: float


@dataclass(slots=True, eq=False)
class StatePart:
    """The keys after `start` up to and including `end` (None: to the end of the state).

    `ahead`: keys in the part with further keys known to follow. `turn`: None while no peer works on the part.
    """

    start: Position
    end: bytes | None = None
    ahead: list[bytes] = field(default_factory=list)
    turn: PartTurn | None = None

    def contains(self, key: bytes) -> bool:
        """Return whether the key is strictly inside of this part."""
        return (not self.start or key > self.start[0]) and (self.end is None or key < self.end)

    def ends_before(self, position: Position) -> bool:
        """Return whether the part ends at or before the position."""
        return self.end is not None and (position[:1] > (self.end,) or position == (self.end,))


class StatePlan:
    """The parts that are not downloaded yet."""

    def __init__(self) -> None:
        self._parts = [StatePart(())]

    @property
    def done(self) -> bool:
        """Whether every part has been downloaded."""
        return not self._parts

    def retarget(self) -> None:
        """Prepare the remaining parts for requests from another state.

        It may lack the child trie in which a part has stopped: the part continues after that trie, and the
        last walk finds the entries that are left out.
        """
        for part in self._parts:
            part.start, part.turn = part.start[:1], None

    def assign(self, turn: PartTurn, may_take_over: Callable[[PartTurn], bool]) -> StatePart | None:
        """Return a part for a peer to work on, which becomes that peer's; None without one.

        It may be a part that another peer is too slow with.
        """
        part = next((part for part in self._parts if part.turn is None), None) or self._split()
        part = part or next((part for part in self._parts if part.turn and may_take_over(part.turn)), None)
        if part is not None:
            part.turn = turn
        return part

    def is_pending(self, part: StatePart, start: Position) -> bool:
        """Return whether the keys after `start` of this part are still missing.

        If not, another peer was faster.
        """
        return part in self._parts and part.start == start

    def release(self, part: StatePart) -> None:
        """Release a part that its peer did not finish: another peer can take it."""
        part.turn = None

    def advance(self, part: StatePart, position: Position | None, ahead: list[bytes]) -> None:
        """Record that a part has been downloaded up to `position`; None: to the end of the state.

        What is left of the part is released; a finished part is removed.
        """
        part.turn = None
        if position is None or part.ends_before(position):
            self._parts.remove(part)
            self._shorten_next(part.end, position)
            return
        part.start = position
        part.ahead = [key for key in ahead if part.contains(key)]

    def _shorten_next(self, end: bytes | None, position: Position | None) -> None:
        next_part = next((part for part in self._parts if end is not None and part.start == (end,)), None)
        if next_part is not None and next_part.turn is None:
            self.advance(next_part, position, next_part.ahead)

    def _split(self) -> StatePart | None:
        """Cut the part with the most known keys ahead in the middle; return the later half, or None."""
        largest = max(self._parts, key=lambda part: len(part.ahead), default=None)
        if largest is None or not largest.ahead or len(self._parts) >= MAX_STATE_PARTS:
            return None
        shortest = min(map(len, largest.ahead))
        candidates = [key for key in largest.ahead if len(key) == shortest]
        cut = candidates[len(candidates) // 2]
        upper = StatePart((cut,), largest.end, [key for key in largest.ahead if key > cut])
        largest.end, largest.ahead = cut, [key for key in largest.ahead if key < cut]
        self._parts.append(upper)
        return upper
