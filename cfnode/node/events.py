"""What does the chain tell its listeners, and what becomes of a listener that does not keep up?

A listener is a bounded queue.
The chain never waits for one: when a queue is full its listener is cut off, and the last thing it receives is
`Lagged`, so that it knows its picture is broken and begins anew (or closes its connection).
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import AuthoritySet, CommitMessage
from cfnode.core.header import Header

T = TypeVar("T")

QUEUE_CAPACITY = 512


@dataclass(frozen=True, slots=True)
class Imported:
    """A block was executed and added; `is_best` says whether it became the head of the best chain."""

    block: BlockRef
    header: Header
    is_best: bool


@dataclass(frozen=True, slots=True)
class BestChanged:
    """The best chain has a new head.

    `retracted`: hashes that left the best chain, newest first; `enacted`: hashes that joined it, oldest first
    (the last is `new`).
    """

    new: BlockRef
    retracted: tuple[bytes, ...]
    enacted: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Finalized:
    """`blocks` became final, oldest first; `dropped` are the hashes of forks that can no longer win.

    `discarded`: blocks that somebody holds (`Store.hold`) and whose states had to go all the same; `commit`:
    the votes of the justification, as gossip carries them; `voters`: who finalizes what follows (both None
    where the chain began anew at this block).
    """

    blocks: tuple[BlockRef, ...]
    dropped: tuple[bytes, ...]
    justification: bytes | None
    discarded: tuple[bytes, ...] = ()
    commit: CommitMessage | None = None
    voters: AuthoritySet | None = None


@dataclass(frozen=True, slots=True)
class Reverted:
    """The chain is what it was at an earlier moment: later blocks, final ones too, were never there.

    `BestChanged` and `Finalized` with the present heads follow.
    """


@dataclass(frozen=True, slots=True)
class Lagged:
    """The listener was too slow and has been cut off; nothing follows."""


ChainEvent = Imported | BestChanged | Finalized | Reverted | Lagged


class Subscription(Generic[T]):
    """One listener's bounded queue: a context manager, and an async iterator that ends after `close()`.

    It never waits for a slow reader: the publisher cuts it off instead.
    """

    def __init__(
        self,
        publisher: Publisher[T],
        capacity: int,
        only: type | tuple[type, ...],
        on_event: Callable[[T], None] | None,
    ) -> None:
        self._publisher = publisher
        self._capacity = capacity
        self._only = only
        self._on_event = on_event
        self._queue: deque[T] = deque()
        self._arrived = trio.Event()
        self._closed = False

    def __enter__(self) -> Subscription[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._queue or self._closed:
            await trio.lowlevel.checkpoint()
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            await self._arrived.wait()
        return self._queue.popleft()

    def receive_nowait(self) -> T | None:
        """The next waiting item, or None."""
        return self._queue.popleft() if self._queue else None

    def close(self) -> None:
        """Stop listening; an iteration under way ends."""
        self._queue.clear()
        self._end()

    def push(self, item: T, lagged: T | None) -> None:
        """Called by the publisher."""
        if self._closed or not isinstance(item, self._only):
            return
        if len(self._queue) >= self._capacity:
            if lagged is not None:
                self._queue.append(lagged)
            self._end()
            return
        self._queue.append(item)
        if self._on_event is not None:
            self._on_event(item)
        self._wake()

    def finish(self) -> None:
        """Nothing more will come; what waits is still delivered. Called by the publisher."""
        self._end()

    def _end(self) -> None:
        self._closed = True
        self._publisher.forget(self)
        self._wake()

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = trio.Event()


class Publisher(Generic[T]):
    """Hands each item to all its listeners at once, without ever waiting.

    `lagged` is the last item of a listener that was cut off; None: its iteration just ends.
    """

    def __init__(self, lagged: T | None) -> None:
        self._lagged = lagged
        self._listeners: dict[Subscription[T], None] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def subscribe(
        self,
        capacity: int = QUEUE_CAPACITY,
        only: type | tuple[type, ...] = object,
        on_event: Callable[[T], None] | None = None,
    ) -> Subscription[T]:
        """A new listener; it receives what is published from now on, and is woken by items of these types.

        `on_event` is called with each of them when it is put into the queue.
        """
        subscription = Subscription(self, capacity, only, on_event)
        self._listeners[subscription] = None
        return subscription

    def publish(self, item: T) -> None:
        """Give `item` to each listener; the slow are cut off."""
        for listener in tuple(self._listeners):
            listener.push(item, self._lagged)

    def finish(self) -> None:
        """End every subscription after what it still holds."""
        for listener in tuple(self._listeners):
            listener.finish()

    def forget(self, subscription: Subscription[T]) -> None:
        """Called by a subscription that has ended."""
        self._listeners.pop(subscription, None)
