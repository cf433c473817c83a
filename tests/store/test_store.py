"""Blocks are added, fork, become final and are pruned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import CHILD_STORAGE_PREFIX, Changes
from cfnode.core.trie import update
from cfnode.store import (
    ARCHIVE,
    FinalityStep,
    Pruning,
    StateDiscarded,
    Store,
    StoreError,
    StoreReader,
    UnknownBlock,
)
from tests.store.chains import SET_CHANGE, changes_for, child_of, genesis_of

KEY = b"key"
VOTES = (b"FRNK", b"votes")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open an empty store."""
    store = Store.open(tmp_path, sync=False)
    yield store
    store.close()


def begin(store: Store, **top: bytes) -> Header:
    """Begin a chain whose genesis has these values."""
    pairs = {name.encode(): value for name, value in top.items()}
    genesis = genesis_of(pairs)
    store.initialise(genesis, pairs)
    return genesis


def add(store: Store, header: Header, value: bytes | None = None) -> Header:
    """Add a block that writes its value, or its own state root, under KEY."""
    changes = changes_for(header, {b"": {KEY: value or header.state_root}})
    store.add_block(header, [b"extrinsic of " + header.hash], changes)
    return header


def line(store: Store, parent: Header, length: int) -> list[Header]:
    """Add a line of blocks."""
    headers = []
    for _ in range(length):
        parent = add(store, child_of(parent))
        headers.append(parent)
    return headers


def value_at(store: Store, header: Header, key: bytes = KEY) -> bytes | None:
    """Return a key's value at a block."""
    with store.state(header.hash) as state:
        return state.get(key)


def test_a_chain_begins_with_a_final_block_whose_state_has_its_root(store: Store) -> None:
    """Begin a chain with a final block whose state has the header's root."""
    genesis = begin(store, key=b"value")
    assert store.genesis_hash == genesis.hash
    assert store.finalized == BlockRef(genesis.hash, 0)
    assert store.header(genesis.hash) == genesis
    assert store.body(genesis.hash) == []
    assert store.hash_at(0) == genesis.hash
    assert store.unfinalized() == []
    assert value_at(store, genesis) == b"value"


def test_a_reader_drops_the_blocks_above_a_held_block_that_has_lost(store: Store) -> None:
    """Drop, at a reader, the blocks above a held block that has lost, and keep the held one."""
    root = add(store, child_of(begin(store, key=b"value")))
    winner, loser = add(store, child_of(root)), add(store, child_of(root))
    above = add(store, child_of(loser))
    reader = StoreReader(store.database)
    for overlay in store.overlays():
        reader.add_overlay(overlay)
    store.hold(loser.hash)
    store.finalize(winner.hash)
    with reader.state(loser.hash) as state:
        assert state.get(KEY) == loser.state_root
    for held in (store.overlays(), reader.overlays):
        assert [overlay.hash for overlay in held] == [loser.hash]
    with pytest.raises(StateDiscarded):
        reader.state(above.hash).__enter__()


def test_a_view_kept_after_its_with_block_takes_no_reader_slot(store: Store) -> None:
    """Free the reader slot when a view's block ends, and refuse reads after it."""
    genesis, kept = begin(store, key=b"value"), []
    for _ in range(200):  # LMDB has 126 reader slots
        with store.state(genesis.hash) as state:
            kept.append(state)
    assert value_at(store, genesis) == b"value"
    with pytest.raises(RuntimeError, match="its snapshot has ended"):
        kept[0].get(KEY)
    with pytest.raises(RuntimeError, match="its snapshot has ended"):
        kept[0].next_key(KEY)
    with pytest.raises(RuntimeError, match="its snapshot has ended"):
        kept[0].pairs_after(KEY)


def test_genesis_nodes_are_those_of_the_trie_with_its_child_tries(store: Store) -> None:
    """Store the nodes of the genesis trie and of its child tries."""
    top = {bytes([n, n]): bytes([n]) * 40 for n in range(50)}
    children = {b"child": {bytes([n]): bytes([n]) * 40 for n in range(50)}, b"empty": {}}
    genesis = genesis_of(top, children)
    store.initialise(genesis, top, children)
    with store.state(genesis.hash) as state:
        child_root = update(lambda path: state.node(path, b"child"), {}, 1).root
        assert state.get(CHILD_STORAGE_PREFIX + b"child") == child_root
        assert state.get(b"\x07", b"child") == b"\x07" * 40
        assert state.get(CHILD_STORAGE_PREFIX + b"empty") is None
        assert update(state.node, {}, 1).root == genesis.state_root == state.root


