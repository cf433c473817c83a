"""Time of a light start: hundreds of set changes, then a state of a million entries.

A chain of 350 set changes with 150 weighted authorities each, all of whom sign, and a state of 100 MB lies in
a store. Its proofs are checked here, in a thread, pinned to one core, while a task of the same loop measures
by how much it is kept waiting. Then a node serves that chain over loopback, and another one, started with
`--sync=light-rpc`, goes the whole way; its memory is read four times a second. Of the rounds the fastest
counts, and the largest memory.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from cfnode.cli.lifetime import favour_the_loop
from cfnode.node.sync.serving.serve_warp import warp_proof
from cfnode.node.sync.warping.warp import follow_answer
from scripts.benchmarks._light_start import MB, LightStart, Row, served, start_light
from scripts.benchmarks._long_chain import Entries, LongChain

SETS = 350
ENTRIES = Entries(1_000_000)
PROOF_RUNS = 5
STATE_RUNS = 2

# --- proofs


@contextmanager
def one_core() -> Iterator[None]:
    """Run this process on one core only."""
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(affinity)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, affinity)


async def _longest_stall(stop: Callable[[], bool]) -> float:
    """Return by how much a task that wakes each millisecond is late at most, in seconds."""
    longest = 0.0
    while not stop():
        due = time.perf_counter() + 0.001
        await trio.sleep(0.001)
        longest = max(longest, time.perf_counter() - due)
    return longest


async def _prove(chain: LongChain) -> tuple[float, float]:
    """Return the seconds of the checks alone, and the longest stall of the loop meanwhile."""
    seconds, trust, finished, stall = 0.0, chain.beginning, False, 0.0

    async def measure() -> None:
        nonlocal stall
        stall = await _longest_stall(lambda: finished)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(measure)
        while not finished:
            answer = await trio.to_thread.run_sync(warp_proof, chain.store, trust.header.hash)
            assert answer is not None
            began = time.perf_counter()
            followed = await trio.to_thread.run_sync(follow_answer, answer, trust)
            seconds += time.perf_counter() - began
            assert followed.refused is None, followed.refused
            trust, finished = followed.trusted, followed.finished
    assert trust.authorities.set_id == SETS
    return seconds, stall


def _proofs(chain: LongChain) -> list[Row]:
    gc.freeze()  # as the node does, with favour_the_loop
    favour_the_loop()
    with one_core():
        runs = [trio.run(_prove, chain) for _ in range(PROOF_RUNS)]
    seconds, stall = min(run_seconds for run_seconds, _ in runs), min(stall for _, stall in runs)
    name = f"a warp proof of {SETS} set changes with 150 weighted authorities, on one core"
    return [
        (name, f"{seconds:.2f} s", "≤ 4 s", seconds <= 4),
        ("the longest stall of the loop meanwhile", f"{stall * 1e3:.1f} ms", "≤ 20 ms", stall <= 0.020),
    ]


# --- the whole way


def _from_nothing(spec: Path, server: str) -> LightStart:
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        return start_light(Path(folder), spec, server)


def _states(base: Path, spec: Path) -> list[Row]:
    with served(base, spec) as server:
        starts = sorted((_from_nothing(spec, server) for _ in range(STATE_RUNS)), key=lambda way: way.synced)
    fastest = starts[0]
    memory, database = max(start.memory for start in starts), max(start.database for start in starts)
    size = f"{ENTRIES.count:,} entries ({ENTRIES.size / MB:.0f} MB)"
    ratio = database / ENTRIES.size
    return [
        (
            f"{SETS} set changes proven and {size} synced, verified, stored, from the start of the node",
            f"{fastest.synced:.1f} s ({fastest.proven:.1f} s to the last proof)",
            "≤ 90 s",
            fastest.synced <= 90,
        ),
        (
            "the first verified answer of cf_flip_supply, from the start of the node",
            f"{fastest.answered:.1f} s",
            "≤ 10 s",
            fastest.answered <= 10,
        ),
        (
            "memory (RSS) of node and executor at most",
            f"{memory / MB:.0f} MB",
            "≤ 500 MB",
            memory <= 500 * MB,
        ),
        (
            "the database on disk, against keys and values",
            f"{ratio:.2f} ({database / MB:.0f} MB)",
            "≤ 4",
            ratio <= 4,
        ),
    ]


def run() -> list[Row]:
    """Return the rows of the table."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        base = Path(name)
        chain = LongChain.weighted(base)
        chain.change_sets(SETS)
        rows = _proofs(chain)
        chain.fill(ENTRIES)
        chain.store.close()
        return rows + _states(base, chain.spec_path)


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
