"""How much may all clients together have the server hold for them?

A request that comes in pieces, one that waits for its answer, an answer that nobody reads: each connection is
bounded in all of these, but a hundred connections at their bounds would be gigabytes. So what they hold is
counted, and when it is too much together, the connection that holds most is cut off. Who reads what it asks
for holds little, and not for long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cfnode.rpc.reply import Reply

__all__ = ["MAX_BYTES", "MemoryBudget", "MemoryBudgets"]

log = logging.getLogger("cfnode.rpc")

MAX_BYTES: Final = 256 * 1024 * 1024
"""Room for sixty clients that fetch the metadata at the same moment."""


class MemoryBudget:
    """The bytes that are held for one connection."""

    def __init__(self, budgets: MemoryBudgets, cut_off: Callable[[], None]) -> None:
        self._budgets = budgets
        self._cut_off = cut_off
        self._is_over = False
        self._shared: dict[int, int] = {}
        """How many answers hold a shared text, by the identity of the text, which they keep alive."""
        self.size = 0

    def add(self, size: int) -> None:
        """So many bytes more are held. Too much by all: the heaviest is cut off, which may be this one."""
        if not self._is_over:
            self.size += size
            self._budgets.added(size)

    def remove(self, size: int) -> None:
        """So many bytes less."""
        self.add(-size)

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Gives a function to add with; what was added is removed at the end."""
        held = 0

        def add(size: int) -> None:
            nonlocal held
            held += size
            self.add(size)

        try:
            yield add
        finally:
            self.remove(held)

    def keep(self, reply: Reply) -> None:
        """An answer waits to be sent. What several of a connection's answers share counts once."""
        self.add(reply.own)
        for part in reply.shared:
            users = self._shared.get(id(part.obj), 0)
            self._shared[id(part.obj)] = users + 1
            if not users:
                self.add(len(part))

    def release(self, reply: Reply) -> None:
        """It has been sent, or will not be."""
        self.remove(reply.own)
        for part in reply.shared:
            self._shared[id(part.obj)] -= 1
            if not self._shared[id(part.obj)]:
                del self._shared[id(part.obj)]
                self.remove(len(part))

    @contextmanager
    def keeping(self, reply: Reply) -> Iterator[None]:
        """An answer is here until the end of the block."""
        self.keep(reply)
        try:
            yield
        finally:
            self.release(reply)

    def cut_off(self) -> None:
        """Close the connection now."""
        self.end()
        self._cut_off()

    def end(self) -> None:
        """The connection is over: nothing is held for it any more."""
        if not self._is_over:
            self._budgets.forget(self)
            self._is_over = True


class MemoryBudgets:
    """The budgets of one server's connections."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._all: set[MemoryBudget] = set()
        self.size = 0
        self.peak = 0
        """The most that was held since somebody set this to the present size."""

    def __len__(self) -> int:
        return len(self._all)

    def begin(self, cut_off: Callable[[], None]) -> MemoryBudget:
        """A connection begins; `cut_off` closes it at once."""
        budget = MemoryBudget(self, cut_off)
        self._all.add(budget)
        return budget

    def added(self, size: int) -> None:
        """Called by a budget."""
        self.size += size
        self.peak = max(self.peak, self.size)
        while self.size > self._most:
            heaviest = max(self._all, key=lambda budget: budget.size)
            log.debug("a client that leaves %d bytes lying here is cut off", heaviest.size)
            heaviest.cut_off()

    def forget(self, budget: MemoryBudget) -> None:
        """Called by a budget that ends."""
        self._all.discard(budget)
        self.size -= budget.size