def test_a_state_with_another_root_than_its_header_is_refused(store: Store) -> None:
    """Refuse a genesis state with another root than its header's."""
    genesis = genesis_of({KEY: b"value"})
    with pytest.raises(StoreError, match="get the chain spec again"):
        store.initialise(genesis, {KEY: b"other"})
    assert store.genesis_hash is None
    with pytest.raises(StoreError, match="holds no chain yet"):
        _ = store.finalized


def test_a_store_with_a_chain_cannot_be_initialised_again(store: Store) -> None:
    """Refuse to begin a chain where there is one."""
    genesis = begin(store)
    with pytest.raises(StoreError, match="holds a chain already"):
        store.initialise(genesis, {})


def test_a_header_alone_is_enough_to_begin_and_has_no_state(store: Store) -> None:
    """Begin with a header alone, without a state that could be read or built on."""
    genesis = Header(bytes(32), 0, b"\1" * 32, bytes(32))
    store.initialise(genesis, None)
    assert store.finalized.hash == genesis.hash
    assert not store.has_state(genesis.hash)
    with pytest.raises(StateDiscarded):
        value_at(store, genesis)
    with pytest.raises(UnknownBlock):
        add(store, child_of(genesis))


def test_an_unfinalized_block_can_be_read_at_once(store: Store) -> None:
    """Read an unfinalized block's header, body and state at once."""
    genesis = begin(store, key=b"old", other=b"stays")
    block = add(store, child_of(genesis), b"new")
    assert store.header(block.hash) == block
    assert store.body(block.hash) == [b"extrinsic of " + block.hash]
    assert (value_at(store, block), value_at(store, block, b"other")) == (b"new", b"stays")
    assert value_at(store, genesis) == b"old"
    assert store.hash_at(1) is None
    assert [overlay.hash for overlay in store.overlays()] == [block.hash]


def test_a_block_needs_a_parent_with_a_state_a_number_and_its_own_root(store: Store) -> None:
    """Refuse a block without a known parent, with a wrong number or with another root."""
    genesis = begin(store)
    stranger = child_of(child_of(genesis))
    with pytest.raises(UnknownBlock) as unknown:
        add(store, stranger)
    assert unknown.value.block == stranger.parent_hash
    skips = Header(genesis.hash, 2, b"\1" * 32, bytes(32))
    with pytest.raises(ValueError, match="does not follow its parent"):
        add(store, skips)
    block = child_of(genesis)
    with pytest.raises(ValueError, match="another state root"):
        store.add_block(block, [], Changes(storage={}, nodes={}, root=b"\2" * 32))
    assert store.unfinalized() == []


def test_a_block_added_twice_is_stored_once(store: Store) -> None:
    """Store a block that is added twice once."""
    block = add(store, child_of(begin(store)))
    add(store, block)
    assert [header for header, _ in store.unfinalized()] == [block]
    assert len(store.overlays()) == 1


def test_finality_folds_a_run_of_blocks_and_keeps_the_window_readable(store: Store) -> None:
    """Finalize a run of blocks in one step, and keep the window readable."""
    genesis = begin(store, key=b"0")
    blocks = line(store, genesis, 4)
    done = store.finalize(blocks[2].hash, VOTES)
    assert done == FinalityStep(tuple(block.hash for block in blocks[:3]), ())
    assert store.finalized == BlockRef(blocks[2].hash, 3)
    assert [store.hash_at(n) for n in range(5)] == [genesis.hash, *done.hashes, None]
    assert [header for header, _ in store.unfinalized()] == [blocks[3]]
    assert store.justifications(blocks[2].hash) == [VOTES]
    assert store.justifications(blocks[1].hash) == []
    assert value_at(store, genesis) == b"0"
    assert [value_at(store, block) for block in blocks] == [block.state_root for block in blocks]


