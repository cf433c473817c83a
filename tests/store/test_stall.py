"""Long runs: without finality memory stays bounded and any fork may win; with it the file stops growing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.store import Pruning, StateDiscarded, Store
from cfnode.store.database import LmdbDatabase
from cfnode.store.finality import ARCHIVE
from tests.store.chains import changes_for, child_of, genesis_of

SPILL_TABLES = ("shelf-blocks", "shelf-tips", "shelf-garbage", "shelf-storage", "shelf-nodes", "shelf-index")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a genesis of two keys."""
    store = Store.open(tmp_path, sync=False)
    pairs = {b"fixed": b"always", b"number": b"0"}
    store.initialise(genesis_of(pairs), pairs)
    yield store
    store.close()


def grow(store: Store, parent: Header, length: int) -> list[Header]:
    """Write blocks: each its number, and a key of its own that the next one deletes."""
    headers = []
    for _ in range(length):
        header = child_of(parent)
        number = b"%d" % header.number
        storage = {b"number": number, b"own" + header.hash: number, b"own" + parent.hash: None}
        store.add_block(header, [], changes_for(header, {b"": storage}, {b"": {b"": header.state_root}}))
        headers.append(parent := header)
    return headers


def check(store: Store, header: Header) -> None:
    """Check a block's values, keys and node."""
    with store.state(header.hash) as state:
        assert state.get(b"number") == b"%d" % header.number
        assert state.get(b"fixed") == b"always"
        assert state.next_key(b"number") == b"own" + header.hash
        assert state.next_key(b"own" + header.hash) is None
        assert state.node(b"") == header.state_root


def rows(store: Store, name: str) -> int:
    """Return the number of rows of a table."""
    with store.database.read() as txn:
        return int(txn.stat(store.database.table(name))["entries"])


def genesis(store: Store) -> Header:
    """Return the genesis header."""
    header = store.header(store.genesis_hash or b"")
    assert header is not None
    return header


@pytest.mark.world
def test_thousands_of_blocks_without_finality_then_a_fork_from_far_below_is_final(store: Store) -> None:
    """Bound memory over 5,000 blocks without finality, and finalize a fork from far below."""
    trunk = grow(store, genesis(store), 10)
    old = grow(store, trunk[4], 2_500)
    assert len(store.overlays()) == 62  # of 64; 17 are spilled at once
    new = grow(store, trunk[7], 2_600)
    assert len(store.overlays()) == 61
    for header in (*trunk, *old[::250], *new[::250], old[-1], new[-1]):
        check(store, header)
    assert len(store.unfinalized()) == 5_110

    done = store.finalize(new[-3].hash)
    assert done.hashes == tuple(header.hash for header in (*trunk[:8], *new[:-2]))
    assert len(done.dropped) == 2_502
    assert store.finalized == BlockRef(new[-3].hash, 2_606)
    assert [overlay.hash for overlay in store.overlays()] == [new[-2].hash, new[-1].hash]
    for header in new[-131:]:
        check(store, header)
    for header in (old[0], old[-1], trunk[8], trunk[7], new[-132]):
        with pytest.raises(StateDiscarded), store.state(header.hash):
            pass
    assert [rows(store, name) for name in SPILL_TABLES[:2]] == [0, 0]
    head = new[-1]
    while rows(store, "shelf-garbage"):
        head = grow(store, head, 1)[0]
        store.finalize(head.hash)
        check(store, head)
    assert [rows(store, name) for name in SPILL_TABLES] == [0] * len(SPILL_TABLES)


def test_finality_that_lags_behind_folds_spilled_blocks_bit_by_bit(store: Store) -> None:
    """Fold spilled blocks step by step when finality lags behind, and keep the window readable."""
    line = grow(store, genesis(store), 300)
    for number in range(20, 300, 20):
        store.finalize(line[number].hash)
        for header in (*line[max(0, number - 128) :: 7], line[-1]):
            check(store, header)
    assert len(store.overlays()) == 19


def test_spilled_blocks_survive_a_restart_and_overlays_do_not(tmp_path: Path) -> None:
    """Keep spilled blocks over a restart, and build on them; overlays in memory are lost."""
    store = Store.open(tmp_path, sync=False)
    store.initialise(genesis_of({b"fixed": b"always"}), {b"fixed": b"always"})
    line = grow(store, genesis(store), 100)
    store.close()
    store = Store.open(tmp_path, sync=False)
    assert [store.has_state(header.hash) for header in line] == [True] * 51 + [False] * 49
    check(store, line[50])
    check(store, grow(store, line[50], 1)[0])
    store.close()


def test_a_store_is_pruned_to_a_smaller_window_in_steps(tmp_path: Path) -> None:
    """Prune to a smaller window in steps, so that no block waits for all of it."""
    store = Store.open(tmp_path, pruning=ARCHIVE, sync=False)
    store.initialise(genesis_of({b"fixed": b"always"}), {b"fixed": b"always"})
    line = grow(store, genesis(store), 2_400)
    store.finalize(line[-1].hash)
    store.close()
    store = Store.open(tmp_path, pruning=Pruning(8, 8), sync=False)
    oldest = []
    for _ in range(4):
        line += grow(store, line[-1], 1)
        store.finalize(line[-1].hash)
        oldest.append(next(header.number for header in line if store.has_state(header.hash)))
        check(store, line[oldest[-1] - 1])
    assert oldest == [1_024, 2_048, 2_395, 2_396]
    store.close()


def test_a_block_with_more_changes_than_the_bound_is_spilled_at_once(tmp_path: Path) -> None:
    """Spill a block at once whose changes exceed the bound in bytes."""
    store = Store(LmdbDatabase(tmp_path, sync=False), Pruning(), max_bytes=100_000)
    store.initialise(genesis_of({}), {})
    small = grow(store, genesis(store), 3)
    assert len(store.overlays()) == 3
    large = child_of(small[-1])
    store.add_block(large, [], changes_for(large, {b"": {b"large": bytes(100_000)}}))
    assert store.overlays() == []
    with store.state(large.hash) as state:
        assert state.get(b"large") == bytes(100_000)
        assert state.get(b"number") == b"3"
    store.close()


@pytest.mark.world
def test_the_file_stops_growing_once_the_windows_are_full(tmp_path: Path) -> None:
    """Stop growing once the windows are full: pruned pages are used again."""
    store = Store.open(tmp_path, pruning=Pruning(16, 16), sync=False)
    store.initialise(genesis_of({}), {})
    parent = genesis(store)
    sizes = []
    for _ in range(4):
        for _ in range(200):
            header = child_of(parent)
            keys = [b"%d" % (header.number * 7 % 500 + n) for n in range(40)]
            table = dict.fromkeys(keys, header.state_root * (1 + header.number % 5))
            body = [bytes(header.number * 3_701 % 9_000)] * 3
            store.add_block(header, body, changes_for(header, {b"": table}, {b"": table}))
            if header.number > 2:
                store.finalize(parent.hash)
            parent = header
        sizes.append((tmp_path / "data.mdb").stat().st_size - never_pruned(store))
    assert sizes[3] <= sizes[0] * 1.25


def never_pruned(store: Store) -> int:
    """Return bytes of the tables that never shrink: about 200 per block."""
    with store.database.read() as txn:
        stats = [txn.stat(store.database.table(name)) for name in ("headers", "numbers")]
    return sum(stat["psize"] * (stat["leaf_pages"] + stat["branch_pages"]) for stat in stats)
