"""Time of one storage read, from `Store.state(hash)` to the value.

A state of 100,000 entries in LMDB and a chain on top that changes 300 of them in each block, as a node keeps
it: two unfinalized blocks, and 128 finalized ones behind the undo rows. Each read opens its own snapshot, as
a JSON-RPC call does; half of the keys read are among those that change. The target is for the median: the
rest depends on what else the machine does.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from cfnode.core.hashing import blake2_256
from cfnode.core.header import Header
from cfnode.core.state import TOP, Changes
from cfnode.store import Store
from cfnode.store.genesis import initial_state

ENTRIES = 100_000
CHANGED = 300
BLOCKS = 200
READS = 4_000

Row = tuple[str, str, str, bool]
"""Row of the table: name, figure, target, whether it is met."""


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    directory = Path(tempfile.mkdtemp(prefix="cfnode-bench-"))
    try:
        return _measured(directory)
    finally:
        shutil.rmtree(directory)


def _measured(directory: Path) -> list[Row]:
    chance = random.Random(1)
    keys = [chance.randbytes(48) for _ in range(ENTRIES)]
    store = Store.open(directory, sync=False)
    blocks = [_begin(store, {key: chance.randbytes(64) for key in keys})]
    fold = _grow(store, blocks, keys[:2_000], chance)
    read_keys = [chance.choice(keys[:2_000] if n % 2 else keys) for n in range(READS)]
    best = _reads(store, blocks[-1:], read_keys)
    window = _reads(store, blocks[-131:-2], read_keys)
    oldest = _reads(store, blocks[-131:-130], read_keys)
    for _ in range(500):
        _add(store, blocks, keys[:2_000], chance)
    stalled = _reads(store, blocks[-1:], read_keys)
    store.close()
    return [
        _row("a storage read at the best block", best, 50),
        _row("a storage read anywhere in the undo window", window, 150),
        _row("a storage read at the oldest block of the window", oldest, 150),
        _row("a storage read at the best block, 500 blocks into a finality stall", stalled, None),
        (f"a block of {CHANGED} changes (and nodes) added and folded", f"{fold * 1e3:.1f} ms", "-", True),
    ]


def _row(name: str, microseconds: Sequence[float], target: int | None) -> Row:
    cuts = quantiles(microseconds, n=100)
    figure = f"median {cuts[49]:.0f} µs, 99 % within {cuts[98]:.0f} µs"
    if target is None:
        return name, figure, "for information", True
    return name, figure, f"≤ {target} µs", cuts[49] <= target


def _begin(store: Store, top: dict[bytes, bytes]) -> Header:
    genesis = Header(bytes(32), 0, initial_state(top, {}, 1).root, bytes(32))
    store.initialise(genesis, top)
    return genesis


def _grow(store: Store, blocks: list[Header], changing: Sequence[bytes], chance: random.Random) -> float:
    """Add blocks with a finality two behind; return the seconds that one took."""
    began = perf_counter()
    for _ in range(BLOCKS):
        _add(store, blocks, changing, chance)
        if len(blocks) > 3:
            store.finalize(blocks[-3].hash)
    return (perf_counter() - began) / BLOCKS


def _add(store: Store, blocks: list[Header], changing: Sequence[bytes], chance: random.Random) -> None:
    parent = blocks[-1]
    header = Header(parent.hash, parent.number + 1, blake2_256(parent.hash), bytes(32))
    storage: dict[bytes, bytes | None] = {
        key: chance.randbytes(64) for key in chance.sample(changing, CHANGED)
    }
    nodes: dict[bytes, bytes | None] = {key: chance.randbytes(120) for key in storage}
    store.add_block(header, [], Changes(storage={TOP: storage}, nodes={TOP: nodes}, root=header.state_root))
    blocks.append(header)


def _reads(store: Store, blocks: Sequence[Header], keys: Sequence[bytes]) -> list[float]:
    """Return the microseconds of each read, going round the blocks."""
    hashes = [block.hash for block in blocks]
    times = []
    for place, key in enumerate(keys):
        began = perf_counter()
        with store.state(hashes[place % len(hashes)]) as state:
            value = state.get(key)
        times.append((perf_counter() - began) * 1e6)
        assert value is not None
    return times


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
