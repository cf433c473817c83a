"""Counts of the memory held for each client, and the limit on their total, MAX_CLIENT_BYTES.

A request that arrives in pieces, a request that waits for its answer, an answer that the client does not
read: the server counts the bytes held for each connection, and when the total is too large, it cuts off the
connection with most (`flow/byte_budget.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cfnode.flow.byte_budget import ByteBudget
from cfnode.serving.reply import Reply

__all__ = ["MAX_CLIENT_BYTES", "MemoryBudget", "MemoryBudgets"]

log = logging.getLogger("cfnode.serving")

MAX_CLIENT_BYTES: Final = 256 * 1024 * 1024
"""Bytes held for all clients: enough for sixty clients that fetch the metadata at the same moment."""


class MemoryBudget:
    """The bytes that are held for one connection."""

    def __init__(self, budgets: MemoryBudgets, cut_off: Callable[[], None]) -> None:
        self._budgets = budgets
        self._cut_off = cut_off
        self._is_over = False
        self._shared: dict[int, int] = {}
        """The number of answers that hold a shared text, by the text's id(); the answers keep it alive."""

    @property
    def size(self) -> int:
        """The bytes that are held now."""
        return self._budgets.held_by(self)

    def add(self, size: int) -> None:
        """Count `size` more bytes.

        If the total is too large, the heaviest connection is cut off: maybe this one.
        """
        if not self._is_over:
            self._budgets.add(self, size)

    def remove(self, size: int) -> None:
        """Count `size` bytes less."""
        self.add(-size)

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that adds bytes; they are removed at the end of the block."""
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
        """Count an answer that waits to be sent.

        Text that several answers of a connection share counts once.
        """
        self.add(reply.own)
        for part in reply.shared:
            users = self._shared.get(id(part.obj), 0)
            self._shared[id(part.obj)] = users + 1
            if not users:
                self.add(len(part))

    def release(self, reply: Reply) -> None:
        """Discount an answer that has been sent, or will not be sent."""
        self.remove(reply.own)
        for part in reply.shared:
            self._shared[id(part.obj)] -= 1
            if not self._shared[id(part.obj)]:
                del self._shared[id(part.obj)]
                self.remove(len(part))

    @contextmanager
    def keeping(self, reply: Reply) -> Iterator[None]:
        """Count an answer until the end of the block."""
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
        """Discount all bytes: the connection has ended."""
        if not self._is_over:
            self._budgets.forget(self)
            self._is_over = True


class MemoryBudgets:
    """The budgets of one server's connections."""

    def __init__(self, max_bytes: int = MAX_CLIENT_BYTES) -> None:
        self._bytes = ByteBudget[MemoryBudget](max_bytes, _cut_off)
        self._all: set[MemoryBudget] = set()
        self.peak = 0
        """The largest size since this was last reset to the current size (`allocator.py`)."""

    def __len__(self) -> int:
        """Return the number of connections with a budget."""
        return len(self._all)

    @property
    def size(self) -> int:
        """The bytes held for all connections."""
        return self._bytes.total

    def held_by(self, budget: MemoryBudget) -> int:
        """Return the bytes held for one connection."""
        return self._bytes.held_by(budget)

    def begin(self, cut_off: Callable[[], None]) -> MemoryBudget:
        """Register a new connection; `cut_off` closes it at once."""
        budget = MemoryBudget(self, cut_off)
        self._all.add(budget)
        return budget

    def add(self, budget: MemoryBudget, size: int) -> None:
        """Count `size` more bytes for a connection; cut connections off above the limit."""
        self.peak = max(self.peak, self.size + size)
        self._bytes.add(budget, size)

    def forget(self, budget: MemoryBudget) -> None:
        """Remove the budget of a connection that has ended."""
        self._all.discard(budget)
        self._bytes.forget(budget)


def _cut_off(budget: MemoryBudget) -> None:
    log.debug("cutting off a client that has %d bytes held", budget.size)
    budget.cut_off()
