"""Processor time of a state's transfer, before and after its stages were made to pass over the bytes once.

The code before is that of a commit of this repository, unpacked into a folder of its own. Both run by turns,
so other load on the machine takes time from both. All rows that arrive must be equal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from scripts.benchmarks._earlier import HERE, measure, unpack
from scripts.benchmarks._state_stages import ENTRIES

BEFORE = "938bd132"
"""The last commit whose range proofs were read as decoded nodes."""
ROUNDS = 2
STAGES: dict[str, tuple[str, float]] = {
    "serve": ("a range is read from a store and packed, for each entry", 0.35),
    "read": ("the range is unpacked and proven", 0.45),
    "write": ("it is written", 0.75),
    "walk": ("all rows are compared with the state root", 0.95),
}
"""What each stage does, and the part of the time before that it may take now."""
WHOLE, MAX_WHOLE = "all of it", 0.55

Row = tuple[str, str, str, bool | None]


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        if not unpack(BEFORE, Path(folder)):
            return [(WHOLE, f"this copy of the repository has no commit {BEFORE}", "", None)]
        rounds = [
            tuple(measure(code, "_state_stages.py") for code in (Path(folder), HERE)) for _ in range(ROUNDS)
        ]
    equal = len({figures["rows"] for pair in rounds for figures in pair}) == 1
    return [
        *(_row(name, (stage,), rounds, most) for stage, (name, most) in STAGES.items()),
        _row(WHOLE, tuple(STAGES), rounds, MAX_WHOLE),
        (f"the {ENTRIES:,} entries that arrive are the same", "yes" if equal else "no", "yes", equal),
    ]


def _row(name: str, stages: tuple[str, ...], rounds: list[tuple[dict[str, Any], ...]], most: float) -> Row:
    before, after = (min(sum(pair[side][stage] for stage in stages) for pair in rounds) for side in (0, 1))
    measured = f"{before * 1e6:.1f} → {after * 1e6:.1f} µs, {after / before:.2f}"
    return (
        name,
        measured,
        f"≤ {most}",
        after / before <= most,
    )


if __name__ == "__main__":
    for row in run():
        print(*row, sep=" | ")
