"""Growth of a light node's start with the state, and what its second start saves.

Chains with 350 set changes and states of different sizes are served over loopback. A light node starts twice
in one folder: with nothing, and with the proofs that it remembers. Runs by name only: it takes half an hour.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scripts.benchmarks._light_start import MB, LightStart, Row, served, start_light
from scripts.benchmarks._long_chain import Entries, LongChain

LONG = True
SETS = 350
SIZES = (1_000_000, 5_000_000)
SLACK = 1.2
"""Factor by which a larger state may take more than in proportion: two starts differ by about as much."""
MAX_MEMORY = 500 * MB


@dataclass(frozen=True, slots=True)
class _Starts:
    """First and second start with one size of the state."""

    entries: Entries
    first: LightStart
    second: LightStart


def _starts(count: int) -> _Starts:
    entries = Entries(count)
    with (
        tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name,
        tempfile.TemporaryDirectory() as light_folder,
    ):
        base = Path(name)
        chain = LongChain.weighted(base)
        chain.change_sets(SETS)
        chain.fill(entries)
        chain.store.close()
        with served(base, chain.spec_path) as server:
            first = start_light(Path(light_folder), chain.spec_path, server)
            second = start_light(Path(light_folder), chain.spec_path, server)
    return _Starts(entries, first, second)


def run() -> list[Row]:
    """Return the rows of the table."""
    measured = []
    for count in SIZES:
        print(f"start: {count:,} entries …", file=sys.stderr, flush=True)
        measured.append(_starts(count))
    small, large = measured[0], measured[-1]
    times = large.entries.count / small.entries.count
    growth = large.first.synced / small.first.synced
    return [
        *(row for starts in measured for row in _of_size(starts)),
        (
            f"the first start, {times:.0f} times the entries",
            f"{growth:.1f} times the time, {large.first.memory / small.first.memory:.2f} times the memory",
            f"≤ {times * SLACK:.1f} times the time",
            growth <= times * SLACK,
        ),
    ]


def _of_size(starts: _Starts) -> list[Row]:
    rows: list[Row] = []
    for name, start in (("first", starts.first), ("second", starts.second)):
        rows.append(
            (
                f"{starts.entries.count:,} entries, {name} start: any answer, proven, state answer, synced",
                f"{start.listening:.1f}, {start.proven:.1f}, {start.answered:.1f}, {start.synced:.1f} s",
                "",
                None,
            )
        )
    memory, database = max(starts.first.memory, starts.second.memory), starts.first.database
    ratio = database / starts.entries.size
    return [
        *rows,
        (
            "  memory of node and executor at most, database against keys and values",
            f"{memory / MB:.0f} MB, {ratio:.2f}",
            f"≤ {MAX_MEMORY / MB:.0f} MB",
            memory <= MAX_MEMORY,
        ),
        (
            "  the second start's way to the last proof",
            f"{starts.second.proven / starts.first.proven:.2f} of the first's",
            "≤ 1",
            starts.second.proven <= starts.first.proven,
        ),
    ]