def test_finalizing_again_only_adds_the_justification(store: Store) -> None:
    """Add only the justification when a block is finalized again."""
    blocks = line(store, begin(store), 2)
    store.finalize(blocks[1].hash)
    assert store.finalize(blocks[1].hash, VOTES) == FinalityStep((), ())
    assert store.finalize(blocks[0].hash) == FinalityStep((), ())
    assert store.finalized.number == 2
    assert store.justifications(blocks[1].hash) == [VOTES]


def test_unknown_and_lost_blocks_cannot_become_final(store: Store) -> None:
    """Refuse to finalize an unknown block, or one that has lost."""
    genesis = begin(store)
    loser = add(store, child_of(genesis))
    winner = add(store, child_of(genesis))
    with pytest.raises(UnknownBlock):
        store.finalize(b"\1" * 32)
    assert store.finalize(winner.hash).dropped == (loser.hash,)
    with pytest.raises(StateDiscarded):
        store.finalize(loser.hash)
    assert store.finalized.hash == winner.hash


def test_a_fork_overtakes_and_the_losing_branch_is_dropped_with_all_that_grew_on_it(store: Store) -> None:
    """Drop a losing branch with all that grew on it, and keep the winning one."""
    trunk = line(store, begin(store), 2)
    losers = line(store, trunk[0], 5)
    twig = add(store, child_of(losers[1]))
    winners = line(store, trunk[1], 6)
    assert [value_at(store, block) for block in (*losers, twig, *winners)] == [
        block.state_root for block in (*losers, twig, *winners)
    ]
    done = store.finalize(winners[0].hash)
    assert set(done.dropped) == {block.hash for block in (*losers, twig)}
    assert done.hashes == (trunk[0].hash, trunk[1].hash, winners[0].hash)
    for block in (*losers, twig):
        with pytest.raises(StateDiscarded, match=f"0x{block.hash.hex()}"):
            value_at(store, block)
        assert store.header(block.hash) == block
    assert [value_at(store, block) for block in winners] == [block.state_root for block in winners]
    assert [overlay.hash for overlay in store.overlays()] == [block.hash for block in winners[1:]]


def test_states_and_bodies_leave_with_their_windows_and_headers_stay(tmp_path: Path) -> None:
    """Discard states and bodies behind their windows, and keep all headers of the chain."""
    store = Store.open(tmp_path, pruning=Pruning(blocks=4, state=2), sync=False)
    genesis = begin(store)
    blocks = [genesis, *line(store, genesis, 10)]
    for block in blocks[1:]:
        store.finalize(block.hash)
    assert [n for n in range(11) if store.has_state(blocks[n].hash)] == [8, 9, 10]
    assert [n for n in range(11) if store.body(blocks[n].hash) is not None] == [6, 7, 8, 9, 10]
    assert [store.header(block.hash) for block in blocks] == blocks
    assert [store.hash_at(n) for n in range(11)] == [block.hash for block in blocks]
    with pytest.raises(StateDiscarded):
        value_at(store, blocks[7])
    with store.database.read() as txn:
        undo_rows = txn.stat(store.database.table("storage-undo"))["entries"]
    assert undo_rows == 2
    store.close()


def test_the_body_and_header_of_a_lost_block_leave_with_the_window(tmp_path: Path) -> None:
    """Delete header and body of a lost block when the window has passed it."""
    store = Store.open(tmp_path, pruning=Pruning(blocks=2, state=2), sync=False)
    genesis = begin(store)
    loser = add(store, child_of(genesis))
    blocks = line(store, genesis, 4)
    for block in blocks[:3]:
        store.finalize(block.hash)
    assert store.body(loser.hash) == [b"extrinsic of " + loser.hash]
    store.finalize(blocks[3].hash)
    assert (store.header(loser.hash), store.body(loser.hash)) == (None, None)
    with pytest.raises(UnknownBlock):
        value_at(store, loser)
    store.close()


