"""Changing a stored trie: the root, the stored nodes, and how little is read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.trie import EMPTY_ROOT, MissingNode, root, update
from tests.core.trie.naive import naive_root
from tests.core.trie.strategies import KEYS, PAIRS, VALUES, VERSIONS
from tests.lengths import examples, repeats

CHANGES = st.dictionaries(KEYS, st.none() | VALUES, max_size=12)


class Rows:
    """Stored nodes by path; counts reads."""

    def __init__(self, pairs: dict[bytes, bytes] | None = None, version: int = 1) -> None:
        self.nodes: dict[bytes, bytes] = {}
        self.version = version
        self.reads: list[bytes] = []
        self.root = EMPTY_ROOT
        self.apply(dict(pairs or {}))

    def read(self, path: bytes) -> bytes | None:
        """Return the stored node at a path, and count the read."""
        self.reads.append(path)
        return self.nodes.get(path)

    def apply(self, changes: dict[bytes, bytes | None]) -> dict[bytes, bytes | None]:
        """Apply changes to the rows and return which nodes were written or removed."""
        self.reads = []
        done = update(self.read, changes, self.version)
        for path, node in done.nodes.items():
            if node is None:
                del self.nodes[path]  # a removal names only what was stored
            else:
                assert self.nodes.get(path) != node  # what is unchanged is not written
                self.nodes[path] = node
        self.root = done.root
        return done.nodes


@settings(max_examples=examples(200))
@given(PAIRS, st.lists(CHANGES, min_size=1, max_size=4), VERSIONS)
def test_any_changes_lead_to_the_root_and_rows_of_a_trie_built_at_once(
    pairs: dict[bytes, bytes], batches: list[dict[bytes, bytes | None]], version: int
) -> None:
    """Reach the root and rows of a trie built at once by any changes."""
    rows, model = Rows(pairs, version), dict(pairs)
    for batch in batches:
        # what exists is deleted as well, not only keys drawn at random
        changes = dict(batch) | dict.fromkeys(list(model)[:2])
        rows.apply(changes)
        model = {k: v for k, v in (model | changes).items() if v is not None}
        assert rows.root == naive_root(model, version)
        assert rows.nodes == Rows(model, version).nodes


@given(PAIRS, VERSIONS)
def test_deleting_all_leaves_no_row_and_the_empty_root(pairs: dict[bytes, bytes], version: int) -> None:
    """Leave no row and the empty root after all keys are deleted."""
    rows = Rows(pairs, version)
    rows.apply(dict.fromkeys(pairs))
    assert rows.root == EMPTY_ROOT
    assert rows.nodes == {}


def test_no_change_writes_nothing() -> None:
    """Write nothing where nothing changes, absent keys deleted included."""
    rows = Rows({bytes([i]): bytes(40) for i in range(64)})
    assert rows.apply({}) == {}
    assert rows.apply({b"\x05": bytes(40)}) == {}
    assert rows.apply({b"absent": None, b"\x05\x05": None}) == {}


def test_only_the_nodes_on_the_way_are_read_and_each_once() -> None:
    """Read only the nodes on the way to a key, each once."""
    pairs = {i.to_bytes(2, "big") + bytes(30): bytes(33) for i in range(0, 65536, 7)}
    rows = Rows(pairs)
    rows.apply({(7).to_bytes(2, "big") + bytes(30): b"new"})
    assert sorted(rows.reads) == [b"", b"\0", b"\0\0", b"\0\0\0", b"\0\0\0\x07"]
    rows.apply({(i * 7).to_bytes(2, "big") + bytes(30): b"newer" for i in range(9)})
    assert len(rows.reads) == len(set(rows.reads))


def test_a_deletion_joins_a_branch_with_its_last_child_from_the_store() -> None:
    """Join a branch with its last child, which is read from the store."""
    stay = b"\x12\x34" + bytes(30)
    rows = Rows({stay: bytes(33), b"\x12\x35": bytes(33)})
    nodes = rows.apply({b"\x12\x35": None})
    assert rows.root == root({stay: bytes(33)}, 1)
    assert b"\x01\x02\x03\x04" in rows.reads
    assert nodes[b"\x01\x02\x03\x04"] is None
    assert set(rows.nodes) == {b""}


def test_a_split_moves_one_node_and_leaves_those_below_in_place() -> None:
    """Write two nodes for a split and leave all those below in place."""
    below = {b"\xaa\xaa\xaa" + bytes([i]): bytes(33) for i in range(32)}
    rows = Rows(below)
    before = dict(rows.nodes)
    nodes = rows.apply({b"\xaa\x00": b"x"})
    assert set(nodes) == {b"", b"\x0a\x0a\x0a"}
    assert {p: n for p, n in rows.nodes.items() if len(p) > 3} == {p: n for p, n in before.items() if p}


def test_keys_that_are_prefixes_of_each_other_thousands_deep_do_not_exhaust_the_stack() -> None:
    """Change a trie of keys that are prefixes of each other, thousands deep, without exhausting the stack."""
    depth = repeats(3_000, 1_500)
    pairs = {b"\x11" * n: b"v" for n in range(depth)}
    rows = Rows(pairs)
    rows.apply({b"\x11" * (depth - 1): None})
    del pairs[b"\x11" * (depth - 1)]
    assert rows.root == root(pairs, 1)


def test_a_node_that_is_named_but_not_stored_is_missing_not_absent() -> None:
    """Raise MissingNode for a node that is named but not stored, and never take it as absent."""
    rows = Rows({bytes([i]): bytes(33) for i in range(64)})
    del rows.nodes[b"\x00\x05"]
    with pytest.raises(MissingNode) as caught:
        rows.apply({b"\x05": b"x"})
    assert caught.value.key == b"\x05"


def test_an_empty_value_is_a_value() -> None:
    """Keep a key whose value is empty: it is not a deletion."""
    rows = Rows({b"a": b"", b"ab": b""})
    assert rows.root == naive_root({b"a": b"", b"ab": b""}, 1)
    rows.apply({b"a": None})
    assert rows.root == naive_root({b"ab": b""}, 1)
