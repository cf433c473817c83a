"""Events of the chain, and their bounded queues for listeners.

A listener is a bounded queue. The chain never waits for a listener: when its queue is full, it is cut off.
Its last event is `Lagged`, so that it knows that events are missing, and subscribes again (or closes its
connection).
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
from cfnode.flow.wakeup import Wakeup

T = TypeVar("T")

QUEUE_CAPACITY = 512


@dataclass(frozen=True, slots=True)
class Imported:
    """The event of an executed and added block. `is_best`: whether it became the head of the best chain."""

    block: BlockRef
    header: Header
    is_best: bool


@dataclass(frozen=True, slots=True)
class BestChanged:
    """The event of a new head of the best chain.

    `retracted`: hashes that left the best chain, newest first; `enacted`: hashes that joined it, oldest first
    (the last is `new`).
    """

    new: BlockRef
    retracted: tuple[bytes, ...]
    enacted: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class BlocksFinalized:
    """The event of new final blocks: `blocks`, oldest first. `dropped`: hashes of conflicting forks.

    `discarded`: held blocks (`Store.hold`) whose states had to be discarded nevertheless. `commit`: the votes
    of the justification, in the form of the gossip. `voters`: the authorities that finalize the next block
    (both None if the chain was reset to this block).
    """

    blocks: tuple[BlockRef, ...]
    dropped: tuple[bytes, ...]
    justification: bytes | None
    discarded: tuple[bytes, ...] = ()
    commit: CommitMessage | None = None
    voters: AuthoritySet | None = None


@dataclass(frozen=True, slots=True)
class ChainReset:
    """The event of a reset to an earlier copy of the chain: later blocks, even final ones, are removed.

    `BestChanged` and `BlocksFinalized` with the present heads follow.
    """


@dataclass(frozen=True, slots=True)
class Lagged:
    """The last event of a listener that was too slow and has been cut off."""


ChainEvent = Imported | BestChanged | BlocksFinalized | ChainReset | Lagged


class EventSubscription(Generic[T]):
    """One listener's bounded queue: a context manager, and an async iterator that ends after `close()`.

    A slow reader is cut off: the publisher never waits.
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
        self._arrival = Wakeup()
        self._closed = False

    def __enter__(self) -> EventSubscription[T]:
        """Return the subscription, which the end of the block closes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the subscription."""
        self.close()

    def __aiter__(self) -> AsyncIterator[T]:
        """Return the subscription, which is its own iterator."""
        return self

    async def __anext__(self) -> T:
        """Return the next item, waiting for one; end once the subscription is closed and its queue empty."""
        if self._queue or self._closed:
            await trio.lowlevel.checkpoint()
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            await self._arrival.wait()
        return self._queue.popleft()

    def receive_nowait(self) -> T | None:
        """Return the next waiting item; None without one."""
        return self._queue.popleft() if self._queue else None

    def close(self) -> None:
        """Stop listening; an iteration under way ends."""
        self._queue.clear()
        self._end()

    def push(self, item: T, lagged: T | None) -> None:
        """Put an item into the queue, or cut the listener off if the queue is full.

        Called by the publisher.
        """
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
        self._arrival.notify()

    def finish(self) -> None:
        """End the stream after the waiting items. Called by the publisher."""
        self._end()

    def _end(self) -> None:
        self._closed = True
        self._publisher.forget(self)
        self._arrival.notify()


class Publisher(Generic[T]):
    """The sender of items to all listeners at once, without waiting.

    `lagged`: the last item of a listener that is cut off; None: its iteration just ends.
    """

    def __init__(self, lagged: T | None) -> None:
        self._lagged = lagged
        self._listeners: dict[EventSubscription[T], None] = {}
        self.published = 0
        """The number of items published so far."""

    def __len__(self) -> int:
        """Return the number of listeners."""
        return len(self._listeners)

    def subscribe(
        self,
        capacity: int = QUEUE_CAPACITY,
        only: type | tuple[type, ...] = object,
        on_event: Callable[[T], None] | None = None,
    ) -> EventSubscription[T]:
        """Return a new listener; it receives the items of these types that are published from now on.

        `on_event` is called with each item when it is put into the queue.
        """
        subscription = EventSubscription(self, capacity, only, on_event)
        self._listeners[subscription] = None
        return subscription

    def publish(self, item: T) -> None:
        """Send `item` to each listener; slow ones are cut off."""
        self.published += 1
        for listener in tuple(self._listeners):
            listener.push(item, self._lagged)

    def finish(self) -> None:
        """End every subscription after its waiting items."""
        for listener in tuple(self._listeners):
            listener.finish()

    def forget(self, subscription: EventSubscription[T]) -> None:
        """Remove a subscription that has ended. Called by the subscription."""
        self._listeners.pop(subscription, None)
