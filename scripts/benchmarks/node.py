"""Time of a development node to its first answer, and its memory when idle."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.process import running_node

STARTS = 3
IDLE_S = 8.0
"""Seconds that suffice for the first blocks, and for the release of memory that only a start needs."""


def _rss_mb(pid: int) -> float:
    line = next(
        text for text in Path(f"/proc/{pid}/status").read_text().splitlines() if text.startswith("VmRSS")
    )
    return int(line.split()[1]) * 1024 / 1e6


def _start_s(folder: Path, index: int) -> float:
    began = time.perf_counter()
    with running_node(folder, "--dev", "--tmp", log_name=f"{index}.log") as node:
        node.call("system_health")
        return time.perf_counter() - began


def _idle_mb(folder: Path) -> tuple[float, float]:
    """Return the resident memory of the node and of its executor process, in megabytes."""
    with running_node(folder, "--dev", "--tmp", log_name="idle.log") as node:
        time.sleep(IDLE_S)
        pid = node.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return _rss_mb(pid), sum(_rss_mb(int(child)) for child in children)


def run() -> list[tuple[str, str, str, bool | None]]:
    """Return the rows of the table."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        folder = Path(name)
        start = sorted(_start_s(folder, index) for index in range(STARTS))[STARTS // 2]
        node, executor = _idle_mb(folder)
    idle = f"{node + executor:.0f} MB ({node:.0f} and its executor {executor:.0f})"
    return [
        ("`cfnode run --dev` to the first answered call", f"{start:.2f} s", "≤ 2 s", start <= 2.0),
        ("memory (RSS) of an idle development node", idle, "≤ 150 MB", node + executor <= 150),
    ]
