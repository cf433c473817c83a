"""Costs of a run of the tests: duration, started processes, the slowest tests, processor time.

Runs `scripts/test` once, as a newcomer does: nothing of the caller's environment names reference data. Runs
by name only. `scripts/bench tests --busy 4` runs it with four busy processes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LONG = True
ROOT = Path(__file__).resolve().parent.parent.parent
MAX_S, MIN_TESTS, MAX_SLOWEST_S, MAX_CALL_S = 300.0, 6_000, 60.0, 1.0
SLOWEST = 10
Row = tuple[str, str, str, bool | None]


@dataclass(slots=True)
class Cost:
    """Seconds and starts of a test, a file, or a run; `call` is the processor time of a test's call alone."""

    wall: float = 0.0
    own: float = 0.0
    children: float = 0.0
    call: float = 0.0
    starts: Counter[str] = field(default_factory=Counter)

    def add(self, row: dict[str, float | dict[str, int]]) -> None:
        """Add a phase of a test."""
        self.wall += row["wall"]  # type: ignore[operator]
        self.own += row["own"]  # type: ignore[operator]
        self.children += row["children"]  # type: ignore[operator]
        if row["phase"] == "call":
            self.call += row["own"] + row["children"]  # type: ignore[operator]
        self.starts.update(row["starts"])  # type: ignore[arg-type]


def read(folder: Path) -> Iterator[dict[str, str | float | dict[str, int]]]:
    """Yield the rows that the processes of a run wrote."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open() as file:
            yield from map(json.loads, file)


def by_test(folder: Path) -> tuple[dict[str, Cost], Cost]:
    """Return the costs of each test, and those of the collections, one in each process."""
    tests: defaultdict[str, Cost] = defaultdict(Cost)
    collections = Cost()
    for row in read(folder):
        cost = collections if row["phase"] == "collection" else tests[str(row["test"])]
        cost.add(row)  # type: ignore[arg-type]
    return dict(tests), collections


def run() -> list[Row]:
    """Return the rows of the table."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        began = time.monotonic()
        last_line = _run_tests(folder)
        wall = time.monotonic() - began
        tests, collections = by_test(folder / "costs")
    return rows(tests, collections, wall, last_line)


def rows(tests: dict[str, Cost], collections: Cost, wall: float, last_line: str) -> list[Row]:
    """Return the rows of a run."""
    passed = int(match[1]) if (match := re.search(r"(\d+) passed", last_line)) else 0
    is_green = "failed" not in last_line and "error" not in last_line and passed > 0
    total = Cost()
    for cost in tests.values():
        total.wall, total.own = total.wall + cost.wall, total.own + cost.own
        total.children += cost.children
        total.starts.update(cost.starts)
    slowest = sorted(tests.items(), key=lambda item: -item[1].wall)
    ten = sum(cost.wall for _, cost in slowest[:SLOWEST])
    one_in_100 = sum(cost.wall for _, cost in slowest[: max(1, len(slowest) // 100)])
    costly = sorted(
        (item for item in tests.items() if item[1].call > MAX_CALL_S), key=lambda item: -item[1].call
    )
    starts = ", ".join(f"{count} {kind}" for kind, count in total.starts.most_common(8))
    return [
        ("scripts/test, wall", f"{wall:.0f} s", f"≤ {MAX_S:.0f} s", wall <= MAX_S),
        ("its last line", last_line.strip("= "), f"≥ {MIN_TESTS:,} passed", is_green and passed >= MIN_TESTS),
        ("collection, in all processes of the run", f"{collections.wall:.0f} s", "", None),
        (
            "processor time: of the tests, of what they start",
            f"{total.own:.0f}, {total.children:.0f} s",
            "",
            None,
        ),
        ("processes started", f"{total.starts.total()}: {starts}", "", None),
        (f"the {SLOWEST} slowest", f"{ten:.0f} s", f"≤ {MAX_SLOWEST_S:.0f} s", ten <= MAX_SLOWEST_S),
        ("the slowest hundredth of all", f"{one_in_100 / total.wall:.0%} of the time", "", None),
        *((f"  {test}", f"{cost.wall:.1f} s", "", None) for test, cost in slowest[:SLOWEST]),
        ("with more than a second of processor time", f"{len(costly)}: of the world?", "", None),
        *((f"  {test}", f"{cost.call:.1f} s", "", None) for test, cost in costly),
    ]


def _run_tests(folder: Path) -> str:
    """Run `scripts/test` without reference data; return its last line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CFNODE_")}
    environment["CFNODE_TEST_REFERENCE"] = os.devnull
    log = folder / "log"
    with log.open("wb") as stream:
        command = ["scripts/test", "--quiet", f"--costs={folder / 'costs'}"]
        subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=stream, check=False)
    lines = log.read_text(errors="replace").splitlines()
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            print(line)
    return next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|error)", line)), "")