def test_justifications_of_set_changes_and_the_newest_stay(tmp_path: Path) -> None:
    """Keep the justifications of set changes and the newest one, and delete the others."""
    store = Store.open(tmp_path, pruning=Pruning(blocks=2, state=2), sync=False)
    parent = begin(store)
    blocks = []
    for number in range(1, 11):
        parent = add(store, child_of(parent, *([SET_CHANGE] if number == 3 else [])))
        blocks.append(parent)
        store.finalize(parent.hash, VOTES if number <= 5 else None)
    kept = [header.number for header in blocks if store.justifications(header.hash)]
    assert kept == [3, 5]
    assert store.set_changes(after=0, limit=10) == [BlockRef(blocks[2].hash, 3)]
    assert store.set_changes(after=3, limit=10) == []
    store.finalize(blocks[9].hash, VOTES)
    assert [header.number for header in blocks if store.justifications(header.hash)] == [3, 10]
    store.finalize(blocks[1].hash, VOTES)
    assert store.justifications(blocks[1].hash) == []
    store.close()


def test_other_nodes_keep_one_justification_in_a_period_and_those_of_set_changes(tmp_path: Path) -> None:
    """Offer peers one justification in each period and those of set changes."""
    store = Store.open(tmp_path, pruning=ARCHIVE, sync=False)
    parent = begin(store)
    final, without_votes = {2, 3, 510, 511, 514, 515, 700, 1023, 1024, 1030}, {512, 513}
    blocks = []
    for number in range(1, 1031):
        parent = add(store, child_of(parent, *([SET_CHANGE] if number == 700 else [])))
        blocks.append(parent)
        if number in final | without_votes:
            store.finalize(parent.hash, VOTES if number in final else None)
    kept = [header.number for header in blocks if store.justifications(header.hash)]
    public = [header.number for header in blocks if store.public_justifications(header.hash)]
    assert kept == sorted(final)
    assert public == [2, 514, 700, 1024]
    assert store.public_justifications(bytes(32)) == []
    store.close()


def test_an_archive_deletes_nothing(tmp_path: Path) -> None:
    """Delete nothing in an archive."""
    store = Store.open(tmp_path, pruning=ARCHIVE, sync=False)
    genesis = begin(store, key=b"0")
    loser = add(store, child_of(genesis))
    blocks = line(store, genesis, 200)
    store.finalize(blocks[99].hash)
    store.finalize(blocks[199].hash)
    assert value_at(store, genesis) == b"0"
    assert [value_at(store, block) for block in blocks] == [block.state_root for block in blocks]
    assert all(store.body(block.hash) for block in (*blocks, loser))
    store.close()


def test_an_archive_opened_with_a_window_is_pruned_and_not_the_other_way_round(tmp_path: Path) -> None:
    """Prune an archive that is opened with a window; an archive cannot bring back what was pruned."""
    store = Store.open(tmp_path, pruning=ARCHIVE, sync=False)
    blocks = line(store, begin(store), 20)
    store.finalize(blocks[14].hash)
    store.close()

    store = Store.open(tmp_path, pruning=Pruning(3, 3), sync=False)
    assert store.has_state(blocks[0].hash)
    for header, body in store.unfinalized():
        store.add_block(header, body, changes_for(header, {}))
    store.finalize(blocks[15].hash)
    assert [n for n in range(1, 17) if store.has_state(blocks[n - 1].hash)] == [13, 14, 15, 16]
    store.close()

    store = Store.open(tmp_path, pruning=ARCHIVE, sync=False)
    for header, body in store.unfinalized():
        store.add_block(header, body, changes_for(header, {}))
    store.finalize(blocks[19].hash)
    assert [n for n in range(1, 21) if store.has_state(blocks[n - 1].hash)] == list(range(13, 21))
    store.close()


def test_a_reopened_store_goes_on_once_its_unfinalized_blocks_are_added_again(tmp_path: Path) -> None:
    """Go on after a restart once the unfinalized blocks are added again."""
    store = Store.open(tmp_path)
    blocks = line(store, begin(store), 3)
    store.finalize(blocks[0].hash, VOTES)
    store.close()

    store = Store.open(tmp_path)
    assert store.finalized == BlockRef(blocks[0].hash, 1)
    assert value_at(store, blocks[0]) == blocks[0].state_root
    assert store.overlays() == []
    with pytest.raises(UnknownBlock):
        value_at(store, blocks[2])
    with pytest.raises(UnknownBlock):
        store.finalize(blocks[2].hash)
    again = store.unfinalized()
    assert [header for header, _ in again] == blocks[1:]
    for header, body in again:
        assert body == [b"extrinsic of " + header.hash]
        add(store, header)
    assert store.finalize(blocks[2].hash).hashes == (blocks[1].hash, blocks[2].hash)
    store.close()


