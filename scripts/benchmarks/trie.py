"""Time of a block's new state root: 1,000 changed keys in a state of 100,000, nodes from the store.

*Warm*: the median of several batches in one process. *Cold*: the first batch of a new process, after the
kernel has been asked to forget the file's pages.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from cfnode.core.header import Header
from cfnode.core.state import BlockState
from cfnode.core.trie import EMPTY_ROOT, root, update
from cfnode.store import Store, StoreReader

KEYS, CHANGED, BATCHES = 100_000, 1_000, 7
VERSION = 1

Row = tuple[str, str, str, bool]
"""Row of the table: name, figure, target, whether it is met."""

_COLD = """
import sys
from scripts.benchmarks.trie import cold_batch
print(cold_batch(sys.argv[1]))
"""


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    pairs = _pairs()
    started = perf_counter()
    genesis = Header(bytes(32), 0, root(pairs, VERSION), EMPTY_ROOT)
    root_seconds = perf_counter() - started
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(Path(directory))
        store.initialise(genesis, pairs)
        with store.state(genesis.hash) as state:
            warm = [_batch(state, number) for number in range(BATCHES)]
        store.close()
        cold = _cold(Path(directory))
    name = f"new root, {CHANGED:,} changed keys of {KEYS:,}"
    return [
        (f"{name}, warm", f"{median(warm) * 1000:.0f} ms", "≤ 50 ms", median(warm) <= 0.050),
        (f"{name}, cold", f"{cold * 1000:.0f} ms", "≤ 150 ms", cold <= 0.150),
        (f"root of {KEYS:,} pairs at once", f"{root_seconds:.1f} s", "for information", True),
    ]


def cold_batch(directory: str) -> float:
    """Return the seconds of the first batch on a database that this process has not read before."""
    reader = StoreReader.open(Path(directory))
    genesis = Header(bytes(32), 0, bytes.fromhex(os.environ["TRIE_BENCH_ROOT"]), EMPTY_ROOT)
    with reader.state(genesis.hash) as state:
        return _batch(state, BATCHES)


def _cold(directory: Path) -> float:
    data = directory / "data.mdb"
    with data.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    environment = {**os.environ, "TRIE_BENCH_ROOT": root(_pairs(), VERSION).hex()}
    command = [sys.executable, "-c", _COLD, str(directory)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(process.stdout)


def _pairs() -> dict[bytes, bytes]:
    """Return keys as a pallet's maps have them, with values of 16 to 100 bytes.

    A key is a common prefix, then a hash.
    """
    chance = random.Random(1)
    pallets = [chance.randbytes(32) for _ in range(20)]
    return {
        chance.choice(pallets) + chance.randbytes(48): chance.randbytes(chance.randrange(16, 100))
        for _ in range(KEYS)
    }


def _batch(state: BlockState, number: int) -> float:
    """Return the seconds for one batch: new values, some new keys, some deletions."""
    chance = random.Random(number + 2)
    keys = chance.sample(sorted(_pairs()), CHANGED)
    changes: dict[bytes, bytes | None] = {key: chance.randbytes(48) for key in keys[: CHANGED * 8 // 10]}
    changes |= dict.fromkeys(keys[CHANGED * 8 // 10 : CHANGED * 9 // 10])
    changes |= {key[:32] + chance.randbytes(48): b"new" * 20 for key in keys[CHANGED * 9 // 10 :]}
    started = perf_counter()
    update(state.node, changes, VERSION)
    return perf_counter() - started


if __name__ == "__main__":
    for row in run():
        print(*row, sep=" | ")
