"""Does this node still hear of the chain?

A node that has lost its peers, or whose peers have stopped, looks in step with the chain: nothing tells it
that there are newer blocks. So what counts is the arrival of blocks. None for three block times, or no peer
at all: then it says so, again and again, and whoever waits for a block is answered in time. A node that
makes the chain itself is never isolated, and one that is still syncing says elsewhere what it waits for
(`sync/progress.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from cfnode.node.chain import Chain
from cfnode.node.events import ChainEvent, Imported

__all__ = ["ANSWER_S", "SILENT_S", "WARN_S", "Liveness"]

log = logging.getLogger("cfnode.sync")

BLOCK_S = 6.0
"""Seconds from one block to the next on the chain."""

SILENT_S = 3 * BLOCK_S
"""Seconds without a block from which on something is wrong: an author may miss a slot, hardly two more after
it."""

WARN_S = 15.0
"""Seconds between warnings, as for a sync that waits."""

ANSWER_S = 25.0
"""Seconds without a block after which a caller is answered that waits for one: some clients give up after
thirty."""

_LOOK_S = 1.0


class Liveness:
    """When did the last block come, and is that too long ago? `run` keeps it.

    `peers`: how many take part with us; `excused`: whether the node makes the chain, or is still syncing;
    `why_alone`: why there is no peer, in words.
    """

    def __init__(
        self,
        chain: Chain,
        peers: Callable[[], int],
        *,
        excused: Callable[[], bool],
        why_alone: Callable[[], str] = lambda: "no peers",
    ) -> None:
        self._chain = chain
        self._peers = peers
        self._excused = excused
        self._why_alone = why_alone
        self._last = trio.current_time()
        self._waiting: set[trio.CancelScope] = set()

    @property
    def silence(self) -> float:
        """Seconds since the last block came, or since the node started."""
        return trio.current_time() - self._last

    @property
    def is_isolated(self) -> bool:
        """Are there no peers, or no blocks, where there should be?"""
        return not self._excused() and (not self._peers() or self.silence >= SILENT_S)

    @property
    def reason(self) -> str | None:
        """Why nobody should rely on what the node takes for the newest block; None where all is well."""
        if not self.is_isolated:
            return None
        newest, seconds = f"#{self._chain.best.number}", round(self.silence)
        if not self._peers():
            return f"isolated: {self._why_alone()}; no block after {newest} for {seconds} s"
        failing = self._chain.faults.reason
        if failing is not None:
            return f"no block after {newest} for {seconds} s: {failing}"
        peers = "1 peer, but it" if self._peers() == 1 else f"{self._peers()} peers, but none"
        return f"{peers} gives {'no' if self._peers() == 1 else 'a'} block after {newest} for {seconds} s"

    def line(self) -> str | None:
        """The informant's words, in place of `Idle`; None where all is well."""
        if not self.is_isolated:
            return None
        return f"⚠️  No block for {self.silence:.0f} s" if self._peers() else "⚠️  Isolated"

    async def run(self) -> None:
        """Until cancelled: note blocks, and warn where they do not come."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._warn)
            while True:
                with self._chain.subscribe(only=Imported, seen=self._heard) as events:
                    async for _ in events:
                        pass

    def _heard(self, _: ChainEvent) -> None:
        self._last = trio.current_time()
        for scope in self._waiting:
            scope.deadline = self._last + ANSWER_S

    async def _warn(self) -> None:
        warned: float | None = None
        while True:
            await trio.sleep(_LOOK_S)
            reason, now = self.reason, trio.current_time()
            if reason is None:
                if warned is not None:
                    log.info("Blocks come again: the best one is #%d", self._chain.best.number)
                warned = None
            elif self.silence >= BLOCK_S and (warned is None or now - warned >= WARN_S):
                log.warning("%s", reason)
                warned = now

    @contextmanager
    def patience(self) -> Iterator[trio.CancelScope]:
        """Wait in the `with` for what a block brings: it is cancelled after `ANSWER_S` without a block."""
        with trio.CancelScope(deadline=trio.current_time() + ANSWER_S) as scope:
            self._waiting.add(scope)
            try:
                yield scope
            finally:
                self._waiting.discard(scope)
