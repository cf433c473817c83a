"""Index of the events of a development chain's swaps, by each id of a swap.

The chain deletes a swap once it has ended. This index reads the events of each new block of the best chain,
keeps those of swaps, and finds them by deposit channel, deposit address, swap request, swap, egress,
broadcast and transaction. When a block leaves the best chain, its events leave the index. The index starts
with the node (and the few blocks whose states are still stored), lives in memory, and drops the oldest blocks
when it holds `MAX_INDEX_ENTRIES` events.
"""

from __future__ import annotations

import logging
from typing import Any

import trio

from cfnode.core.addresses import NETWORKS, BitcoinNetwork
from cfnode.core.block import BlockRef
from cfnode.core.scale import ScaleError
from cfnode.devchain.swaps.events import events_of, network_in
from cfnode.flow.wakeup import Wakeup
from cfnode.node.chain.events import BestChanged
from cfnode.node.chain.view import ChainView
from cfnode.runtime.calls import LocalFault, RuntimeCallError
from cfnode.store import StateDiscarded, StoreError, UnknownBlock
from cfnode.swaps.events import Key, keys_of
from cfnode.swaps.record import Entry

__all__ = ["SwapIndex"]

log = logging.getLogger("cfnode.dev")

MAX_INDEX_ENTRIES = 100_000
MAX_EARLIER_BLOCKS = 512
"""Earlier blocks that the index reads when the node starts, or when it was too slow."""
BLOCK_READ_RETRY_S = 0.2
"""Seconds between attempts to read a block after a fault of this machine."""
MAX_BLOCK_READS = 5
"""Attempts to read the events of a block, in case the executor process ends meanwhile."""


class SwapIndex:
    """The events of swaps on the best chain. `run` maintains it; the other methods read."""

    def __init__(self, chain: ChainView) -> None:
        self._chain = chain
        self._blocks: dict[bytes, list[tuple[Key, Entry]]] = {}
        self._numbers: dict[bytes, int] = {}
        self._found: dict[Key, list[Entry]] = {}
        self._size = 0
        self._progress = Wakeup()
        self.network = NETWORKS["Development"]

    def find(self, *key: Any) -> list[Entry]:
        """Return the events with this key, oldest first."""
        return list(self._found.get(key, ()))

    async def up_to_date(self) -> None:
        """Wait until the best block has been read, and blocks that left the best chain are dropped."""
        best = self._chain.best
        while self._newest_has_left() or (
            best.number > 0 and best.hash not in self._numbers and self._chain.is_canonical(best)
        ):
            await self._progress.wait()

    def _newest_has_left(self) -> bool:
        newest = next(reversed(self._numbers), None)
        return newest is not None and self._chain.hash_at(self._numbers[newest]) != newest

    async def run(self) -> None:
        """Follow the best chain until cancelled."""
        while True:
            with self._chain.subscribe() as events:
                await self._catch_up()
                async for event in events:
                    if isinstance(event, BestChanged):
                        await self._catch_up()

    async def _catch_up(self) -> None:
        """Drop blocks that have left the best chain, and read its new blocks."""
        while self._newest_has_left():
            self._forget(next(reversed(self._numbers)))
        for block in self._new_blocks():
            self.receive(block, await self._read(block))
        self._progress.notify()

    def _new_blocks(self) -> list[BlockRef]:
        block: BlockRef | None = self._chain.best
        new_blocks: list[BlockRef] = []
        while block is not None and block.number > 0 and block.hash not in self._numbers:
            new_blocks.append(block)
            header = self._chain.header(block.hash) if len(new_blocks) < MAX_EARLIER_BLOCKS else None
            block = None if header is None else self._chain.block_ref(header.parent_hash)
        return new_blocks[::-1]

    async def _read(self, block: BlockRef) -> list[Entry]:
        """Read the events of a block; empty for an unreadable block, which must not stop the index."""
        for _ in range(MAX_BLOCK_READS):
            try:
                return await self._entries(block)
            except (LocalFault, StoreError) as fault:
                log.warning("reading the events of block %d failed, trying again: %s", block.number, fault)
                await trio.sleep(BLOCK_READ_RETRY_S)
            except (StateDiscarded, UnknownBlock):
                log.debug("the events of block %d have already been discarded", block.number)
                return []
            except (RuntimeCallError, ScaleError) as error:
                log.warning("the events of block %d cannot be read: %s", block.number, error)
                return []
        return []

    async def _entries(self, block: BlockRef) -> list[Entry]:
        metadata = (await self._chain.runtime_at(block.hash)).metadata
        with self._chain.state(block.hash) as state:
            time = int.from_bytes(state.get(metadata.storage_key("Timestamp", "Now")) or b"", "little")
            self.network = network_in(metadata, state)
        return [
            Entry(block, time, index, event.pallet, event.name, event.fields or {})
            for index, event in enumerate(await events_of(self._chain, block))
            if isinstance(event.fields or {}, dict)
        ]

    def receive(self, block: BlockRef, entries: list[Entry]) -> None:
        """Keep the events of the next block."""
        keyed_entries = _all_named(entries, self.network)
        self._numbers[block.hash] = block.number
        self._blocks[block.hash] = keyed_entries
        self._size += len(keyed_entries)
        for key, entry in keyed_entries:
            self._found.setdefault(key, []).append(entry)
        while (self._size > MAX_INDEX_ENTRIES or len(self._numbers) > MAX_INDEX_ENTRIES) and len(
            self._numbers
        ) > 1:
            self._forget(next(iter(self._numbers)))

    def _forget(self, block_hash: bytes) -> None:
        del self._numbers[block_hash]
        keyed_entries = self._blocks.pop(block_hash)
        self._size -= len(keyed_entries)
        for key in {key for key, _ in keyed_entries}:
            remaining = [entry for entry in self._found[key] if entry.block.hash != block_hash]
            if remaining:
                self._found[key] = remaining
            else:
                del self._found[key]


def _all_named(entries: list[Entry], network: BitcoinNetwork) -> list[tuple[Key, Entry]]:
    """Return the events under their keys; an event of an unknown shape is left out."""
    keyed_entries: list[tuple[Key, Entry]] = []
    for entry in entries:
        try:
            keys = keys_of(entry.pallet, entry.name, entry.fields, network)
            keyed_entries += [(key, entry) for key in keys]
        except (LookupError, TypeError, ValueError, AttributeError):
            log.exception("an event %s.%s has a shape unknown to the swap index", entry.pallet, entry.name)
    return keyed_entries
