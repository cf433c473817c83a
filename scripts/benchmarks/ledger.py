"""Speed of the ledger's follower on SQLite and on PostgreSQL, its memory, and reads of large books.

A development node makes near-empty blocks, then blocks full of transactions. One follower after the other
reads them, and before each a program that only fetches the same answers: what it takes is the node's part.
Then, one kind after the other: statuses, a statement and pages out of books with a million swap requests,
which take 5 GB in the folder for temporary files (CFNODE_BENCH_SWAPS: another number). At last the reports of
a day and pages of channels, out of books with a tenth of that, compared with the version that
CFNODE_BENCH_BEFORE names. Other load on the machine takes time from all of them, so each figure is the best
of some rounds. `python -m scripts.benchmarks.ledger` prints the reports alone, and `… follow` the following
alone: the processor time of the follower's process for a block, before and after (CFNODE_BENCH_BLOCKS: how
many near-empty blocks).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from cfnode.testing import DevChain
from cfnode.testing import running_node as running_dev_node
from scripts.benchmarks._ledger_reports import report_rows
from scripts.benchmarks._ledger_service import large_books
from scripts.benchmarks._nodes import HERE, before
from scripts.benchmarks.follow import remarks
from tests.ledger.day import play
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.process import NodeProcess, running_node

EMPTY = int(os.environ.get("CFNODE_BENCH_BLOCKS", "1200"))
BUSY = int(os.environ.get("CFNODE_BENCH_BUSY", "140"))
EXTRINSICS = 150
ROUNDS = 3
FINAL_EACH = 20
SWAPS = int(os.environ.get("CFNODE_BENCH_SWAPS", "1000000"))
BLOCKS_S, EVENTS_S, MAX_MEMORY = 200, 5_000, 150 * 1024 * 1024
MAX_BLOCK_RATIO = 0.5
"""Part of the processor time of the version before that the follower may take for a near-empty block."""

POSTGRES = ("max_wal_size=256MB", "autovacuum=off")
"""Settings for less space; the benchmark analyzes tables itself, as a server does within a day."""

Row = tuple[str, str, str, bool | None]
_NUMBERS = count(1)


@contextmanager
def _chain(folder: Path) -> Iterator[NodeProcess]:
    """Run a node that has all blocks and states."""
    flags = ("--dev", "--dev-seal=manual", "--blocks-pruning=archive", "--state-pruning=archive")
    with running_node(folder, *flags, "--no-prometheus") as node:
        for number in range(1, EMPTY + 1):
            node.call("dev_newBlock", {"finalize": number % FINAL_EACH == 0})
        signed = remarks(node, EXTRINSICS * BUSY, 0)
        for start in range(0, len(signed), EXTRINSICS):
            node.call("dev_newBlock", {"transactions": signed[start : start + EXTRINSICS], "finalize": True})
        yield node


def _run(node: NodeProcess, first: int, last: int, database: str, tree: Path = HERE) -> dict[str, Any]:
    """Run the follower of a checkout."""
    program = [sys.executable, "-P", str(Path(__file__).with_name("_ledger_follow.py"))]
    process = subprocess.run(
        [*program, node.url, str(first), str(last), database],
        check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(tree)},
    )  # fmt: skip
    figures: dict[str, Any] = json.loads(process.stdout)
    return figures


def _by_turns(node: NodeProcess, kind: str, database: Callable[[], str]) -> Iterator[Row]:
    """Yield the processor time of the follower's process for a block, before and after."""
    trees = [before_tree, HERE] if (before_tree := before()) is not None else [HERE]
    parts = {
        "near-empty block": (1, EMPTY),
        f"block with {EXTRINSICS} transactions": (EMPTY + 1, EMPTY + BUSY),
    }
    for name, (first, last) in parts.items():
        took = dict[Path, float]()
        for tree in trees * ROUNDS:
            figures = _run(node, first, last, database(), tree)
            seconds = figures["processor"] / figures["blocks"]
            took[tree] = min(seconds, took.get(tree, seconds))
        text, met = f"{took[HERE] * 1e6:,.0f} µs", None
        if before_tree is not None:
            ratio = took[HERE] / took[before_tree]
            text += f"; before {took[before_tree] * 1e6:,.0f} µs: {ratio:.2f}"
            met = ratio <= MAX_BLOCK_RATIO if first == 1 else None
        target = f"≤ {MAX_BLOCK_RATIO}" if first == 1 else ""
        yield f"{kind}: processor time of the follower, a {name}", text, target, met


