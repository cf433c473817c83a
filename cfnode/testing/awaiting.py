"""Awaiting of events: a cursor behind the last event that was awaited, and the search from there.

1. A search begins in the cursor's block, without the events that were returned from it, and goes on to the
   best block. So an event is returned once, and none between two searches is missed.
2. If no block has the event, its name is compared with the events of the runtime: a mistyped one would never
   occur.
3. Blocks are added until one has the event.

`revert` restores the cursor's place at the time of the snapshot. If another client has reverted the chain,
the search begins at the cursor's height, or behind the best block if that is lower.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cfnode.core.foreign import block_number
from cfnode.core.scale.metadata import Metadata
from cfnode.core.suggestions import did_you_mean
from cfnode.sdk.calls import Call
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.blocks import metadata_of
from cfnode.testing.dev_calls import Event, ask, dev_call
from cfnode.testing.errors import NotReached, UnknownEvent
from cfnode.testing.frames import expected

__all__ = ["Cursor", "advance_to", "begin", "revert", "snapshot"]

__tracebackhide__ = expected

MAX_SEARCHED_BLOCKS = 100
"""Maximum blocks below the best one in which a search begins: a node keeps the state of 128."""
MAX_NODE_SNAPSHOTS = 32
"""Snapshots that a node keeps."""


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Place behind an event: its block, and the indices of the events that were returned from it.

    `seen` is None if all events of the block were.
    """

    number: int
    block: str
    seen: frozenset[int] | None


@dataclass(slots=True)
class Cursor:
    """The place behind the last event that was awaited; None before the first search: the best block."""

    place: EventPlace | None = None
    snapshots: dict[str, EventPlace | None] = field(default_factory=dict)

    def take(self, number: int, block: str, index: int) -> None:
        """Move behind an event."""
        place = self.place
        before = place.seen if place is not None and place.block == block and place.seen else frozenset()
        self.place = EventPlace(number, block, before | {index})

    def has_seen(self, block: str, index: int) -> bool:
        """Return whether an event was returned before."""
        place = self.place
        return place is not None and place.block == block and (place.seen is None or index in place.seen)


def begin(cursor: Cursor) -> Call[None]:
    """Move a cursor behind all events of the best block."""

    def steps(session: ClientSession) -> Steps[None]:
        number = yield from _best(session)
        cursor.place = EventPlace(number, (yield from _hash(session, number)), None)

    return dev_call(steps)


def snapshot(cursor: Cursor) -> Call[str]:
    """Take a snapshot of the chain, and keep the cursor's place; return its number."""

    def steps(session: ClientSession) -> Steps[str]:
        number: str = yield from ask(session, "dev_snapshot")
        cursor.snapshots[number] = cursor.place
        while len(cursor.snapshots) > MAX_NODE_SNAPSHOTS:
            del cursor.snapshots[next(iter(cursor.snapshots))]
        return number

    return dev_call(steps)


def revert(cursor: Cursor, number: str) -> Call[str]:
    """Restore a snapshot and the cursor's place at that time; return the hash of the best block."""

    def steps(session: ClientSession) -> Steps[str]:
        block: str = yield from ask(session, "dev_revert", number)
        if number in cursor.snapshots:
            cursor.place = cursor.snapshots[number]
        else:  # another client took the snapshot
            yield from begin(cursor).steps(session)
        return block

    return dev_call(steps)


def advance_to(cursor: Cursor, pallet: str, name: str, max_blocks: int) -> Call[Event]:
    """Return the next event of this pallet and name, from existing blocks or up to `max_blocks` added ones.

    Raises UnknownEvent, or NotReached.
    """

    def steps(session: ClientSession) -> Steps[Event]:
        best = yield from _best(session)
        start = yield from _start(session, cursor, best)
        for number in range(start, best + 1):
            if event := (yield from _next_in(session, cursor, number, pallet, name)):
                return event
        yield from _check_name(session, pallet, name)
        for number in range(best + 1, best + 1 + max_blocks):
            if (yield from _best(session)) < number:
                yield from ask(session, "dev_newBlock")
            if event := (yield from _next_in(session, cursor, number, pallet, name)):
                return event
        raise NotReached(f"no event {pallet}.{name} in {max_blocks} added blocks, from block {start} on")

    return dev_call(steps)


def _best(session: ClientSession) -> Steps[int]:
    return block_number((yield from ask(session, "chain_getHeader")))


def _hash(session: ClientSession, number: int) -> Steps[str]:
    block: str = yield from ask(session, "chain_getBlockHash", number)
    return block


def _start(session: ClientSession, cursor: Cursor, best: int) -> Steps[int]:
    """Return the number of the block in which a search begins; the first one's is the best."""
    if cursor.place is None:
        cursor.place = EventPlace(best, (yield from _hash(session, best)), frozenset())
    # Above the best block, the cursor is of a chain that was reverted; what is left of it was searched.
    return min(max(cursor.place.number, best - MAX_SEARCHED_BLOCKS), best + 1)


def _next_in(
    session: ClientSession, cursor: Cursor, number: int, pallet: str, name: str
) -> Steps[Event | None]:
    """Return the first new event of this pallet and name in a block, and move the cursor behind it."""
    block = yield from _hash(session, number)
    for index, event in enumerate((yield from ask(session, "dev_events", block))):
        if (event["pallet"], event["name"]) == (pallet, name) and not cursor.has_seen(block, index):
            cursor.take(number, block, index)
            return {**event, "block": block}
    return None


def _check_name(session: ClientSession, pallet: str, name: str) -> Steps[None]:
    """Raise UnknownEvent for an event that the runtime lacks."""
    block = yield from ask(session, "chain_getBlockHash")
    version = yield from ask(session, "state_getRuntimeVersion", block)
    metadata: Metadata = yield from metadata_of(session, session.rpc_url, version, block)
    events = {
        pallet_metadata.name: metadata.event_names(pallet_metadata.name)
        for pallet_metadata in metadata.pallets
    }
    if name in events.get(pallet, ()):
        return
    if pallet not in events:
        raise UnknownEvent(f"unknown pallet {_quoted(pallet, events)}")
    raise UnknownEvent(f"unknown event of {pallet} {_quoted(name, events[pallet])}")


def _quoted(name: str, known: Iterable[str]) -> str:
    names = list(known)
    hint = did_you_mean(name, names) or f" Choose from {', '.join(names) or 'none: it has no events'}."
    return f"{name[:80]!r}.{hint}"
