"""Where is the state of blocks that are not final yet, and how much memory may it take?

An *overlay* is one block with what it changed. The overlays of all unfinalized blocks form a tree; a state is
the overlays from a block down to the first one that the database holds, laid over the database. The tree is
bounded: beyond `MAX_BLOCKS` or `MAX_BYTES` the oldest ones move to the shelf in the database.

A read looks through the layers from the newest on, so its cost grows with their number. Where a branch is
long, groups of blocks are therefore read as one layer, merged at the first read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from cfnode.core.state import Changes

MAX_BLOCKS = 64
MAX_BYTES = 64 << 20
KEPT_SHARE = 0.75
"""The rest goes to the shelf at once: neighbouring rows share pages, and one commit serves many blocks."""
GROUP = 8
"""Blocks that are merged into one layer: at most 21 layers of 64 blocks."""
ENTRY_COST = 250
"""Bytes that CPython takes for an entry besides its key and value: two bytes objects, places in two dicts."""


class Overlay(msgspec.Struct, frozen=True):
    """One block and its changes; it travels to the executor process as it is."""

    hash: bytes
    parent: bytes
    number: int
    changes: Changes


class OverlayTable:
    """The layer that one block's changes are in one table; its keys are sorted when first walked."""

    __slots__ = ("_changes", "_sorted")

    def __init__(self, changes: Mapping[bytes, Mapping[bytes, bytes | None]]) -> None:
        self._changes = changes
        self._sorted: dict[bytes, list[bytes]] = {}

    def touched(self, child: bytes) -> Mapping[bytes, bytes | None]:
        """The values that were written in a child trie, None for a deleted one; by key."""
        return self._changes.get(child) or {}

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        """The next key that the block touched, deleted ones too."""
        if child not in self._changes:
            return None
        keys = self._sorted.get(child)
        if keys is None:
            keys = self._sorted[child] = sorted(self._changes[child])
        place = bisect_right(keys, key)
        return keys[place] if place < len(keys) else None


Tables: TypeAlias = tuple[OverlayTable, OverlayTable]
"""Storage and nodes."""


class OverlayEntry:
    """An overlay in the tree, ready to be read."""

    __slots__ = ("_merged", "hash", "nodes", "number", "overlay", "parent", "size", "storage")

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay
        self.hash, self.parent, self.number = overlay.hash, overlay.parent, overlay.number
        self.storage = OverlayTable(overlay.changes.storage)
        self.nodes = OverlayTable(overlay.changes.nodes)
        tables = (*overlay.changes.storage.values(), *overlay.changes.nodes.values())
        self.size = overlay.changes.size() + ENTRY_COST * sum(map(len, tables))
        self._merged: Tables | None = None

    def merged(self, group: Sequence[OverlayEntry]) -> Tables:
        """Storage and nodes of this block and of those below it, which never change, as one layer each."""
        if self._merged is None:
            changes = [entry.overlay.changes for entry in reversed(group)]
            self._merged = _merge(each.storage for each in changes), _merge(each.nodes for each in changes)
        return self._merged


class OverlayTree:
    """An immutable set of overlays: whoever has taken one can read on while the next one is made."""

    __slots__ = ("_entries", "_size")

    def __init__(self, entries: Iterable[OverlayEntry] = ()) -> None:
        self._entries = {entry.hash: entry for entry in entries}
        self._size = sum(entry.size for entry in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, block: bytes) -> OverlayEntry | None:
        return self._entries.get(block)

    def oldest_first(self) -> list[OverlayEntry]:
        return sorted(self._entries.values(), key=lambda entry: entry.number)

    def adding(self, entry: OverlayEntry) -> OverlayTree:
        tree = OverlayTree()
        tree._entries = self._entries | {entry.hash: entry}
        tree._size = self._size + entry.size
        return tree

    def without(self, blocks: Iterable[bytes]) -> OverlayTree:
        gone = frozenset(blocks)
        return OverlayTree(entry for entry in self._entries.values() if entry.hash not in gone)

    def excess(self, most_blocks: int, most_bytes: int, besides: Container[bytes] = ()) -> list[OverlayEntry]:
        """The oldest overlays that have to go once a bound is exceeded, down to `KEPT_SHARE` of both; those
        `besides` neither count nor go. A parent is older than its children, so what stays is never below what
        goes."""
        if len(self) <= most_blocks and self._size <= most_bytes:
            return []
        entries = [entry for entry in self.oldest_first() if entry.hash not in besides]
        blocks, size = len(entries), sum(entry.size for entry in entries)
        if blocks <= most_blocks and size <= most_bytes:
            return []
        going = []
        for entry in entries:
            if blocks <= most_blocks * KEPT_SHARE and size <= most_bytes * KEPT_SHARE:
                break
            going.append(entry)
            blocks, size = blocks - 1, size - entry.size
        return going


def layers(entries: Sequence[OverlayEntry]) -> list[Tables]:
    """Storage and nodes of a branch, the newest block first, with one layer for each whole group."""
    found, place = [], 0
    while place < len(entries):
        entry, group = entries[place], entries[place : place + GROUP]
        whole = entry.number % GROUP == GROUP - 1 and len(group) == GROUP
        found.append(entry.merged(group) if whole else (entry.storage, entry.nodes))
        place += GROUP if whole else 1
    return found


def _merge(changes: Iterable[Mapping[bytes, Mapping[bytes, bytes | None]]]) -> OverlayTable:
    """The oldest ones first."""
    merged: dict[bytes, dict[bytes, bytes | None]] = {}
    for each in changes:
        for child, table in each.items():
            merged.setdefault(child, {}).update(table)
    return OverlayTable(merged)
