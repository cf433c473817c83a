"""What has happened in a block? Its events, decoded once for all who ask.

Whoever waits for a transaction of a block asks when the block comes, all at the same moment, and each wants
the events of one extrinsic. They stand in `System.Events`, with types that the metadata of the runtime gives
that executed the block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import trio

from cfnode.node.runtime_info import RuntimeCache
from cfnode.store import Store

__all__ = ["BlockEvents", "Event", "Events"]

LARGE_EVENTS = 32 * 1024
"""Bytes of events from which on they are decoded in a thread."""
MAX_BLOCKS = 4
"""Blocks whose events are kept: who asks at all asks when the block has come."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a pallet; `fields` in the mapping of the SCALE codec (a dict where they are named)."""

    pallet: str
    name: str
    fields: Any


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a block: all in their order, and those of each extrinsic by its index."""

    all: tuple[Event, ...]
    of: Mapping[int, tuple[Event, ...]]


class BlockEvents:
    """The events of the blocks that were asked for last."""

    def __init__(self, store: Store, runtimes: RuntimeCache) -> None:
        self._store = store
        self._runtimes = runtimes
        self._known: OrderedDict[bytes, Events] = OrderedDict()
        self._reading = trio.Lock()

    async def at(self, block_hash: bytes) -> Events:
        """The events of a block. Raises UnknownBlock, StateDiscarded, or ScaleError."""
        async with self._reading:
            known = self._known.get(block_hash)
            if known is None:
                known = self._known[block_hash] = await self._read(block_hash)
                while len(self._known) > MAX_BLOCKS:
                    self._known.popitem(last=False)
        return known

    async def _read(self, block_hash: bytes) -> Events:
        header = self._store.header(block_hash)
        metadata = (await self._runtimes.executing(block_hash, header)).metadata
        with self._store.state(block_hash) as state:
            data = state.get(metadata.storage_key("System", "Events")) or b"\0"
        if len(data) > LARGE_EVENTS:
            return _sorted(await trio.to_thread.run_sync(metadata.event_codec.decode, data))
        return _sorted(metadata.event_codec.decode(data))


def _sorted(records: list[dict[str, Any]]) -> Events:
    events, of = [], dict[int, list[Event]]()
    for record in records:
        events.append(event := _event(record))
        if isinstance(phase := record["phase"], tuple):
            of.setdefault(phase[1], []).append(event)
    return Events(tuple(events), {index: tuple(each) for index, each in of.items()})


def _event(record: dict[str, Any]) -> Event:
    pallet, payload = record["event"]
    name, fields = (payload, ()) if isinstance(payload, str) else payload
    return Event(pallet, name, fields)
