"""Start of a development node, and the memory of an idle one: processor time and resident bytes.

The processes' own figures, so other programs on the machine do not count. If CFNODE_BENCH_BEFORE names a
checkout of an older version, both are started by turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.benchmarks._nodes import HERE, Connection, MeasuredNode, before, development_node

ROUNDS = int(os.environ.get("CFNODE_BENCH_ROUNDS", "3"))
IDLE_S = 5.0
"""Seconds from the first answer to a read of the memory."""
MAX_S, MAX_MB = 0.8, 105.0

Row = tuple[str, str, str, bool | None]


def _started(tree: Path) -> tuple[float, float, float, float]:
    """Return the processor seconds of node and executor, and the megabytes that they have then."""
    with development_node(tree) as node:
        connection = Connection(node.port)
        connection.call("dev_newBlock")
        connection.close()
        first, rest = _parts(node)
        time.sleep(IDLE_S)
        own = MeasuredNode(node.pid, node.port).memory
        return first, rest, own / 1e6, node.processor_s


def _parts(node: MeasuredNode) -> tuple[float, float]:
    total, own = node.processor_s, node.own_processor_s
    return own, total - own


def run() -> Iterator[Row]:
    """Yield the rows of the table."""
    older = before()
    now, was = list[tuple[float, ...]](), list[tuple[float, ...]]()
    for _ in range(ROUNDS):
        now.append(_started(HERE))
        if older is not None:
            was.append(_started(older))
    node_s, executor_s, memory, _ = (min(column) for column in zip(*now, strict=True))
    text = f"{node_s + executor_s:.2f} s (node {node_s:.2f}, executor {executor_s:.2f})"
    memory_text = f"{memory:.0f} MB"
    if was:
        node_before, executor_before, memory_before, _ = (min(column) for column in zip(*was, strict=True))
        total = node_before + executor_before
        text += f"; before {total:.2f} s ({node_before:.2f}, {executor_before:.2f})"
        memory_text += f"; before {memory_before:.0f} MB"
    total_s = node_s + executor_s
    yield "processor time of a start, until the first block", text, f"≤ {MAX_S} s", total_s <= MAX_S
    yield "memory of node and executor, idle", memory_text, f"≤ {MAX_MB:.0f} MB", memory <= MAX_MB


if __name__ == "__main__":
    for line in run():
        print(*line, sep=" | ")
