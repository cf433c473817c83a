"""Events of recent blocks, decoded once for all readers.

The senders of all transactions in a block read its events at the same moment, when the block is imported, and
each reads those of one extrinsic. The events are in `System.Events`; the metadata of the runtime that
executed the block has their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfnode.core.bounded import BoundedDict
from cfnode.flow.shared_work import SharedWork
from cfnode.node.chain.runtime_info import RuntimeCache
from cfnode.node.threads import convert_in_thread
from cfnode.store import Store

__all__ = ["BlockEvent", "BlockEvents", "OrderedEvents"]

LARGE_EVENTS = 32 * 1024
"""Bytes from which on events are decoded in a thread."""
MAX_CACHED_EVENT_BLOCKS = 4
"""Blocks whose events are cached: most readers come right after the import."""


@dataclass(frozen=True, slots=True)
class BlockEvent:
    """An event of a pallet; `fields` in the mapping of the SCALE codec (a dict where they are named)."""

    pallet: str
    name: str
    fields: Any


@dataclass(frozen=True, slots=True)
class OrderedEvents:
    """The events of a block: all in their order, and those of each extrinsic by its index."""

    all: tuple[BlockEvent, ...]
    of: Mapping[int, tuple[BlockEvent, ...]]


class BlockEvents:
    """A cache of the events of the last requested blocks."""

    def __init__(self, store: Store, runtimes: RuntimeCache) -> None:
        self._store = store
        self._runtimes = runtimes
        self._cache = BoundedDict[bytes, OrderedEvents](MAX_CACHED_EVENT_BLOCKS)
        self._reading = SharedWork[bytes, OrderedEvents]()

    async def at(self, block_hash: bytes) -> OrderedEvents:
        """Return the events of a block. Raise UnknownBlock, StateDiscarded, or ScaleError."""
        events = self._cache.get(block_hash)
        return events or await self._reading.once(block_hash, lambda: self._read(block_hash))

    async def _read(self, block_hash: bytes) -> OrderedEvents:
        events = self._cache[block_hash] = await self._decoded(block_hash)
        return events

    async def _decoded(self, block_hash: bytes) -> OrderedEvents:
        header = self._store.header(block_hash)
        metadata = (await self._runtimes.executing(block_hash, header)).metadata
        with self._store.state(block_hash) as state:
            data = state.get(metadata.storage_key("System", "Events")) or b"\0"
        if len(data) > LARGE_EVENTS:
            return _sorted(await convert_in_thread(metadata.event_codec.decode, data))
        return _sorted(metadata.event_codec.decode(data))


def _sorted(records: list[dict[str, Any]]) -> OrderedEvents:
    events, by_extrinsic = [], dict[int, list[BlockEvent]]()
    for record in records:
        events.append(event := _event(record))
        if isinstance(phase := record["phase"], tuple):
            by_extrinsic.setdefault(phase[1], []).append(event)
    return OrderedEvents(
        tuple(events), {index: tuple(extrinsic_events) for index, extrinsic_events in by_extrinsic.items()}
    )


def _event(record: dict[str, Any]) -> BlockEvent:
    pallet, payload = record["event"]
    name, fields = (payload, ()) if isinstance(payload, str) else payload
    return BlockEvent(pallet, name, fields)
