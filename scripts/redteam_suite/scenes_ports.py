"""Scenes of clients' attacks on each listening port of a node and of a swap service: rows 23 to 29."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from scripts.redteam_suite.figures import MAX_IN_S, MAX_P99_MS, MAX_RATIO, Result, last_lines, program_errors
from scripts.redteam_suite.load import Times
from tests.support.serving.attacking import attacking
from tests.support.serving.attacks import ATTACKS
from tests.support.serving.programs import PORTS, Honest, Program, running_programs

MAX_BUSY_S = 5.0
"""Seconds after which the process is idle once the attackers have left."""
BUSY_SHARE = 0.3
"""Share of a processor that an idle process may use: a development node makes blocks."""
SPARE_SOCKETS = 3
MAX_MORE_MB = 60.0
GIVE_UP_S = 60.0


def attacks_on(name: str) -> Callable[[Result, Path, Times], None]:
    """Return the function that plays all attacks on one port, one after another."""

    def play(result: Result, folder: Path, times: Times) -> None:
        with running_programs(folder, PORTS[name]) as programs:
            program = programs[PORTS[name]]
            with Honest(program, program.targets[name]) as honest:
                idle = honest.p99(times.idle) * 1_000
            result.facts["idle p99"] = idle
            for attack in ATTACKS:
                _play(result, program, name, attack, idle, times)
            result.add("program errors", program_errors(program.log), 0)
            if not result.met:
                result.log = last_lines(program.log)

    return play


def _play(result: Result, program: Program, name: str, attack: str, idle: float, times: Times) -> None:
    target, sockets, memory = program.targets[name], program.sockets, program.rss_kib
    with Honest(program, target) as honest, attacking(attack, target):
        with Honest(program, target):  # a newcomer has a place, or the row fails
            pass
        p99 = honest.p99(times.attack / 3) * 1_000
    result.add(f"{attack}: p99", p99, max(MAX_P99_MS, MAX_RATIO * idle), " ms")
    result.add(f"{attack}: odd answers", len(target.odd), 0)
    target.odd.clear()
    busy_s = _seconds_until(lambda: program.is_idle(BUSY_SHARE))
    result.add(f"{attack}: busy after", busy_s, MAX_BUSY_S, " s")
    held_s = _seconds_until(lambda: program.sockets <= sockets + SPARE_SOCKETS)
    result.add(f"{attack}: connections held after", busy_s + held_s, MAX_IN_S, " s")
    result.add(f"{attack}: more memory", (program.rss_kib - memory) / 1_000, MAX_MORE_MB, " MB")


def _seconds_until(met: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not met() and time.monotonic() - began < GIVE_UP_S:
        time.sleep(0.05)
    return time.monotonic() - began