def _best(node: NodeProcess, first: int, last: int, database: Callable[[], str]) -> dict[str, Any]:
    runs = [_run(node, first, last, database()) for _ in range(ROUNDS)]
    return {
        "seconds": min(figures["seconds"] for figures in runs),
        "memory": max(figures["memory"] for figures in runs),
        "blocks": runs[0]["blocks"],
        "events": runs[0]["events"],
    }


def _rows(node: NodeProcess, kind: str, database: Callable[[], str]) -> list[Row]:
    """Return the rows of one kind of database."""
    empty = _best(node, 1, EMPTY, database)
    busy = _best(node, EMPTY + 1, EMPTY + BUSY, database)
    baselines = [_best(node, *part, lambda: "none") for part in ((1, EMPTY), (EMPTY + 1, EMPTY + BUSY))]
    ratios = [run["seconds"] / fetch["seconds"] for run, fetch in zip((empty, busy), baselines, strict=True)]
    blocks, events = empty["blocks"] / empty["seconds"], busy["events"] / busy["seconds"]
    memory = max(empty["memory"], busy["memory"])
    return [
        (f"{kind}: near-empty blocks followed", f"{blocks:,.0f} blocks/s ({ratios[0]:.1f} × the bare fetch)",
         f"≥ {BLOCKS_S} blocks/s", blocks >= BLOCKS_S),
        (f"{kind}: events of blocks with {EXTRINSICS} transactions",
         f"{events:,.0f} events/s ({ratios[1]:.1f} × the bare fetch)", f"≥ {EVENTS_S:,} events/s",
         events >= EVENTS_S),
        (f"{kind}: memory of the follower", f"{memory / 1024 / 1024:.0f} MB", f"≤ {MAX_MEMORY // 1024**2} MB",
         memory <= MAX_MEMORY),
    ]  # fmt: skip


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    rows: list[Row] = [("load before the ledger's figures", load, "", None)]
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name, _chain(Path(name)) as node:
        rows += _rows(node, "SQLite", lambda: f"sqlite:///{name}/books{next(_NUMBERS)}.sqlite")
        if is_installed():
            with running_postgres() as server:
                rows += _rows(node, "PostgreSQL", lambda: server.new_database(f"books{next(_NUMBERS)}"))
    return [*rows, *_large_books(), *_reports()]


def _large_books() -> Iterator[Row]:
    """Yield the rows of large books, one kind after the other, so that only one needs its space."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name:
        yield from large_books("SQLite", f"sqlite:///{name}/large.sqlite", SWAPS, Path(name))
    if not is_installed():
        yield "PostgreSQL", MISSING, "", None
        return
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name, running_postgres(*POSTGRES) as server:
        yield from large_books("PostgreSQL", server.new_database("large"), SWAPS, Path(name))


def _reports() -> Iterator[Row]:
    """Yield the rows of reports and pages."""
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="cfnode-bench-"))
        node = stack.enter_context(running_dev_node(Path(name) / "node"))
        play(node.url, stack.enter_context(DevChain(node.url)))
        yield from report_rows("SQLite", node.url, f"sqlite:///{name}/reports.sqlite")
        if is_installed():
            server = stack.enter_context(running_postgres(*POSTGRES))
            yield from report_rows("PostgreSQL", node.url, server.new_database("reports"))


def _following() -> Iterator[Row]:
    """Yield the processor times of following."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as name, _chain(Path(name)) as node:
        yield from _by_turns(node, "SQLite", lambda: f"sqlite:///{name}/turn{next(_NUMBERS)}.sqlite")
        if is_installed():
            with running_postgres() as server:
                yield from _by_turns(node, "PostgreSQL", lambda: server.new_database(f"turn{next(_NUMBERS)}"))


if __name__ == "__main__":
    for line in _following() if sys.argv[1:] == ["follow"] else _reports():
        print(*line, sep="  ", flush=True)
