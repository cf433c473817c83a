"""The rows of a store's first state, computed from the keys and values of a chain spec.

The trie nodes are computed from the keys and values, child tries first, since the top trie holds the root of
each child trie as a value.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, Changes
from cfnode.core.trie import update


def initial_state(
    top: Mapping[bytes, bytes], children: Mapping[bytes, Mapping[bytes, bytes]], version: int
) -> Changes:
    """Return the whole state as changes to an empty one.

    `children`: by name, without `:child_storage:default:`. `version`: the state version of the trie.
    """
    storage: dict[bytes, dict[bytes, bytes | None]] = {TOP: dict(top)}
    nodes: dict[bytes, dict[bytes, bytes | None]] = {}
    for name, pairs in children.items():
        if not pairs:
            continue
        storage[name] = dict(pairs)
        child = update(_nothing, storage[name], version)
        nodes[name] = child.nodes
        storage[TOP][CHILD_STORAGE_PREFIX + name] = child.root
    top_update = update(_nothing, storage[TOP], version)
    nodes[TOP] = top_update.nodes
    return Changes(storage=storage, nodes=nodes, root=top_update.root)


def _nothing(_path: bytes) -> None:
    return None
