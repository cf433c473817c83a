"""Who downloads which part of a state?

The key space is one part at first. A peer without work takes half of what another one still has to do, cut
where the last proof has shown that more lies ahead; so the parts follow the data, not the key space. A part
is a position and the key where it ends. An answer that reaches beyond its part is taken off the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cfnode.core.trie import Position

__all__ = ["Part", "StatePlan"]

MAX_PARTS = 64


@dataclass(slots=True, eq=False)
class Part:
    """What follows `start` up to and with the key `end` (None: to the end of the state).

    `ahead`: keys within it behind which something is known to lie. `busy`: `peer` is at work on it, since
    `taken_at`.
    """

    start: Position
    end: bytes | None = None
    ahead: list[bytes] = field(default_factory=list)
    busy: bool = False
    peer: str = ""
    taken_at: float = 0.0

    def holds(self, key: bytes) -> bool:
        """Does the key cut this part in two?"""
        return (not self.start or key > self.start[0]) and (self.end is None or key < self.end)

    def ends_before(self, position: Position) -> bool:
        """Is everything of this part at or before the position?"""
        return self.end is not None and (position[:1] > (self.end,) or position == (self.end,))


class StatePlan:
    """The parts that are still to come."""

    def __init__(self) -> None:
        self._parts = [Part(())]

    @property
    def done(self) -> bool:
        """Is the state whole?"""
        return not self._parts

    def renew(self) -> None:
        """Another state is asked from now on. It may lack the child trie that a part stands in: the part goes
        on after it, and what lies in it is left to the last walk."""
        for part in self._parts:
            part.start, part.busy = part.start[:1], False

    def take(
        self, peer: str = "", now: float = 0.0, may_take_over: Callable[[Part], bool] = lambda _: False
    ) -> Part | None:
        """A part to work on, None while there is none; maybe one that another peer is too slow with."""
        part = next((part for part in self._parts if not part.busy), None) or self._split()
        part = part or next(filter(may_take_over, self._parts), None)
        if part is not None:
            part.busy, part.peer, part.taken_at = True, peer, now
        return part

    def awaits(self, part: Part, start: Position) -> bool:
        """Is what follows `start` in this part still to come? Else another peer was quicker."""
        return part in self._parts and part.start == start

    def give_back(self, part: Part) -> None:
        """The part was not finished; somebody else takes it."""
        part.busy = False

    def advance(self, part: Part, position: Position | None, ahead: list[bytes]) -> None:
        """A part's answer has come so far (None: to the end of the state); give it back, or it is done."""
        part.busy = False
        if position is None or part.ends_before(position):
            self._parts.remove(part)
            self._take_off_next(part.end, position)
            return
        part.start = position
        part.ahead = [key for key in ahead if part.holds(key)]

    def _take_off_next(self, end: bytes | None, position: Position | None) -> None:
        following = next((part for part in self._parts if end is not None and part.start == (end,)), None)
        if following is not None and not following.busy:
            self.advance(following, position, following.ahead)

    def _split(self) -> Part | None:
        """Cut the part of which most is known to lie ahead, at its middle."""
        whole = max(self._parts, key=lambda part: len(part.ahead), default=None)
        if whole is None or not whole.ahead or len(self._parts) >= MAX_PARTS:
            return None
        shortest = min(map(len, whole.ahead))
        candidates = [key for key in whole.ahead if len(key) == shortest]
        cut = candidates[len(candidates) // 2]
        later = Part((cut,), whole.end, [key for key in whole.ahead if key > cut])
        whole.end, whole.ahead = cut, [key for key in whole.ahead if key < cut]
        self._parts.append(later)
        return later
