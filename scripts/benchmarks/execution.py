"""Processor time that the development runtime takes to execute blocks, before and after values were kept.

The code before is that of a commit of this repository, unpacked into a folder of its own. Both run by turns,
so other load on the machine takes time from both.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts.benchmarks._earlier import HERE, measure, unpack
from scripts.benchmarks._execution import EXTRINSICS

BEFORE = "b52688ad"
"""The last commit whose runtime decoded a value at each read."""
ROUNDS = 3
PROGRAM = "_execution.py"
FULL = f"a block of {EXTRINSICS} signed remarks, executed on a store, before → after"
KNOWN = "the same, its signatures verified before for the pool"
EMPTY = "an empty block, executed on a store, before → after"
MAX_FULL, MAX_KNOWN, MAX_EMPTY = 0.75, 0.6, 0.85

Row = tuple[str, str, str, bool | None]


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        if not unpack(BEFORE, Path(folder)):
            reason = f"this copy of the repository has no commit {BEFORE}"
            return [(name, reason, "", None) for name in (FULL, KNOWN, EMPTY)]
        rounds = [(measure(Path(folder), PROGRAM), measure(HERE, PROGRAM)) for _ in range(ROUNDS)]
    return [
        _row(FULL, "full", rounds, MAX_FULL),
        _row(KNOWN, "known", rounds, MAX_KNOWN),
        _row(EMPTY, "empty", rounds, MAX_EMPTY),
    ]


def _row(name: str, figure: str, rounds: list[tuple[dict[str, float], dict[str, float]]], most: float) -> Row:
    before, after = (min(measured[side][figure] for measured in rounds) for side in (0, 1))
    measured = f"{before * 1000:.1f} → {after * 1000:.1f} ms, {after / before:.2f}"
    return name, measured, f"≤ {most}", after / before <= most


if __name__ == "__main__":
    for row in run():
        print(*row, sep=" | ")
