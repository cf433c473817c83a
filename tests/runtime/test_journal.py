"""What a runtime sees of its own writes, and what remains of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cfnode.core.scale import ScaleError, decode_compact, encode_compact
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import EMPTY_ROOT, MissingNode, ProofState
from cfnode.runtime.journal import MAX_KEPT_VALUE_BYTES, MAX_KEPT_VALUES, Journal
from tests.core.trie.naive import naive_root
from tests.core.trie.proofs import build_proof
from tests.lengths import examples
from tests.runtime.memory_state import MemoryState

KEYS = st.lists(st.sampled_from([b"\0", b"a", b"b", b"\xff"]), min_size=1, max_size=3).map(b"".join)
VALUES = st.binary(max_size=4) | st.just(b"v" * 40)
CHILDREN = st.sampled_from([TOP, b"one"])
BASE = {b"a": b"1", b"ab": b"2" * 40, b"b": b"3", b"\xff\xff": b"4"}
Model = dict[bytes, dict[bytes, bytes]]


def roots(model: Model, version: int = 1) -> dict[bytes, bytes]:
    """Return the roots of a model: of each child trie, and of the top trie with their entries."""
    children = {child: naive_root(pairs, version) for child, pairs in model.items() if child}
    entries = {CHILD_STORAGE_PREFIX + c: root for c, root in children.items() if root != EMPTY_ROOT}
    return children | {TOP: naive_root(model[TOP] | entries, version)}


class AgainstAPlainDict(RuleBasedStateMachine):
    """Random writes, transactions and reads, compared with a dictionary that is copied at each `begin`."""

    def __init__(self) -> None:
        super().__init__()
        self.state = MemoryState(BASE, one={b"a": b"child", b"ba": b"x" * 50})
        self.journal = Journal(self.state)
        self.model: Model = {TOP: dict(BASE), b"one": dict(self.state.storage[b"one"])}
        self.saved: list[Model] = []

    @rule(key=KEYS, value=VALUES, child=CHILDREN)
    def set(self, key: bytes, value: bytes, child: bytes) -> None:
        """Set a key in journal and model."""
        self.journal.set(key, value, child)
        self.model[child][key] = value

    @rule(key=KEYS, child=CHILDREN)
    def delete(self, key: bytes, child: bytes) -> None:
        """Delete a key in journal and model."""
        self.journal.delete(key, child)
        self.model[child].pop(key, None)

    @rule(key=KEYS, item=st.binary(max_size=3), child=CHILDREN)
    def append(self, key: bytes, item: bytes, child: bytes) -> None:
        """Append to a sequence in both; whatever is not a sequence begins a new one."""
        self.journal.append(key, item, child)
        old = self.model[child].get(key, b"")
        try:
            count, start = decode_compact(old, 0)
        except ScaleError:
            count, start = 0, len(old)
        self.model[child][key] = encode_compact(count + 1) + old[start:] + item

    @rule(prefix=KEYS, child=CHILDREN)
    def clear(self, prefix: bytes, child: bytes) -> None:
        """Clear a prefix in both, and compare the count of keys, which are those of the state."""
        below = sum(k.startswith(prefix) for k in self.state.storage[child])
        assert self.journal.clear_prefix(prefix, None, child) == (below, True)
        self.model[child] = {k: v for k, v in self.model[child].items() if not k.startswith(prefix)}

    @precondition(lambda self: len(self.saved) < 4)
    @rule()
    def begin(self) -> None:
        """Begin a transaction and copy the model."""
        self.journal.begin()
        self.saved.append({child: dict(pairs) for child, pairs in self.model.items()})

    @precondition(lambda self: self.saved)
    @rule()
    def commit(self) -> None:
        """Commit the innermost transaction."""
        self.journal.commit()
        self.saved.pop()

    @precondition(lambda self: self.saved)
    @rule()
    def rollback(self) -> None:
        """Roll back the innermost transaction and restore the model."""
        self.journal.rollback()
        self.model = self.saved.pop()

    @rule(key=KEYS, child=CHILDREN)
    def read(self, key: bytes, child: bytes) -> None:
        """Compare value, existence and next key."""
        pairs = self.model[child]
        entries = {CHILD_STORAGE_PREFIX + b"one"} if child == TOP else set()
        assert self.journal.get(key, child) == pairs.get(key)
        assert self.journal.exists(key, child) == (key in pairs)
        assert self.journal.next_key(key, child) == min(
            (k for k in {*pairs, *entries} if k > key), default=None
        )

    @rule()
    def root(self) -> None:
        """Compare both roots at any moment."""
        wanted = roots(self.model)
        assert self.journal.root() == wanted[TOP]
        assert self.journal.root(1, b"one") == wanted[b"one"]

    @invariant()
    def depth(self) -> None:
        """Compare the depth of transactions."""
        assert self.journal.depth == len(self.saved)

    def teardown(self) -> None:
        """Apply the changes to the state and compare it with a trie built at once."""
        self.state.apply(self.journal.changes())
        wanted = roots(self.model)
        assert self.state.root == wanted[TOP]
        assert self.state.storage[b"one"] == self.model[b"one"]
        # the nodes are those of a trie built at once
        fresh = MemoryState(self.model[TOP], **({"one": self.model[b"one"]} if self.model[b"one"] else {}))
        assert self.state.storage[TOP] == fresh.storage[TOP]
        assert {c: n for c, n in self.state.nodes.items() if n} == {c: n for c, n in fresh.nodes.items() if n}


AgainstAPlainDict.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=25)
TestAgainstAPlainDict: Any = AgainstAPlainDict.TestCase


def test_a_state_version_zero_root_differs_and_is_not_mixed_up() -> None:
    """Compute the root of either state version from one journal."""
    journal = Journal(MemoryState())
    journal.set(b"k", b"v" * 40)
    assert journal.root(0) == naive_root({b"k": b"v" * 40}, 0)
    assert journal.root(1) == naive_root({b"k": b"v" * 40}, 1)
    assert journal.changes(0).root == journal.root(0)


def test_asking_for_the_root_commits_nothing() -> None:
    """Leave no nodes in the changes when a root was only asked for and its writes rolled back."""
    state = MemoryState(BASE)
    journal = Journal(state)
    journal.begin()
    journal.set(b"new", b"value")
    assert journal.root() != state.root
    journal.rollback()
    assert journal.root() == state.root
    assert journal.changes().nodes == {}


def test_the_limit_of_clear_prefix_counts_keys_of_the_state_only() -> None:
    """Count only keys of the state in clear_prefix's limit, as Substrate does, and clear own writes too."""
    journal = Journal(MemoryState({b"p%d" % i: b"v" for i in range(5)} | {b"q": b"v"}))
    journal.set(b"p9", b"own")
    journal.delete(b"p0")
    assert journal.clear_prefix(b"p", 2) == (2, False)
    assert journal.get(b"p9") is None
    assert [journal.get(b"p%d" % i) for i in range(5)] == [None, None, b"v", b"v", b"v"]
    assert journal.clear_prefix(b"p", 5) == (5, True)
    assert journal.next_key(b"") == b"q"


