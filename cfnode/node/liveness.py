"""Detection of a node that no longer receives new blocks.

A node that has lost its peers, or whose peers have stopped, seems synced: it cannot know that there are newer
blocks. So the arrival of blocks is monitored. After three block times without a block, or without any peer,
the node is *isolated*: it logs warnings, and calls that wait for a block are answered in time. A node that
makes the chain itself is never isolated; a node that is syncing reports what it waits for
(`asking/progress.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.events import ChainEvent, Imported

__all__ = ["ISOLATION_WARNING_INTERVAL_S", "MAX_SILENCE_S", "WAITING_CALL_TIMEOUT_S", "Liveness"]

log = logging.getLogger("cfnode.sync")

BLOCK_TIME_S = 6.0
"""Seconds from one block to the next on the chain."""

MAX_SILENCE_S = 3 * BLOCK_TIME_S
"""Seconds without a block after which the node is isolated: an author may miss a slot, hardly two more after
that."""

ISOLATION_WARNING_INTERVAL_S = 15.0
"""Seconds between warnings, as for a sync without progress."""

WAITING_CALL_TIMEOUT_S = 25.0
"""Seconds after which a call that waits for a block is answered without one: some clients give up after
thirty."""

_POLL_S = 1.0


class Liveness:
    """The monitor of the time since the last block; `run` it.

    `peers` returns the number of peers; `excused`, whether the node makes the chain or is still syncing;
    `no_peers_reason`, the reason why there is no peer.
    """

    def __init__(
        self,
        chain: NodeChain,
        peers: Callable[[], int],
        *,
        excused: Callable[[], bool],
        no_peers_reason: Callable[[], str] = lambda: "no peers",
    ) -> None:
        self._chain = chain
        self._peers = peers
        self._excused = excused
        self._why_alone = no_peers_reason
        self._last = trio.current_time()
        self._waiting: set[trio.CancelScope] = set()

    @property
    def silence(self) -> float:
        """Seconds since the last block, or since the node started."""
        return trio.current_time() - self._last

    @property
    def is_isolated(self) -> bool:
        """Whether the node lacks peers or new blocks, and neither makes the chain nor syncs."""
        return not self._excused() and (not self._peers() or self.silence >= MAX_SILENCE_S)

    @property
    def reason(self) -> str | None:
        """The reason why clients should not rely on the node's best block; None if not isolated."""
        if not self.is_isolated:
            return None
        newest, seconds = f"#{self._chain.best.number}", round(self.silence)
        if not self._peers():
            return f"isolated: {self._why_alone()}; no block after {newest} for {seconds} s"
        fault = self._chain.faults.reason
        if fault is not None:
            return f"no block after {newest} for {seconds} s: {fault}"
        peers = "1 peer, but it" if self._peers() == 1 else f"{self._peers()} peers, but none"
        return f"{peers} gives {'no' if self._peers() == 1 else 'a'} block after {newest} for {seconds} s"

    def line(self) -> str | None:
        """Return the informant's text in place of `Idle`; None if the node is not isolated."""
        if not self.is_isolated:
            return None
        return f"⚠️  No block for {self.silence:.0f} s" if self._peers() else "⚠️  Isolated"

    async def run(self) -> None:
        """Record new blocks, and warn if none arrive, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._warn)
            while True:
                with self._chain.subscribe(only=Imported, on_event=self._on_event) as events:
                    async for _ in events:
                        pass

    def _on_event(self, _: ChainEvent) -> None:
        self._last = trio.current_time()
        for scope in self._waiting:
            scope.deadline = self._last + WAITING_CALL_TIMEOUT_S

    async def _warn(self) -> None:
        warned: float | None = None
        while True:
            await trio.sleep(_POLL_S)
            reason, now = self.reason, trio.current_time()
            if reason is None:
                if warned is not None:
                    log.info("Blocks arrive again: the best one is #%d", self._chain.best.number)
                warned = None
            elif self.silence >= BLOCK_TIME_S and (
                warned is None or now - warned >= ISOLATION_WARNING_INTERVAL_S
            ):
                log.warning("%s", reason)
                warned = now

    @contextmanager
    def answer_deadline(self) -> Iterator[trio.CancelScope]:
        """Wait inside the `with` for a new block's effects; cancel it after `WAITING_CALL_TIMEOUT_S`."""
        with trio.CancelScope(deadline=trio.current_time() + WAITING_CALL_TIMEOUT_S) as scope:
            self._waiting.add(scope)
            try:
                yield scope
            finally:
                self._waiting.discard(scope)
