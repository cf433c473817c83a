"""Turns of the event loop for clients with many pipelined requests: the cheapest client goes first.

In one round of the loop each task takes a step. A hundred clients that pipeline many requests make a round
long, and a small request, which takes several rounds, waits for all of them in each round. So a client with
more than one request asks for a turn, and only one such client proceeds in a round: the one with the lowest
cost so far, in bytes received and sent. A client with few small requests hardly waits; a client with large
requests waits for those with smaller ones.

A new or returning client starts a little below the cost of the client served last: a pause earns no more than
that.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

import trio

__all__ = ["CLIENT_TURN", "ClientTurn", "Turns", "take_turn"]

STEP_BYTES: Final = 2_048
"""The cost of a step besides its bytes: even the smallest call is work."""

GRACE_BYTES: Final = 1024 * 1024
"""The cost up to which a client does not wait for continuously active clients: some hundred small calls."""


class Turns:
    """The rounds of one server's loop."""

    def __init__(self) -> None:
        self.level = 0
        """The initial cost of a client."""
        self._is_taken = False
        self._waiting: list[tuple[ClientTurn, trio.Event]] = []

    async def wait(self, turn: ClientTurn) -> None:
        """Wait for a round in which no other waiting client proceeds."""
        await self._admitted(turn)
        self.level = max(self.level, turn.cost - GRACE_BYTES)
        try:
            await trio.lowlevel.checkpoint()
        finally:
            self._admit_next()

    async def _admitted(self, turn: ClientTurn) -> None:
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


class ClientTurn:
    """The cost of one client."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.cost = turns.level

    def charge(self, size: int) -> None:
        """Count `size` bytes that were received or sent."""
        self.cost = max(self.cost, self._turns.level) + STEP_BYTES + size

    async def take(self) -> None:
        """Wait until it is this client's turn."""
        await self._turns.wait(self)


CLIENT_TURN: Final[ContextVar[ClientTurn | None]] = ContextVar("turn", default=None)
"""The turn of the client that a task works for; tasks inherit it."""


async def take_turn() -> None:
    """Wait until it is the turn of the client that this task works for."""
    turn = CLIENT_TURN.get()
    if turn is None:
        await trio.lowlevel.checkpoint()
    else:
        await turn.take()
