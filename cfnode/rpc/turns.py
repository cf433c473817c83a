"""Which client goes on in a round of the event loop, of those that have sent much ahead?

In one round of the loop each task takes a step. A hundred clients that have sent many requests ahead make a
round long, and a small request, which takes several rounds, waits for all of them in each. So a client that
has more than one thing to do asks for a turn, and one of all these goes on in a round: the one that has cost
least so far, in bytes received and sent. A client that asks little and often hardly waits; one that has asked
for much waits for those that have asked for less.

A client that comes anew, or comes back, begins a little below the cost of the one served last: waiting earns
no more than that.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

import trio

__all__ = ["TURN", "Turn", "Turns", "take_turn"]

STEP_BYTES: Final = 2_048
"""What a step counts as, besides its bytes: the smallest call is work, too."""

GRACE_BYTES: Final = 1024 * 1024
"""What a client may cost before it waits for those that go on all the time: some hundred small calls."""


class Turns:
    """The rounds of one server's loop."""

    def __init__(self) -> None:
        self.level = 0
        """The cost with which a client begins."""
        self._is_taken = False
        self._waiting: list[tuple[Turn, trio.Event]] = []

    async def wait(self, turn: Turn) -> None:
        """Return in a round in which no other client that waits here goes on."""
        await self._admitted(turn)
        self.level = max(self.level, turn.cost - GRACE_BYTES)
        try:
            await trio.lowlevel.checkpoint()
        finally:
            self._admit_next()

    async def _admitted(self, turn: Turn) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        entry = turn, trio.Event()
        self._waiting.append(entry)
        try:
            await entry[1].wait()
        except BaseException:
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:  # it was admitted meanwhile
                self._admit_next()
            raise

    def _admit_next(self) -> None:
        if not self._waiting:
            self._is_taken = False
            return
        entry = min(self._waiting, key=lambda waiting: waiting[0].cost)
        self._waiting.remove(entry)
        entry[1].set()


class Turn:
    """What one client has cost."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.cost = turns.level

    def charge(self, size: int) -> None:
        """So many bytes were received or sent."""
        self.cost = max(self.cost, self._turns.level) + STEP_BYTES + size

    async def take(self) -> None:
        """Return when it is this client's turn."""
        await self._turns.wait(self)


TURN: Final[ContextVar[Turn | None]] = ContextVar("turn", default=None)
"""The client that a task works for; tasks inherit it."""


async def take_turn() -> None:
    """Return when it is the turn of the client that this task works for."""
    turn = TURN.get()
    if turn is None:
        await trio.lowlevel.checkpoint()
    else:
        await turn.take()
