"""A downloaded state becomes that of the finalized block: complete and proven, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.core.trie import Healing, MissingSubtrie, update
from cfnode.store import StateDiscarded, Store, StoreError, UnknownBlock
from cfnode.store.database import LmdbDatabase
from cfnode.store.finality import WINDOW
from cfnode.store.genesis import initial_state
from cfnode.store.state_import import Row, StateImport
from tests.store.chains import SET_CHANGE, changes_for, child_of, genesis_of

LONG = b"long " * 120
TOP = {b"a": b"1", b"b" * 40: b"value " * 30, LONG + b"1": b"x", LONG + b"2": b"y"}
CHILDREN = {b"child": {b"k": b"v"}}
STATE = initial_state(TOP, CHILDREN, 1)
TARGET = Header(b"\x07" * 32, 700, STATE.root, bytes(32), (SET_CHANGE,))
VOTES = (b"FRNK", b"votes")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a genesis to be replaced."""
    store = Store.open(tmp_path, sync=False)
    store.initialise(genesis_of({b"old": b"state"}), {b"old": b"state"})
    yield store
    store.close()


def rows(tables: dict[bytes, dict[bytes, bytes | None]]) -> list[Row]:
    """Return tables as a list of rows."""
    all_rows = [(child, key, value) for child, table in tables.items() for key, value in table.items()]
    return [row for row in all_rows if row[2] is not None]  # type: ignore[misc]


def missing_after(importing: StateImport) -> list[MissingSubtrie]:
    """Return the rows that a walk over all rows misses; if none, delete the leftovers."""
    healing, missing = Healing(TARGET.state_root), list[MissingSubtrie]()
    while not healing.done:
        missing += importing.walk(healing, 2, 1).missing
    if not missing:
        importing.delete_leftovers(healing, TARGET.state_root)
    return missing


def import_target(store: Store, state: Changes = STATE) -> None:
    """Import the target's state in two parts, and finish."""
    importing = store.import_state()
    importing.clear()
    storage = rows(state.storage)
    importing.write(storage[1::2], rows(state.nodes))
    importing.write(storage[::2], [])
    missing_after(importing)
    importing.finish(TARGET, [b"\x04a"], [VOTES])


def test_the_block_of_an_imported_state_is_the_finalized_one(store: Store) -> None:
    """Make the block of an imported state the finalized one, with body, votes and set change."""
    genesis = store.finalized.hash
    import_target(store)
    assert store.finalized == BlockRef(TARGET.hash, 700)
    assert store.oldest_header == 700
    assert (store.hash_at(0), store.hash_at(1), store.hash_at(700)) == (genesis, None, TARGET.hash)
    assert store.body(TARGET.hash) == [b"\x04a"]
    assert store.justifications(TARGET.hash) == [VOTES]
    assert store.set_changes(0, 10) == [BlockRef(TARGET.hash, 700)]
    with store.state(TARGET.hash) as state:
        assert {key: state.get(key) for key in TOP} == TOP
        assert state.get(b"k", b"child") == b"v"
        assert state.get(b"old") is None
        assert state.next_key(LONG + b"1") == LONG + b"2"
    with pytest.raises(StateDiscarded), store.state(genesis):
        pass


def test_the_chain_goes_on_from_an_imported_state_and_prunes_as_usual(store: Store) -> None:
    """Continue the chain from an imported state, and prune it as any other."""
    import_target(store)
    parent = TARGET
    for value in range(140):
        with store.state(parent.hash) as state:
            step = update(state.node, {b"a": b"%d" % value}, 1)
        header = child_of(parent)
        header = Header(parent.hash, header.number, step.root, header.extrinsics_root)
        store.add_block(header, [], changes_for(header, {b"": {b"a": b"%d" % value}}, {b"": step.nodes}))
        store.finalize(header.hash)
        parent = header
    assert store.chain_metadata.oldest_state == 840 - 128
    with store.state(store.hash_at(720) or b"") as state:
        assert state.get(b"a") == b"19"
    assert store.body(TARGET.hash) is None
    assert store.justifications(TARGET.hash) == [VOTES]


def test_the_store_has_no_state_until_the_import_is_finished(store: Store) -> None:
    """Have no state while an import is unfinished: a half state must not answer."""
    genesis = store.finalized.hash
    importing = store.import_state()
    importing.clear()
    importing.write(rows(STATE.storage), [])
    assert store.finalized.number == 0
    with pytest.raises(StateDiscarded), store.state(genesis):
        pass


