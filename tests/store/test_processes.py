"""Two processes on one database, and what is left when one of them is killed."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from cfnode.core.header import Header
from cfnode.store import Overlay, Pruning, Store, StoreReader
from tests.conftest import ROOT
from tests.lengths import repeats
from tests.store.chains import changes_for, child_of, genesis_of

KEYS = [b"%d" % n for n in range(20)] + [b"long" * 200]

WRITER = """
import sys
from pathlib import Path
from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.store import Pruning, Store
from tests.store.chains import changes_for
from tests.store.test_processes import KEYS

store = Store.open(Path(sys.argv[1]), pruning=Pruning(8, 8), sync=sys.argv[2] == "sync", map_size=256 << 10)
parent = store.header(store.finalized.hash)
while True:
    header = Header(parent.hash, parent.number + 1, blake2_256(parent.hash), bytes(32))
    value = header.state_root * 50
    table = {key: value for key in KEYS}
    store.add_block(header, [value], changes_for(header, {b"": table}, {b"": table}))
    if header.number % 3 == 0:
        store.finalize(header.hash)
        print(header.number, flush=True)
    parent = header
"""

READER = """
import base64, sys
from pathlib import Path
import msgspec
from cfnode.store import Overlay, StoreReader

reader = StoreReader.open(Path(sys.argv[1]))
print("open", flush=True)
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    data = base64.b64decode(argument)
    if command == "overlay":
        reader.add_overlay(msgspec.msgpack.decode(data, type=Overlay))
        print("held", flush=True)
    elif command == "read":
        with reader.state(data) as state:
            print((state.get(b"key") or b"").decode(), len(reader.overlays), flush=True)
    elif command == "hang":
        with reader.state(data) as state:
            print("hanging", flush=True)
            sys.stdin.readline()
"""


class Reader:
    """A reader in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, command: str, data: bytes = b"") -> str:
        """Send a command and return the reader's line."""
        assert self.process.stdin is not None
        print(command, base64.b64encode(data).decode(), file=self.process.stdin, flush=True)
        return self.line()

    def line(self) -> str:
        """Return the reader's next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def give(self, overlay: Overlay) -> None:
        """Send an overlay and wait until the reader holds it."""
        assert self.ask("overlay", msgspec.msgpack.encode(overlay)) == "held"


@contextmanager
def running(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script in a process of its own, and kill it at the end."""
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """Run a reader that has opened the database."""
    with running(READER, str(path)) as process:
        reader = Reader(process)
        assert reader.line() == "open"
        yield reader


@pytest.mark.parametrize("mode", [pytest.param("sync", marks=pytest.mark.world), "nosync"])
def test_a_writer_killed_again_and_again_never_leaves_half_a_block(tmp_path: Path, mode: str) -> None:
    """Leave whole blocks only, however often the writer is killed, and all that it has reported as final."""
    value = bytes(1_600)
    top = dict.fromkeys(KEYS, value)
    store = Store.open(tmp_path, sync=False)
    store.initialise(genesis_of(top), top)
    store.close()
    for kill in range(repeats(6, 2)):
        with running(WRITER, str(tmp_path), mode) as process:
            assert process.stdout is not None
            reported = [process.stdout.readline() for _ in range(2 + kill)][-1]
            process.send_signal(signal.SIGKILL)
            reported = ([reported, *process.stdout.read().splitlines()])[-1]
        whole_up_to(tmp_path, int(reported))


