"""Load of an attack on a node: its answers and memory, and the users that it still serves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.redteam_suite import figures
from scripts.redteam_suite.figures import Result, last_lines, percentile, program_errors
from scripts.redteam_suite.observers import Looks, Watch, attacking, honest, probe
from scripts.redteam_suite.stage import Node, Stage

MIN_ANSWERED = 95.0
"""Percent of the honest peer's requests; a client's and a broker's calls must all succeed."""
EDGE_S = 1.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the phases of a row."""

    idle: float = 5.0
    attack: float = 15.0
    rest: float = 60.0

    @classmethod
    def quick(cls) -> Times:
        """Return the times of a run of a few seconds."""
        return cls(2.0, 5.0, 15.0)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time."""

    begin: float
    end: float

    def of(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the rows that begin within the span."""
        return [row for row in rows if self.begin <= row[0] < self.end]

    def touching(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the rows of (when, seconds, …) that overlap with the span."""
        return [row for row in rows if row[0] < self.end and row[0] + row[1] > self.begin]


@dataclass(frozen=True, slots=True)
class Seen:
    """Measurements of a row, and the time of the attack."""

    idle: Span
    attack: Span
    probe: dict[str, Any]
    honest: dict[str, Any]
    looks: Looks
    rss_before: float
    rss_after: float


def watch(row: str, stage: Stage, node: Node, times: Times, log: Path) -> Seen:
    """Attack the node, with all observers running."""
    target = stage.target(node)
    with ExitStack() as stack:
        asking, honest_callers = probe(node), honest(target, "client", "broker", "peer")
        for helper in (asking, honest_callers):
            stack.callback(helper.kill)
        watching = Watch(node, stage.author)
        stack.callback(watching.close)
        time.sleep(EDGE_S * 3)
        idle, rss_before = _span(times.idle), node.rss
        with attacking(row, target, times.attack + 60, log) if row != "0" else nullcontext():
            attack = _span(times.attack)
        time.sleep(times.rest)
        rss_after, looks = node.rss, watching.close()
        return Seen(idle, attack, asking.end(), honest_callers.end(), looks, rss_before, rss_after)


def _span(seconds: float) -> Span:
    began = time.monotonic()
    time.sleep(seconds)
    return Span(began, time.monotonic())


def judge(result: Result, observed: Seen, node: Node, *, pauses: bool = True) -> None:
    """Add the figures of a load. `pauses`: whether the bound on pauses applies."""
    if pauses:
        _judge_pauses(result, observed)
    peak = max(
        (size for _, size in Span(observed.attack.begin, observed.attack.end + 5).of(observed.looks.memory)),
        default=0,
    )
    result.add("RSS", peak, figures.MAX_RSS_MB, " MB")
    result.add("RSS after", observed.rss_after, figures.MAX_GROWTH * observed.rss_before, " MB")
    judge_lag(result, observed)
    _judge_honest(result, observed)
    result.add("program errors", program_errors(node.log), 0)
    result.check("alive", node.is_alive)


def _judge_pauses(result: Result, observed: Seen) -> None:
    idle, attacked = (
        observed.idle.of(observed.probe["samples"]),
        observed.attack.of(observed.probe["samples"]),
    )
    idle_p99 = 1e3 * percentile((seconds for _, seconds, _ in idle), 0.99)
    ratio = figures.MAX_RATIO * idle_p99
    p99 = 1e3 * percentile((seconds for _, seconds, _ in attacked), 0.99)
    pause = 1e3 * max((own_pause for _, _, own_pause in attacked), default=0.0)
    result.add("p99", p99, max(figures.MAX_P99_MS, ratio), " ms")
    result.add("pause", pause, max(figures.MAX_PAUSE_MS, ratio), " ms")
    result.facts |= {
        "idle p99 ms": idle_p99,
        "p50 ms": 1e3 * percentile((seconds for _, seconds, _ in attacked), 0.5),
        "max ms": 1e3 * max((seconds for _, seconds, _ in attacked), default=0.0),
        "asked": len(attacked),
        "probe connections lost": observed.probe["lost"],
        "RSS before MB": observed.rss_before,
    }


def judge_lag(result: Result, observed: Seen) -> None:
    """Add the figure of the blocks that the node was behind during the attack."""
    lags = observed.looks.lag(observed.attack.begin, observed.attack.end + EDGE_S)
    result.add("lag", max(lags, default=float("nan")), figures.MAX_LAG, " blocks")


def _judge_honest(result: Result, observed: Seen) -> None:
    """Add the figures of calls in progress during the attack, with their later results."""
    for name in ("client", "broker", "peer"):
        rows = observed.attack.touching(observed.honest[name])
        answered = sum(answer is not None for _, _, answer, _ in rows)
        share = 100.0 * answered / len(rows) if rows else float("nan")
        min_share = MIN_ANSWERED if name == "peer" else 100.0
        result.add(f"{name} answered", share, min_share, " %", at_most=False)
        refused = [reason for _, _, _, reason in rows if reason]
        slowest = max((seconds for _, seconds, _, _ in rows), default=0.0)
        result.facts[name] = {
            "asked": len(rows),
            "answered": answered,
            "slowest s": slowest,
            "why": refused[:3],
        }
    lost = observed.honest["peer_lost"]
    result.add("honest peer lost", lost, 0)


def play(result: Result, stage: Stage, node: Node, times: Times, log: Path, *, pauses: bool = True) -> None:
    """Play one row against a synced node."""
    observed = watch(result.row, stage, node, times, log)
    judge(result, observed, node, pauses=pauses)
    if not result.met:
        result.log = last_lines(node.log)
