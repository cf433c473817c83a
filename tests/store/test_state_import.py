"""A downloaded state becomes the finalized block's: whole and proven, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.core.trie import Healing, MissingSubtrie, update
from cfnode.store import StateDiscarded, Store, StoreError, UnknownBlock
from cfnode.store.database import Database
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
    store = Store.open(tmp_path, sync=False)
    store.initialise(genesis_of({b"old": b"state"}), {b"old": b"state"})
    yield store
    store.close()


def rows(tables: dict[bytes, dict[bytes, bytes | None]]) -> list[Row]:
    found = [(child, key, value) for child, table in tables.items() for key, value in table.items()]
    return [row for row in found if row[2] is not None]  # type: ignore[misc]


def complete(adoption: StateImport) -> list[MissingSubtrie]:
    """Walk over all that is there; what is missing."""
    mend, holes = Healing(TARGET.state_root), list[MissingSubtrie]()
    while not mend.done:
        holes += adoption.walk(mend, 2, 1).missing
    if not holes:
        adoption.delete_leftovers(mend, TARGET.state_root)
    return holes


def adopt(store: Store, state: Changes = STATE) -> None:
    adoption = store.import_state()
    adoption.clear()
    storage = rows(state.storage)
    adoption.write(storage[1::2], rows(state.nodes))
    adoption.write(storage[::2], [])
    complete(adoption)
    adoption.finish(TARGET, [b"\x04a"], [VOTES])


def test_an_adopted_block_is_the_finalized_one_with_its_whole_state(store: Store) -> None:
    genesis = store.finalized.hash
    adopt(store)
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


def test_the_chain_goes_on_from_there_and_prunes_as_ever(store: Store) -> None:
    adopt(store)
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


def test_until_it_is_whole_the_store_has_no_state(store: Store) -> None:
    genesis = store.finalized.hash
    adoption = store.import_state()
    adoption.clear()
    adoption.write(rows(STATE.storage), [])
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
def test_what_is_missing_or_another_is_found(
    store: Store, storage: list[Row] | None, nodes: list[Row] | None, missing: set[bytes]
) -> None:
    adoption = store.import_state()
    adoption.clear()
    adoption.write(rows(STATE.storage) if storage is None else storage, [])
    adoption.write([], rows(STATE.nodes) if nodes is None else nodes)
    assert {hole.key for hole in complete(adoption)} == missing


def test_a_value_that_its_node_holds_is_taken_from_there(store: Store) -> None:
    adoption = store.import_state()
    adoption.clear()
    adoption.write([row for row in rows(STATE.storage) if row[1] != b"a"], rows(STATE.nodes))
    adoption.write([(b"child", b"k", b"another")], [])
    found = adoption.walk(Healing(TARGET.state_root), 100, 100)
    assert sorted(found.values) == [(b"", b"a", b"1"), (b"child", b"k", b"v")]
    assert not found.missing


STRAYS = [
    (b"", b"stray", b"1"),
    (b"", LONG + b"15", b"1"),
    (b"", LONG, b"1"),
    (b"", b"longer " * 90, b"1"),
    (b"child", b"z", b"1"),
    (b"gone", b"k", b"v"),
]


def test_what_belongs_to_an_older_state_goes(store: Store) -> None:
    adoption = store.import_state()
    adoption.clear()
    adoption.write(
        [*rows(STATE.storage), *STRAYS], [*rows(STATE.nodes), (b"", b"\x0f\x0f", b"x"), (b"gone", b"", b"x")]
    )
    mend = Healing(TARGET.state_root)
    assert adoption.walk(mend, 100, 100).missing == []
    assert adoption.delete_leftovers(mend, TARGET.state_root) == len(STRAYS) + 2
    assert adoption.delete_leftovers(mend, TARGET.state_root) == 0
    adoption.finish(TARGET, [], [])
    with store.state(TARGET.hash) as state:
        for child, key, _ in STRAYS:
            assert state.get(key, child) is None
        assert {key: state.get(key) for key in TOP} == TOP
        assert state.get(b"k", b"child") == b"v"


def test_a_walk_that_has_left_something_out_settles_nothing(store: Store) -> None:
    adoption = store.import_state()
    adoption.clear()
    adoption.write(rows(STATE.storage), rows(STATE.nodes))
    mend = Healing(TARGET.state_root)
    adoption.walk(mend, 100, 100)
    mend.keys += 1
    with pytest.raises(StoreError, match="the state is not whole"):
        adoption.delete_leftovers(mend, TARGET.state_root)


def test_an_interrupted_adoption_begins_anew(store: Store) -> None:
    adoption = store.import_state()
    adoption.clear()
    adoption.write([(b"", b"stray", b"1")], [])
    adopt(store)
    assert store.finalized.number == 700


@pytest.mark.parametrize("most_blocks", [8, 0], ids=["overlays", "shelf"])
def test_a_chain_that_has_grown_makes_place_for_a_later_block(tmp_path: Path, most_blocks: int) -> None:
    store = Store(Database(tmp_path, sync=False), WINDOW, most_blocks=most_blocks)
    genesis = genesis_of({b"old": b"state"})
    store.initialise(genesis, {b"old": b"state"})
    blocks = [genesis]
    for number in range(5):
        header = child_of(blocks[-1])
        store.add_block(header, [b"\x04x"], changes_for(header, {b"": {b"old": b"%d" % number}}))
        blocks.append(header)
    store.finalize(blocks[3].hash, VOTES)
    store.hold(blocks[4].hash)
    adopt(store)
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
