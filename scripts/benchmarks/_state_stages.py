"""Processor time of each stage of a state's transfer, of the code in this folder.

A state is served, read, written and walked in one process, range by range. It prints the seconds of each
stage, and a hash of all rows that arrived, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from cfnode.core.header import Header
from cfnode.core.state import TOP, Changes
from cfnode.core.trie import EMPTY_ROOT, Healing, Position, root, update
from cfnode.core.wire.state import StateRequest
from cfnode.node.sync.serving.serve_state import state_range
from cfnode.node.sync.warping.state_download import MAX_MISSING, MAX_NODES
from cfnode.node.sync.warping.state_ranges import read_answer
from cfnode.store import Store

ENTRIES = 100_000
MAPS = 40
PREFIX_BYTES, SUFFIX_BYTES, VALUE_BYTES = 32, 16, 52
CHANGES = 300
"""Entries that the block after the served one changes: its state is read with undo rows."""


def entries() -> dict[bytes, bytes]:
    """Return the entries of the state, under as many prefixes as a chain has maps."""
    chance = random.Random(1)
    prefixes = [chance.randbytes(PREFIX_BYTES) for _ in range(MAPS)]
    return {
        chance.choice(prefixes) + chance.randbytes(SUFFIX_BYTES): chance.randbytes(VALUE_BYTES)
        for _ in range(ENTRIES)
    }


def grown(folder: Path) -> tuple[Store, Header]:
    """Return a store with the state, and the block of it; another block has changed some entries since."""
    state = entries()
    genesis = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT)
    store = Store.open(folder, sync=False)
    store.initialise(genesis, state)
    changed: dict[bytes, bytes | None] = dict.fromkeys(list(state)[: CHANGES * 7 : 7], bytes(VALUE_BYTES))
    with store.state(genesis.hash) as view:
        trie = update(view.node, changed, 1)
    head = Header(genesis.hash, 1, trie.root, EMPTY_ROOT)
    changes = Changes(storage={TOP: changed}, nodes={TOP: trie.nodes}, root=trie.root)
    store.add_block(head, [], changes)
    store.finalize(head.hash)
    return store, genesis


def main() -> None:
    """Print the figures."""
    seconds = {"serve": 0.0, "read": 0.0, "write": 0.0, "walk": 0.0}

    @contextmanager
    def timed(stage: str) -> Iterator[None]:
        began = time.process_time()
        yield
        seconds[stage] += time.process_time() - began

    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        server, header = grown(Path(folder, "server"))
        client = Store.open(Path(folder, "client"), sync=False)
        client.initialise(Header(bytes(32), 0, EMPTY_ROOT, EMPTY_ROOT), {})
        state_import = client.import_state()
        state_import.clear()
        position: Position | None = ()
        while position is not None:
            with timed("serve"):
                answer = state_range(server, StateRequest(header.hash, position)).encode()
            with timed("read"):
                part = read_answer(answer, header.state_root, position)
            with timed("write"):
                state_import.write(part.pairs, part.nodes)
            position = part.next
        with timed("walk"):
            healing = Healing(header.state_root)
            while not healing.done:
                assert not state_import.walk(healing, MAX_NODES, MAX_MISSING).missing
            assert state_import.delete_leftovers(healing, header.state_root) == 0
        state_import.finish(header, [], [])
        rows = blake2b(digest_size=16)
        with client.state(header.hash) as state:
            key: bytes | None = b""
            while (key := state.next_key(key)) is not None:
                rows.update(key + (state.get(key) or b""))
        size = (Path(folder, "client") / "data.mdb").stat().st_blocks * 512
        server.close()
        client.close()
    figures = {stage: spent / ENTRIES for stage, spent in seconds.items()}
    json.dump({**figures, "keys": healing.keys, "database": size, "rows": rows.hexdigest()}, sys.stdout)


if __name__ == "__main__":
    main()
