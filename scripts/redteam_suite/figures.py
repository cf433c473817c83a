"""Figures of an attack: measured values, their bounds, and whether they are met."""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MAX_P99_MS = 100.0
MAX_PAUSE_MS = 50.0
MAX_RATIO = 10.0
"""Factor of the idle p99 of the same run: the bound on a busy machine."""
MAX_RSS_MB = 500.0
MAX_GROWTH = 1.2
MAX_LAG = 3
"""Maximum blocks between the honest head and the follower's."""
MAX_IN_S = 10.0
"""Seconds until an honest peer takes part."""
MB = 1e6

PROGRAM_ERRORS = re.compile(r"Traceback \(most recent call last\)|exception (?:was )?never retrieved")


@dataclass(frozen=True, slots=True)
class Figure:
    """Figure of a row. `at_most`: whether the bound is a maximum; otherwise it is a minimum."""

    name: str
    measured: float
    bound: float
    unit: str = ""
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Whether the measured value is within its bound; a missing value is not."""
        if math.isnan(self.measured):
            return False
        return self.measured <= self.bound if self.at_most else self.measured >= self.bound

    def __str__(self) -> str:
        """Return the measured figure with its unit and its bound."""
        sign = "≤" if self.at_most else "≥"
        return f"{self.name} {self.measured:,.0f}{self.unit} ({sign} {self.bound:,.0f}{self.unit})"


@dataclass(slots=True)
class Result:
    """Result of one row. `facts`: values without a bound."""

    row: str
    attack: str
    figures: list[Figure] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    log: str = ""
    """The last lines of the node's log, where a figure was missed."""

    @property
    def met(self) -> bool:
        """Whether there are figures and all are within their bounds."""
        return bool(self.figures) and all(figure.met for figure in self.figures)

    @property
    def missed(self) -> list[Figure]:
        """The figures outside of their bounds."""
        return [figure for figure in self.figures if not figure.met]

    def add(self, name: str, measured: float, bound: float, unit: str = "", *, at_most: bool = True) -> None:
        """Add a measured value with its bound, a maximum or a minimum."""
        self.figures.append(Figure(name, measured, bound, unit, at_most))

    def check(self, name: str, met: bool) -> None:
        """Add a figure with two values: yes or no."""
        self.figures.append(Figure(name, float(met), 1, at_most=False))

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON; a figure that is infinite or NaN is null."""
        figures = [{**asdict(figure), "met": figure.met} for figure in self.figures]
        for figure in figures:
            figure["measured"] = figure["measured"] if math.isfinite(figure["measured"]) else None
        return {
            "row": self.row,
            "attack": self.attack,
            "met": self.met,
            "figures": figures,
            "facts": self.facts,
        }


def percentile(values: Iterable[float], share: float) -> float:
    """Return the percentile; NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process and its children, in megabytes; 0 when it has ended."""
    try:
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        own_mb = int(match[1]) * 1024 / MB if match else 0.0
    except OSError:
        return 0.0
    return own_mb + sum(rss_mb(child) for child in children(pid))


def children(pid: int) -> list[int]:
    """Return the child processes of all threads of this process."""
    pids: list[int] = []
    for children_file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids += map(int, children_file.read_text().split())
        except OSError:  # the thread has ended
            continue
    return pids


def signal_all(processes: list[int], number: signal.Signals) -> None:
    """Send a signal to processes; skip those that have ended."""
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)


def program_errors(log: str) -> int:
    """Return the number of lines of a log that a correct program does not write."""
    return len(PROGRAM_ERRORS.findall(log))


def last_lines(log: str, count: int = 12) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.splitlines()[-count:])


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through these points."""
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