def test_next_key_skips_a_deleted_key_and_still_finds_it_in_older_states(store: Store) -> None:
    """Skip a deleted key in next_key, and find it in older states."""
    genesis = begin(store, a=b"1", b=b"2", c=b"3")
    block = child_of(genesis)
    store.add_block(block, [], changes_for(block, {b"": {b"b": None}}))
    for _ in range(2):
        with store.state(block.hash) as state:
            assert (state.next_key(b""), state.next_key(b"a"), state.next_key(b"c")) == (b"a", b"c", None)
        with store.state(genesis.hash) as state:
            assert (state.next_key(b"a"), state.next_key(b"b"), state.get(b"b")) == (b"b", b"c", b"2")
        store.finalize(block.hash)


def test_a_key_stays_within_its_child(store: Store) -> None:
    """Keep keys of child tries apart, even where one child's name begins another's."""
    genesis = begin(store)
    block = child_of(genesis)
    store.add_block(
        block, [], changes_for(block, {b"": {b"a": b"top"}, b"x": {b"b": b"child"}, b"x\0": {b"": b""}})
    )
    for _ in range(2):
        with store.state(block.hash) as state:
            assert (state.get(b"b"), state.get(b"b", b"x"), state.get(b"", b"x\0")) == (None, b"child", b"")
            assert (state.next_key(b""), state.next_key(b"a")) == (b"a", None)
            assert (state.next_key(b"", b"x"), state.next_key(b"b", b"x")) == (b"b", None)
            assert state.next_key(b"", b"x\0") is None
        store.finalize(block.hash)


def test_writing_while_a_state_is_open_raises_at_once(store: Store) -> None:
    """Raise at once when a thread writes while its own snapshot is open: it would wait for itself."""
    genesis = begin(store)
    with store.state(genesis.hash), pytest.raises(RuntimeError, match="close it before writing"):
        add(store, child_of(genesis))
    add(store, child_of(genesis))


def test_a_state_that_is_open_does_not_see_what_is_written_meanwhile(store: Store) -> None:
    """Read one snapshot, whatever another thread writes meanwhile."""
    genesis = begin(store, key=b"old")
    with store.state(genesis.hash) as state:

        def write() -> None:
            block = add(store, child_of(genesis), b"new")
            store.finalize(block.hash)

        writer = Thread(target=write)
        writer.start()
        writer.join()
        assert state.get(KEY) == b"old"
    assert store.finalized.number == 1


def test_whole_blocks_are_read_while_a_thread_adds_finalizes_prunes_and_grows_the_map(
    tmp_path: Path,
) -> None:
    """Read whole blocks only, while a thread adds, finalizes, prunes and grows the map."""
    store = Store.open(tmp_path, pruning=Pruning(4, 4), sync=False, map_size=256 << 10)
    keys = [b"%d" % n for n in range(30)]
    parent = genesis_of({})
    store.initialise(parent, {})
    heads = [add_to_all(store, parent, keys)]

    def write() -> None:
        for _ in range(100):
            heads.append(add_to_all(store, heads[-1], keys))
            if len(heads) > 3:
                store.finalize(heads[-3].hash)

    writer = Thread(target=write)
    writer.start()
    reads = 0
    while writer.is_alive() or reads == 0:
        for header in heads[-5:]:
            with contextlib.suppress(StateDiscarded), store.state(header.hash) as state:
                assert {state.get(key) for key in keys} == {header.state_root * 40}
                reads += 1
    writer.join()
    assert len(heads) == 101
    store.close()


def add_to_all(store: Store, parent: Header, keys: list[bytes]) -> Header:
    """Add a block that writes its own value under all keys."""
    header = child_of(parent)
    store.add_block(header, [], changes_for(header, {b"": dict.fromkeys(keys, header.state_root * 40)}))
    return header
