"""The store against a plain dict per block: tables, forks, spilled blocks and windows in one machine.

In whatever order blocks are added, fork, become final or are dropped, and whenever the process restarts,
every readable state returns from `get`, `next_key`, `node` and the walks in order what the dict of its block
has.
"""

from __future__ import annotations

import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.trie import OrderedState
from cfnode.store import finality
from cfnode.store.database import LmdbDatabase
from cfnode.store.errors import StateDiscarded, UnknownBlock
from cfnode.store.finality import Pruning
from cfnode.store.genesis import initial_state
from cfnode.store.reader import StoreReader
from cfnode.store.store import Store
from tests.lengths import repeats
from tests.store.chains import changes_for, genesis_of

LONG = b"\7" * 495
CHILDREN = (b"", b"c", b"c\0", b"n" * 502)
KEYS = (
    *(b"", b"\0", b"\0\0", b"\0\xff", b"\0\xff\0", b"\1", b"a", b"a\0", b"a\0\0", b"a\0\xff", b"ab", b"\xff"),
    *(LONG, LONG + b"\0", LONG + b"\0" * 30, LONG + b"\7" * 2, LONG + b"\7" * 3, LONG + b"\7" * 300),
    *(LONG + b"\xff", LONG + b"\xff" * 9, b"\xff" * 700, b"\xff" * 700 + b"\0"),
)
WINDOW = 3
MAX_BEHIND = 2

Contents = dict[bytes, dict[bytes, bytes]]

changes = st.dictionaries(
    st.sampled_from(CHILDREN),
    st.dictionaries(st.sampled_from(KEYS), st.none() | st.binary(max_size=3), max_size=8),
    max_size=3,
)
initial = st.dictionaries(st.sampled_from(KEYS), st.binary(min_size=1, max_size=3), max_size=8)


def after(before: Contents, changed: dict[bytes, dict[bytes, bytes | None]]) -> Contents:
    """Return the contents after changes."""
    contents = {child: dict(table) for child, table in before.items()}
    for child, table in changed.items():
        for key, value in table.items():
            if value is None:
                contents.get(child, {}).pop(key, None)
            else:
                contents.setdefault(child, {})[key] = value
    return contents


