"""The storage keys that a block has changed, for the subscriptions that watch keys.

The states of two blocks are compared once for all subscribers, by walking both tries in parallel: the work
grows with the differences, not with the number of subscribers and keys. Each subscription then looks up its
keys among the differences. If a state is not stored here, or too much differs, the subscription reads its
keys in both states.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.bounded import BoundedDict
from cfnode.core.trie import differences
from cfnode.flow.fairness import FairLimiter
from cfnode.node.chain.events import BestChanged
from cfnode.node.threads import read_in_thread
from cfnode.rpc.substrate.storage import CLIENT_READS, values_in
from cfnode.rpc.substrate.watched_keys import WatchedKeys
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.rows import SlowReader
from cfnode.store import StateDiscarded, UnknownBlock

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["all_changes", "changes_json", "changes_of"]

MAX_KEPT_CHANGES_BYTES: Final = 4 * 1024 * 1024
"""Size of the keys and values of one comparison that is kept for all subscribers."""
KEPT: Final = 4
"""Comparisons that are kept: subscribers are at the same block, or one behind."""
CHANGE_ENTRY_BYTES: Final = 128
"""Memory that a key and its value take besides their bytes."""

Changes = Mapping[bytes, bytes | None]
_KEPT: Final = PerNode(lambda: BoundedDict[tuple[bytes, bytes], Changes | None](KEPT))
_COMPARING: Final = PerNode(lambda: FairLimiter(1))
_BEGINNING: Final = PerNode(lambda: FairLimiter(1))
"""Sorting thousands of keys takes milliseconds of the event loop: one subscription in each turn."""


async def _between(node: Node, old: bytes, new: bytes) -> Changes | None:
    """Return the differences between two states, with the new values.

    None if keys have to be compared one by one.
    """
    kept_changes = _KEPT.of(node)
    async with _COMPARING.of(node):  # concurrent callers find the result cached
        if (old, new) not in kept_changes:
            kept_changes[old, new] = await _compare(node, old, new)
        return kept_changes[old, new]


async def _compare(node: Node, old: bytes, new: bytes) -> Changes | None:
    if any(node.chain.states.remote_for(block) is not None for block in (old, new)):
        return None

    def compare() -> Changes | None:
        changes: dict[bytes, bytes | None] = {}
        weight = 0
        with node.chain.state(old) as before, node.chain.state(new) as after:
            for key, _ in differences(before.node, after.node):
                value = changes[key] = after.get(key)
                weight += len(key) + len(value or b"") + CHANGE_ENTRY_BYTES
                if weight > MAX_KEPT_CHANGES_BYTES:
                    return None
        return changes

    try:
        return await read_in_thread(compare)
    except (UnknownBlock, StateDiscarded):
        return None


async def _changed(
    node: Node, old: bytes, new: bytes, watched: WatchedKeys
) -> list[tuple[bytes, bytes | None]]:
    """Return the watched keys that differ, in the order in which the client listed them."""
    changes = await _between(node, old, new)
    if changes is None:
        return await _read_both(node, old, new, list(dict.fromkeys(watched)))
    if len(changes) >= len(watched):
        return [(key, changes[key]) for key in dict.fromkeys(watched) if key in changes]
    places = ((watched.place(key), key) for key in changes)
    changed_keys = sorted((index, key) for index, key in places if index is not None)
    return [(key, changes[key]) for _, key in changed_keys]


async def _read_both(
    node: Node, old: bytes, new: bytes, keys: Sequence[bytes]
) -> list[tuple[bytes, bytes | None]]:
    """Return the keys that differ between two states, read key by key.

    All keys if the old state is discarded.
    """
    now = await values_in(node, new, keys)
    try:
        before = await values_in(node, old, keys)
    except (UnknownBlock, StateDiscarded):
        return list(zip(keys, now, strict=True))
    rows = zip(keys, before, now, strict=True)
    return [(key, value) for key, earlier, value in rows if earlier != value]


def changes_json(block: bytes, changed: Sequence[tuple[bytes, bytes | None]]) -> dict[str, Any]:
    """Return a block's changes as Substrate writes them."""
    rows = [[to_hex(key), None if value is None else to_hex(value)] for key, value in changed]
    return {"block": to_hex(block), "changes": rows}


async def changes_of(node: Node, wanted: Sequence[bytes]) -> AsyncGenerator[Any, None]:
    """Yield the values of keys, then those that each new best block changed."""
    async with _BEGINNING.of(node):
        watched = WatchedKeys(wanted)
        del wanted  # thousands of objects, which would live as long as the subscription
    with node.chain.subscribe(only=BestChanged) as events:
        best = node.chain.best.hash
        yield changes_json(best, list(zip(watched, await values_in(node, best, watched), strict=True)))
        async for event in events:
            if isinstance(event, BestChanged):
                changes = await _changed(node, best, event.new.hash, watched)
                best = event.new.hash
                if changes:
                    yield changes_json(best, changes)
        raise SlowReader


async def all_changes(node: Node) -> AsyncGenerator[Any, None]:
    """Yield all changes of each new best block in the top trie."""
    with node.chain.subscribe(only=BestChanged) as events:
        yield changes_json(node.chain.best.hash, ())
        async for event in events:
            if isinstance(event, BestChanged):
                for block in event.enacted:
                    yield changes_json(block, await _written(node, block))
        raise SlowReader


async def _written(node: Node, block: bytes) -> list[tuple[bytes, bytes | None]]:
    header = node.chain.header(block)
    if header is None:
        raise UnknownBlock(block)
    changes = await _between(node, header.parent_hash, block)
    if changes is not None:
        return list(changes.items())

    def compare() -> list[tuple[bytes, bytes | None]]:
        with node.chain.state(header.parent_hash) as old, node.chain.state(block) as new:
            return [(key, new.get(key)) for key, _ in differences(old.node, new.node)]

    async with CLIENT_READS.of(node):
        return await read_in_thread(compare)
