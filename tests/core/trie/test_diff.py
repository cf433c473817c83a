"""What differs between two tries, and what stands for all keys with a beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.trie import Change, NodeReader, closest_merkle_value, differences, update
from cfnode.core.trie.codec import EMPTY_NODE
from tests.core.trie.naive import naive_merkle_value, naive_root
from tests.core.trie.strategies import KEYS, PAIRS, VALUES, VERSIONS

CHANGES = st.dictionaries(KEYS, st.none() | VALUES, max_size=8)


def reader(pairs: dict[bytes, bytes], version: int) -> NodeReader:
    """Return the nodes of the trie of these pairs, by path."""
    nodes = update(lambda path: None, pairs, version).nodes
    return lambda path: nodes.get(path)


def plain(old: dict[bytes, bytes], new: dict[bytes, bytes]) -> list[tuple[bytes, Change]]:
    """Return the changes between two states, found by comparing key by key."""
    changes = []
    for key in sorted({*old, *new}):
        if key not in new:
            changes.append((key, Change.DELETED))
        elif key not in old:
            changes.append((key, Change.ADDED))
        elif old[key] != new[key]:
            changes.append((key, Change.MODIFIED))
    return changes


def after(old: dict[bytes, bytes], changes: dict[bytes, bytes | None]) -> dict[bytes, bytes]:
    """Return the pairs after some changes."""
    return {key: value for key, value in (old | changes).items() if value is not None}


@given(PAIRS, CHANGES, VERSIONS, KEYS)
def test_the_keys_that_differ_are_found_in_order(
    old: dict[bytes, bytes], changes: dict[bytes, bytes | None], version: int, prefix: bytes
) -> None:
    """List the keys that differ between two tries in order, below a prefix too."""
    new = after(old, changes)
    listed = list(differences(reader(old, version), reader(new, version)))
    assert listed == plain(old, new)
    below = list(differences(reader(old, version), reader(new, version), prefix))
    assert below == [(key, change) for key, change in listed if key.startswith(prefix)]


@given(PAIRS, CHANGES, VERSIONS, KEYS)
def test_a_walk_can_go_on_where_it_was_left(
    old: dict[bytes, bytes], changes: dict[bytes, bytes | None], version: int, start: bytes
) -> None:
    """Continue a walk behind any key."""
    new = after(old, changes)
    listed = list(differences(reader(old, version), reader(new, version), after=start))
    assert listed == [(key, change) for key, change in plain(old, new) if key > start]


@given(PAIRS, CHANGES)
def test_a_value_that_is_only_kept_otherwise_has_not_changed(
    old: dict[bytes, bytes], changes: dict[bytes, bytes | None]
) -> None:
    """Report no change for a value that is only stored otherwise by another state version."""
    new = after(old, changes)
    assert list(differences(reader(old, 0), reader(new, 1))) == plain(old, new)


def test_what_is_equal_is_not_read() -> None:
    """Skip subtries that are equal, so that a comparison costs what differs."""
    old = {bytes((high, low)): bytes(40) for high in range(256) for low in range(0, 256, 16)}
    new = old | {b"\x77\x10": b"other" * 10}
    read: list[bytes] = []
    nodes = reader(new, 1)

    def counted(path: bytes) -> bytes | None:
        read.append(path)
        return nodes(path)

    assert list(differences(reader(old, 1), counted)) == [(b"\x77\x10", Change.MODIFIED)]
    # The root, its 16 children, the 16 below the one that differs, and the 16 leaves below the last.
    assert len(read) == 1 + 16 + 16 + 16


@given(PAIRS, VERSIONS, KEYS)
def test_the_closest_merkle_value_stands_for_all_below(
    pairs: dict[bytes, bytes], version: int, prefix: bytes
) -> None:
    """Give the merkle value of the topmost node below a prefix, and None where no key begins with it."""
    nodes = reader(pairs, version)
    root = naive_root(pairs, version)
    merkle_value = closest_merkle_value(lambda path, _: nodes(path) or EMPTY_NODE, root, prefix)
    below = {key: value for key, value in pairs.items() if key.startswith(prefix)}
    assert (merkle_value is None) == (not below)
    if below:
        assert merkle_value == naive_merkle_value(pairs, below, version)