@pytest.mark.parametrize(
    ("storage", "nodes", "missing"),
    [
        ([], None, {b"b" * 40}),
        (None, [], {b""}),
        ([(b"", b"b" * 40, b"2")], None, {b"b" * 40}),
    ],
)
def test_missing_and_wrong_rows_are_found(
    store: Store, storage: list[Row] | None, nodes: list[Row] | None, missing: set[bytes]
) -> None:
    """Find missing and wrong rows by a walk."""
    importing = store.import_state()
    importing.clear()
    importing.write(rows(STATE.storage) if storage is None else storage, [])
    importing.write([], rows(STATE.nodes) if nodes is None else nodes)
    assert {subtrie.key for subtrie in missing_after(importing)} == missing


def test_a_missing_value_is_taken_from_the_node_that_holds_it(store: Store) -> None:
    """Take a missing value from the node that holds it, without asking a peer."""
    importing = store.import_state()
    importing.clear()
    importing.write([row for row in rows(STATE.storage) if row[1] != b"a"], rows(STATE.nodes))
    importing.write([(b"child", b"k", b"another")], [])
    walked = importing.walk(Healing(TARGET.state_root), 100, 100)
    assert sorted(walked.values) == [(b"", b"a", b"1"), (b"child", b"k", b"v")]
    assert not walked.missing


STRAYS = [
    (b"", b"stray", b"1"),
    (b"", LONG + b"15", b"1"),
    (b"", LONG, b"1"),
    (b"", b"longer " * 90, b"1"),
    (b"child", b"z", b"1"),
    (b"gone", b"k", b"v"),
]


def test_rows_of_an_older_state_are_deleted(store: Store) -> None:
    """Delete rows and nodes of an older state."""
    importing = store.import_state()
    importing.clear()
    importing.write(
        [*rows(STATE.storage), *STRAYS], [*rows(STATE.nodes), (b"", b"\x0f\x0f", b"x"), (b"gone", b"", b"x")]
    )
    healing = Healing(TARGET.state_root)
    assert importing.walk(healing, 100, 100).missing == []
    assert importing.delete_leftovers(healing, TARGET.state_root) == len(STRAYS) + 2
    assert importing.delete_leftovers(healing, TARGET.state_root) == 0
    importing.finish(TARGET, [], [])
    with store.state(TARGET.hash) as state:
        for child, key, _ in STRAYS:
            assert state.get(key, child) is None
        assert {key: state.get(key) for key in TOP} == TOP
        assert state.get(b"k", b"child") == b"v"


def test_leftovers_are_not_deleted_after_an_incomplete_walk(store: Store) -> None:
    """Refuse to delete leftovers after an incomplete walk: rows of the new state could go."""
    importing = store.import_state()
    importing.clear()
    importing.write(rows(STATE.storage), rows(STATE.nodes))
    healing = Healing(TARGET.state_root)
    importing.walk(healing, 100, 100)
    healing.keys += 1
    with pytest.raises(StoreError, match="the imported state is incomplete"):
        importing.delete_leftovers(healing, TARGET.state_root)


def test_an_interrupted_import_begins_again(store: Store) -> None:
    """Begin an interrupted import again."""
    importing = store.import_state()
    importing.clear()
    importing.write([(b"", b"stray", b"1")], [])
    import_target(store)
    assert store.finalized.number == 700


@pytest.mark.parametrize("max_blocks", [8, 0], ids=["overlays", "spilled"])
def test_an_import_replaces_a_chain_that_has_grown(tmp_path: Path, max_blocks: int) -> None:
    """Replace a chain that has grown, with its blocks, holds and spilled rows, and go on from the target."""
    store = Store(LmdbDatabase(tmp_path, sync=False), WINDOW, max_blocks=max_blocks)
    genesis = genesis_of({b"old": b"state"})
    store.initialise(genesis, {b"old": b"state"})
    blocks = [genesis]
    for number in range(5):
        header = child_of(blocks[-1])
        store.add_block(header, [b"\x04x"], changes_for(header, {b"": {b"old": b"%d" % number}}))
        blocks.append(header)
    store.finalize(blocks[3].hash, VOTES)
    store.hold(blocks[4].hash)
    import_target(store)
    store.release(blocks[4].hash)
    assert store.finalized == BlockRef(TARGET.hash, 700)
    assert (store.oldest_header, store.genesis_hash) == (700, genesis.hash)
    assert not store.unfinalized()
    assert not store.overlays()
    for header in blocks[1:]:
        assert store.header(header.hash) is None
        assert store.body(header.hash) is None
        assert store.hash_at(header.number) is None
        with pytest.raises(UnknownBlock):
            store.state(header.hash).__enter__()
    with pytest.raises(StateDiscarded):
        store.state(genesis.hash).__enter__()
    with store.state(TARGET.hash) as state:
        assert {key: state.get(key) for key in TOP} == TOP
        assert state.get(b"old") is None
    above = child_of(TARGET)
    store.add_block(above, [], changes_for(above, {}))
    store.finalize(above.hash)
    assert store.finalized.number == 701
    store.close()