def test_the_entries_of_child_tries_cannot_be_written_directly() -> None:
    """Ignore direct writes to the entries of child tries: a runtime could forge their roots."""
    journal = Journal(MemoryState({b"k": b"v"}, one={b"a": b"1"}))
    before = journal.root()
    key = CHILD_STORAGE_PREFIX + b"one"
    journal.set(key, b"forged")
    journal.delete(key)
    journal.append(key, b"x")
    assert journal.clear_prefix(b":child_storage:") == journal.clear_prefix(b":") == (0, True)
    assert journal.root() == before


def test_an_emptied_child_trie_leaves_the_top_trie() -> None:
    """Remove an emptied child trie's entry from the top trie."""
    state = MemoryState({b"k": b"v"}, one={b"a": b"1", b"b": b"2"})
    journal = Journal(state)
    assert journal.clear_prefix(b"", None, b"one") == (2, True)
    changes = journal.changes()
    assert changes.storage[TOP] == {CHILD_STORAGE_PREFIX + b"one": None}
    assert changes.root == naive_root({b"k": b"v"}, 1)


def test_open_transactions_are_rolled_back() -> None:
    """Roll back all transactions above a depth."""
    journal = Journal(MemoryState())
    journal.begin()
    journal.set(b"kept", b"1")
    journal.begin()
    journal.begin()
    journal.set(b"lost", b"1")
    journal.rollback_to(1)
    assert (journal.depth, journal.get(b"kept"), journal.get(b"lost")) == (1, b"1", None)