class StoreMachine(RuleBasedStateMachine):
    """A store and a reader next to dicts of what each block must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="cfnode-test-"))
        self.open()
        top, child = {b"a": b"1", b"": b"0"}, {b"c": {b"k": b"v", LONG * 2: b"long"}}
        genesis = genesis_of(top, child)
        state = initial_state(top, child, 1)
        self.store.initialise(genesis, top, child)
        self.headers = {genesis.hash: genesis}
        self.storage = {genesis.hash: after({}, state.storage)}
        self.nodes = {genesis.hash: after({}, state.nodes)}
        self.changes = {}
        self.final = [genesis.hash]
        self.live: list[bytes] = []
        self.lost: dict[bytes, int] = {}
        self.held: dict[bytes, int] = {}
        self.kept: set[bytes] = set()
        self.oldest = 0

    def open(self) -> None:
        """Open the store with small windows and few overlays in memory."""
        self.database = LmdbDatabase(self.directory, sync=False)
        self.store = Store(self.database, Pruning(WINDOW, WINDOW), max_blocks=3)
        self.reader = StoreReader(self.database)

    def teardown(self) -> None:
        """Close the store and delete its files."""
        self.store.close()
        shutil.rmtree(self.directory)

    @rule(data=st.data(), storage=changes, nodes=changes)
    def a_block_on_any_live_block(self, data: st.DataObject, storage: dict, nodes: dict) -> None:
        """Add a block on one of the last live blocks."""
        parent = data.draw(st.sampled_from([*self.live, self.final[-1]][-6:]))
        self.add(self.headers[parent], storage, nodes)

    @rule(storage=changes, nodes=changes)
    def a_block_on_the_last_block(self, storage: dict, nodes: dict) -> None:
        """Add a block on the newest block."""
        self.add(self.headers[[*self.final, *self.live][-1]], storage, nodes)

    def add(self, above: Header, storage: dict, nodes: dict) -> None:
        """Add a block to the store, the reader and the dicts."""
        unique = blake2_256(b"%d" % len(self.headers))  # the same in each run: a failure can be replayed
        header = Header(above.hash, above.number + 1, unique, bytes(32))
        block, parent = header.hash, above.hash
        self.changes[block] = changes_for(header, storage, nodes)
        self.reader.add_overlay(self.store.add_block(header, [header.state_root], self.changes[block]))
        self.headers[block] = header
        self.storage[block] = after(self.storage[parent], storage)
        self.nodes[block] = after(self.nodes[parent], nodes)
        self.live.append(block)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def any_live_block_becomes_final(self, data: st.DataObject) -> None:
        """Finalize any live block."""
        self.make_final(data.draw(st.sampled_from(self.live)))

    def make_final(self, target: bytes) -> None:
        """Finalize a block, and compare what was finalized, dropped, kept and discarded."""
        run = [target]
        while (parent := self.headers[run[-1]].parent_hash) != self.final[-1]:
            run.append(parent)
        stay = {target}
        for block in self.live:
            if self.headers[block].parent_hash in stay:
                stay.add(block)
        dropped = [block for block in self.live if block not in stay and block not in run]
        in_memory = {overlay.hash for overlay in self.store.overlays()}
        done = self.store.finalize(target)
        assert list(done.hashes) == run[::-1]
        assert set(done.dropped) == set(dropped)
        wanted = max(self.headers[target].number - WINDOW, self.oldest)
        kept_back = max(min(self.held.values(), default=wanted), wanted - MAX_BEHIND)
        self.oldest = max(self.oldest, min(wanted, kept_back))
        self.keep({*dropped, *self.kept}, in_memory)
        assert done.kept == self.kept
        discarded = self.store.discarded_holds(done)
        assert set(discarded) == {
            block
            for block, base in self.held.items()
            if base < self.oldest or (block in dropped and block not in self.kept)
        }
        for block in discarded:
            self.store.release(block)
            del self.held[block]
        self.final += run[::-1]
        self.live = [block for block in self.live if block in stay and block != target]
        self.lost |= dict.fromkeys(dropped, self.headers[target].number)

    def keep(self, lost: set[bytes], in_memory: set[bytes]) -> None:
        """Keep, of the lost blocks, those that are held and those below them, if all are in memory."""
        self.kept = set()
        for block in self.held.keys() & lost:
            branch = [block]
            while (parent := self.headers[branch[-1]].parent_hash) in lost:
                branch.append(parent)
            if in_memory.issuperset(branch) and self.headers[parent].number >= self.oldest:
                self.kept.update(branch)

    @rule(data=st.data())
    def a_readable_block_is_held(self, data: st.DataObject) -> None:
        """Hold a block whose state can be read."""
        self.hold(data.draw(st.sampled_from([*self.live, *sorted(self.kept), *self.final[self.oldest :]])))

    @precondition(lambda self: len(self.live) > 1)
    @rule(data=st.data())
    def a_live_block_is_held_when_any_becomes_final(self, data: st.DataObject) -> None:
        """Hold a live block, then finalize any: the held one may lose."""
        self.hold(data.draw(st.sampled_from(self.live)))
        self.make_final(data.draw(st.sampled_from(self.live)))

    def hold(self, block: bytes) -> None:
        """Hold a block, and note the finalized block that it keeps readable."""
        if block not in self.held:
            self.store.hold(block)
            trunk = block
            while trunk not in self.final:
                trunk = self.headers[trunk].parent_hash
            is_live = block in self.live
            self.held[block] = len(self.final) - 1 if is_live else self.headers[trunk].number

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def a_held_block_is_released(self, data: st.DataObject) -> None:
        """Release a held block."""
        block = data.draw(st.sampled_from(sorted(self.held)))
        self.store.release(block)
        del self.held[block]

    @rule()
    def the_process_restarts(self) -> None:
        """Close and open the store: holds and kept blocks end, live ones are added again."""
        self.held, self.kept = {}, set()
        self.store.close()
        self.open()
        assert {header.hash for header, _ in self.store.unfinalized()} == set(self.live)
        for header, body in self.store.unfinalized():
            assert body == [header.state_root]
            if not self.store.has_state(header.hash):
                with pytest.raises(UnknownBlock), self.store.state(header.hash):
                    pass
                self.store.add_block(header, body, self.changes[header.hash])
        for overlay in self.store.overlays():
            self.reader.add_overlay(overlay)

    @invariant()
    def every_readable_state_equals_its_dict(self) -> None:
        """Compare each readable state with its dict, through the store and the reader."""
        for block in (*self.live, *self.kept, *self.final[self.oldest :]):
            for source in (self.store, self.reader):
                with source.state(block) as state:
                    assert (state.root, state.number) == (
                        self.headers[block].state_root,
                        self.headers[block].number,
                    )
                    for child in CHILDREN:
                        self.compare(state, child, self.storage[block].get(child, {}))
                        nodes = self.nodes[block].get(child, {})
                        assert all(state.node(key, child) == nodes.get(key) for key in (*KEYS, *nodes))
                        in_order = [(path, node) for path, node in sorted(nodes.items()) if path]
                        assert list(state.nodes_after(b"", child)) == in_order

    def compare(self, state: OrderedState, child: bytes, contents: dict[bytes, bytes]) -> None:
        """Compare one table: values, next keys, and the pairs after a key."""
        keys = sorted(contents)
        for key in {*KEYS, *keys}:
            assert state.get(key, child) == contents.get(key)
            index = bisect_right(keys, key)
            assert state.next_key(key, child) == (keys[index] if index < len(keys) else None)
        for begin in (b"", b"a\0", LONG, LONG + b"\7" * 2):
            behind = [(key, contents[key]) for key in keys if key > begin]
            assert list(state.pairs_after(begin, child)) == behind

    @invariant()
    def every_other_state_is_discarded_or_unknown(self) -> None:
        """Read no other state: it is discarded where the header is still there, else unknown."""
        for block in (*(self.lost.keys() - self.kept), *self.final[: self.oldest]):
            expected = StateDiscarded if self.store.header(block) else UnknownBlock
            for source in (self.store, self.reader):
                with pytest.raises(expected), source.state(block):
                    pass
        with pytest.raises(UnknownBlock), self.store.state(b"\1" * 32):
            pass

    @invariant()
    def memory_and_disk_hold_no_more_than_they_should(self) -> None:
        """Hold no more overlays and rows than needed, and each block's header and body as the windows say."""
        assert len(self.store.overlays()) <= 3 + len(self.kept)
        assert {overlay.hash for overlay in self.reader.overlays} == {o.hash for o in self.store.overlays()}
        for number, block in enumerate(self.final):
            assert self.store.hash_at(number) == block
            assert self.store.header(block) == self.headers[block]
            assert self.store.body(block) == (
                None if number < self.oldest else [] if number == 0 else [self.headers[block].state_root]
            )
        for block, lost_against in self.lost.items():
            assert (self.store.header(block) is None) == (lost_against < self.oldest)
        if not self.live and not self.rows("shelf-garbage"):
            for name in (
                "unfinalized",
                "shelf-blocks",
                "shelf-tips",
                "shelf-storage",
                "shelf-nodes",
                "shelf-index",
            ):
                assert self.rows(name) == 0, name

    def rows(self, name: str) -> int:
        """Return the number of rows of a table."""
        with self.database.read() as txn:
            return int(txn.stat(self.database.table(name))["entries"])


@pytest.fixture(autouse=True, scope="module")
def small_bound_on_held_blocks() -> Iterator[None]:
    """Let a few blocks reach the bound on held ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finality, "MAX_HELD_BEFORE_WINDOW", MAX_BEHIND)
        yield


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=repeats(30, 4),
    stateful_step_count=20,
    phases=[Phase.generate, Phase.shrink],
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
