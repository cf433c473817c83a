"""Overlays: the changes of unfinalized blocks in memory, as a bounded tree.

An *overlay* is one block with its changes. The overlays of all unfinalized blocks form a tree; a state is the
overlays from a block down to the first block that the database holds, laid over the database. The tree is
bounded: beyond `MAX_OVERLAY_BLOCKS` or `MAX_OVERLAY_BYTES` the oldest overlays are spilled to the database
(`spill.py`).

A read looks through the layers from the newest on, so its cost grows with their number. Where a branch is
long, groups of blocks are therefore read as one layer, merged at the first read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from cfnode.core.state import Changes

MAX_OVERLAY_BLOCKS = 64
MAX_OVERLAY_BYTES = 64 << 20
KEPT_SHARE = 0.75
"""The share of a bound that stays in memory when overlays are spilled.

The rest is spilled at once: neighboring rows share pages, and one commit serves many blocks.
"""
GROUP = 8
"""Blocks that are merged into one layer: 64 blocks have at most 21 layers."""
OVERLAY_ENTRY_BYTES = 250
"""Bytes that CPython takes for an entry besides its key and value: two bytes objects, slots in two dicts."""


class Overlay(msgspec.Struct, frozen=True):
    """One block and its changes; it is sent to the executor process as it is."""

    hash: bytes
    parent: bytes
    number: int
    changes: Changes


class OverlayTable:
    """The changes of a block, or of a group of blocks, in one table; keys are sorted when first walked."""

    __slots__ = ("_changes", "_sorted")

    def __init__(self, changes: Mapping[bytes, Mapping[bytes, bytes | None]]) -> None:
        self._changes = changes
        self._sorted: dict[bytes, list[bytes]] = {}

    def written(self, child: bytes) -> Mapping[bytes, bytes | None]:
        """Return by key the values written in a child trie; None for a deleted key."""
        return self._changes.get(child) or {}

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        """Return the next key that was written or deleted; None after the last."""
        if child not in self._changes:
            return None
        keys = self._sorted.get(child)
        if keys is None:
            keys = self._sorted[child] = sorted(self._changes[child])
        index = bisect_right(keys, key)
        return keys[index] if index < len(keys) else None


Tables: TypeAlias = tuple[OverlayTable, OverlayTable]
"""The tables of storage and of nodes."""


class OverlayEntry:
    """An overlay in the tree, ready to be read."""

    __slots__ = ("_merged", "hash", "nodes", "number", "overlay", "parent", "size", "storage")

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay
        self.hash, self.parent, self.number = overlay.hash, overlay.parent, overlay.number
        self.storage = OverlayTable(overlay.changes.storage)
        self.nodes = OverlayTable(overlay.changes.nodes)
        tables = (*overlay.changes.storage.values(), *overlay.changes.nodes.values())
        self.size = overlay.changes.size() + OVERLAY_ENTRY_BYTES * sum(map(len, tables))
        self._merged: Tables | None = None

    @property
    def number_and_root(self) -> tuple[int, bytes]:
        """The block's number and the root of its state."""
        return self.number, self.overlay.changes.root

    def merged(self, group: Sequence[OverlayEntry]) -> Tables:
        """Return this block and those below it as one layer.

        `group` (newest first) must be the same at each call.
        """
        if self._merged is None:
            changes = [entry.overlay.changes for entry in reversed(group)]
            self._merged = (
                _merge(change.storage for change in changes),
                _merge(change.nodes for change in changes),
            )
        return self._merged


class OverlayTree:
    """An immutable set of overlays: a reader can use one while the writer makes the next."""

    __slots__ = ("_entries", "_size")

    def __init__(self, entries: Iterable[OverlayEntry] = ()) -> None:
        self._entries = {entry.hash: entry for entry in entries}
        self._size = sum(entry.size for entry in self._entries.values())

    def __len__(self) -> int:
        """Return the number of blocks with an overlay."""
        return len(self._entries)

    def get(self, block: bytes) -> OverlayEntry | None:
        """Return the overlay of a block, or None."""
        return self._entries.get(block)

    def oldest_first(self) -> list[OverlayEntry]:
        """Return all overlays by block number."""
        return sorted(self._entries.values(), key=lambda entry: entry.number)

    def adding(self, entry: OverlayEntry) -> OverlayTree:
        """Return a tree with one more overlay."""
        tree = OverlayTree()
        tree._entries = self._entries | {entry.hash: entry}
        tree._size = self._size + entry.size
        return tree

    def without(self, blocks: Iterable[bytes]) -> OverlayTree:
        """Return a tree without the overlays of these blocks."""
        removed_hashes = frozenset(blocks)
        return OverlayTree(entry for entry in self._entries.values() if entry.hash not in removed_hashes)

    def excess(self, max_blocks: int, max_bytes: int, exempt: Container[bytes] = ()) -> list[OverlayEntry]:
        """Return the oldest overlays to remove once a bound is exceeded, down to `KEPT_SHARE` of both bounds.

        `exempt` overlays are neither counted nor removed. A parent is older than its children, so no removed
        overlay lies above a remaining one.
        """
        if len(self) <= max_blocks and self._size <= max_bytes:
            return []
        entries = [entry for entry in self.oldest_first() if entry.hash not in exempt]
        blocks, size = len(entries), sum(entry.size for entry in entries)
        if blocks <= max_blocks and size <= max_bytes:
            return []
        removed = []
        for entry in entries:
            if blocks <= max_blocks * KEPT_SHARE and size <= max_bytes * KEPT_SHARE:
                break
            removed.append(entry)
            blocks, size = blocks - 1, size - entry.size
        return removed


def layers(entries: Sequence[OverlayEntry]) -> list[Tables]:
    """Return storage and nodes of a branch, the newest block first, with one layer for each whole group."""
    tables, index = [], 0
    while index < len(entries):
        entry, group = entries[index], entries[index : index + GROUP]
        is_whole_group = entry.number % GROUP == GROUP - 1 and len(group) == GROUP
        tables.append(entry.merged(group) if is_whole_group else (entry.storage, entry.nodes))
        index += GROUP if is_whole_group else 1
    return tables


def _merge(changes: Iterable[Mapping[bytes, Mapping[bytes, bytes | None]]]) -> OverlayTable:
    """Return one table of several, the oldest first."""
    merged: dict[bytes, dict[bytes, bytes | None]] = {}
    for changed_tables in changes:
        for child, table in changed_tables.items():
            merged.setdefault(child, {}).update(table)
    return OverlayTable(merged)