def test_a_rollback_restores_the_length_of_a_sequence() -> None:
    """Restore a sequence's length by a rollback, through nested transactions and a deletion."""
    journal = Journal(MemoryState({b"events": b"\x04one"}))
    journal.append(b"events", b"two")
    journal.begin()
    journal.append(b"events", b"three")
    journal.begin()
    journal.append(b"events", b"four")
    assert journal.get(b"events") == b"\x10onetwothreefour"
    journal.commit()
    journal.rollback()
    assert journal.get(b"events") == b"\x08onetwo"
    journal.begin()
    journal.delete(b"events")
    journal.append(b"events", b"new")
    assert journal.get(b"events") == b"\x04new"
    journal.rollback()
    assert journal.get(b"events") == b"\x08onetwo"


def test_over_a_proof_an_unproven_key_is_missing() -> None:
    """Raise MissingNode over a proof for a key that it lacks, on a read and for the root after a write."""
    state = MemoryState({bytes([i, i]): b"v" * 40 for i in range(64)})
    proof = build_proof(state.node, state.get, [b"\x05\x05"])
    journal = Journal(ProofState(state.root, proof))
    assert journal.get(b"\x05\x05") == b"v" * 40
    journal.set(b"\x05\x05", b"w")
    assert journal.root() == naive_root(state.storage[TOP] | {b"\x05\x05": b"w"}, 1)
    with pytest.raises(MissingNode):
        journal.get(b"\x06\x06")
    journal.set(b"\x36\x36", b"w")
    with pytest.raises(MissingNode):
        journal.root()


@given(st.binary(max_size=6))
def test_appending_to_no_sequence_starts_a_new_one(value: bytes) -> None:
    """Begin a new sequence when the value is not one."""
    journal = Journal(MemoryState({b"k": b"\xff" + value}))
    journal.append(b"k", b"item")
    assert journal.get(b"k") == b"\x04item"


class Counted(MemoryState):
    """A state that notes its reads."""

    def __init__(self, pairs: dict[bytes, bytes]) -> None:
        super().__init__(pairs)
        self.reads: list[bytes] = []

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Note the key and return its value."""
        self.reads.append(key)
        return super().get(key, child)


def test_a_small_value_of_the_state_is_read_once() -> None:
    """Read a small value of the state once, and a large one each time: it would take memory."""
    large = bytes(MAX_KEPT_VALUE_BYTES + 1)
    state = Counted({b"a": b"1", b"large": large})
    journal = Journal(state)
    for _ in range(2):
        assert [journal.get(b"a"), journal.get(b"none"), journal.get(b"large")] == [b"1", None, large]
    assert state.reads == [b"a", b"none", b"large", b"large"]
    journal.begin()
    journal.set(b"a", b"2")
    assert journal.get(b"a") == b"2"
    journal.rollback()
    assert journal.get(b"a") == b"1"
    assert state.reads.count(b"a") == 1


def test_a_journal_keeps_so_many_values_and_no_more() -> None:
    """Keep values up to a number, and read the rest from the state again."""
    state = Counted({})
    journal = Journal(state)
    keys = [number.to_bytes(2, "big") for number in range(MAX_KEPT_VALUES + 2)]
    for key in (*keys, *keys):
        assert journal.get(key) is None
    assert len(state.reads) == len(keys) + 2