def whole_up_to(path: Path, number: int) -> None:
    """Check that blocks reported as final are final, and each readable state has rows of one block only."""
    store = Store.open(path)
    assert store.finalized.number >= number
    for height in range(store.finalized.number + 1):
        block = store.hash_at(height)
        assert block is not None
        header = store.header(block)
        assert header is not None and header.number == height
        if height == 0 or height < store.finalized.number - 8:
            continue
        assert store.body(block) == [header.state_root * 50]
        with store.state(block) as state:
            assert {state.get(key) for key in KEYS} == {header.state_root * 50}
            assert {state.node(key) for key in KEYS} == {header.state_root * 50}
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with a genesis of one key."""
    store = Store.open(tmp_path, sync=False, map_size=256 << 10)
    store.initialise(genesis_of({b"key": b"genesis"}), {b"key": b"genesis"})
    yield store
    store.close()


def add(store: Store, parent: Header, value: bytes) -> tuple[Header, Overlay]:
    """Add a block that writes the key, and return it with its overlay."""
    header = child_of(parent)
    return header, store.add_block(header, [], changes_for(header, {b"": {b"key": value}}))


def start(store: Store) -> Header:
    """Return the header of the finalized block."""
    header = store.header(store.finalized.hash)
    assert header is not None
    return header


def test_a_reader_drops_overlays_that_its_snapshot_holds_or_that_have_lost(
    store: Store, tmp_path: Path
) -> None:
    """Drop a reader's overlays once its snapshot holds them or they have lost, and read on."""
    genesis = start(store)
    with reading(tmp_path) as reader:
        assert reader.ask("read", genesis.hash) == "genesis 0"
        one, overlay = add(store, genesis, b"one")
        reader.give(overlay)
        two, overlay = add(store, one, b"two")
        reader.give(overlay)
        _, overlay = add(store, one, b"lost")
        reader.give(overlay)
        assert reader.ask("read", two.hash) == "two 3"
        assert reader.ask("read", one.hash) == "one 3"
        store.finalize(two.hash)
        assert reader.ask("read", two.hash) == "two 0"
        assert reader.ask("read", one.hash) == "one 0"
        assert reader.ask("read", genesis.hash) == "genesis 0"


def test_a_new_reader_gets_all_overlays_and_finds_the_rest_spilled(store: Store, tmp_path: Path) -> None:
    """Give a new reader the overlays in memory, and let it find the other blocks on disk."""
    parent = start(store)
    for number in range(70):
        parent, _ = add(store, parent, b"%d" % number)
    with reading(tmp_path) as reader:
        for overlay in store.overlays():
            reader.give(overlay)
        assert reader.ask("read", parent.hash) == "69 53"
        spilled = store.unfinalized()[2][0]
        assert reader.ask("read", spilled.hash) == "2 53"


def test_a_reader_adopts_the_size_of_a_map_that_the_writer_has_grown(store: Store, tmp_path: Path) -> None:
    """Let a reader follow when the writer has grown the map."""
    with reading(tmp_path) as reader:
        parent = start(store)
        assert reader.ask("read", parent.hash) == "genesis 0"
        for size in (1 << 20, 4 << 20, 16 << 20):
            header = child_of(parent)
            store.add_block(header, [bytes(size)], changes_for(header, {b"": {b"key": b"%d" % size}}))
            store.finalize(header.hash)
            assert reader.ask("read", header.hash) == f"{size} 0"
            parent = header


def test_a_killed_reader_pins_no_pages_once_its_slot_is_freed(store: Store, tmp_path: Path) -> None:
    """Free the slot of a killed reader: its snapshot would keep pages from being reused."""
    genesis = start(store)
    with reading(tmp_path) as reader:
        assert reader.ask("hang", genesis.hash) == "hanging"
        assert store.forget_dead_readers() == 0
        os.kill(reader.process.pid, signal.SIGKILL)
        reader.process.wait()
    assert store.forget_dead_readers() == 1


def test_a_reader_that_reads_no_state_still_drops_decided_blocks(tmp_path: Path) -> None:
    """Drop decided blocks from a reader that reads no state: its memory would grow without end."""
    head = genesis_of({b"key": b"old"})
    store = Store.open(tmp_path, pruning=Pruning(8, 8), sync=False)
    store.initialise(head, {b"key": b"old"})
    reader = StoreReader(store.database)
    for number in range(30):
        lost, kept = child_of(head), child_of(head)
        for block in (lost, kept):
            changes = changes_for(block, {b"": {b"key": block.hash}})
            reader.add_overlay(store.add_block(block, [], changes))
        assert len(reader.overlays) == 2 * (number % 3 + 1)
        if number % 3 == 2:
            store.finalize(kept.hash)
        head = kept
    store.close()
