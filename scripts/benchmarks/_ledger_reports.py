"""Speed of the reports of a day, and of pages of channels, compared with an older version of cfnode.

If CFNODE_BENCH_BEFORE names a checkout of an older version, that version makes and reads the books first;
then this one upgrades them, and has to read as many records, which may have more members. Each version runs
in a process of its own: `python FILE make NODE DATABASE SWAPS`, `python FILE migrate DATABASE`, `python FILE
measure DATABASE`. Figures are processor time of the reader and of the server's process, the least of some
rounds: other load on the machine does not count. CFNODE_BENCH_REPORT_SWAPS: another number of swaps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.open_channels import channel_of, open_channels, open_count
from cfnode.ledger.reports import Period, report

try:
    from cfnode.ledger.recent_swaps import failed_payouts, recent_swaps
    from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
except ImportError:  # as 519dc40e names them
    from cfnode.ledger.present import failed_payouts, recent_swaps  # type: ignore[import-not-found, no-redef]

    from cfnode.ledger.statements import Month as CalendarPeriod  # type: ignore[attr-defined, no-redef]
    from cfnode.ledger.statements import Statement as LedgerStatement  # type: ignore[attr-defined, no-redef]

__all__ = ["report_rows"]

ROOT = Path(__file__).parents[2]
SWAPS = int(os.environ.get("CFNODE_BENCH_REPORT_SWAPS", "100000"))
ROUNDS = 5
DAY_MS = 86_400_000
BACK_MS = 100 * DAY_MS
"""Milliseconds from the measured day's start to the last block."""
MAX_S = 0.050
NAMES = ("swaps", "channels", "fees", "commissions", "payouts", "unread")
Row = tuple[str, str, str, bool | None]
Measured = dict[str, tuple[float, int]]
"""Processor seconds and number of records, by figure."""


def report_rows(kind: str, node: str, url: str) -> Iterator[Row]:
    """Yield the rows of one kind of database; its `url` has nothing yet, the node has a day of business."""
    named = os.environ.get("CFNODE_BENCH_BEFORE")
    before = None if not named else Path(named).absolute()
    _run(before or ROOT, "make", node, url, str(SWAPS))
    was: Measured | None = None if before is None else _run(before, "measure", url)
    began = time.perf_counter()
    if before is not None:
        _run(ROOT, "migrate", url)
    took = f"; upgraded in {time.perf_counter() - began:.1f} s" if before is not None else ""
    yield f"{kind}: swap requests in the books of the reports", f"{SWAPS:,}{took}", "", None
    now: Measured = _run(ROOT, "measure", url)
    for name, (seconds, count) in now.items():
        text = f"{seconds * 1000:,.1f} ms ({count:,} records)"
        if was is not None:
            assert was[name][1] == count, f"{name} has other records than in the version before"
            text += f"; before {was[name][0] * 1000:,.1f} ms: {was[name][0] / seconds:.1f} ×"
        yield f"{kind}: {name}", text, f"≤ {MAX_S * 1000:.0f} ms", seconds <= MAX_S


def _run(tree: Path, *order: str) -> Any:
    """Run this file with the packages of a checkout, and return its JSON."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, str(Path(__file__).absolute()), *order]
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _figures(database: Database) -> dict[str, Callable[[], Any]]:
    """Return what is measured by name; each returns records."""
    with database.reading() as connection:
        last, channel, account = _chosen(connection)
    start = last - BACK_MS
    day, month = Period(start, start + DAY_MS), CalendarPeriod("a day", start, start + DAY_MS)

    def read(look: Callable[[Connection], Any]) -> Any:
        with database.reading() as connection:
            return look(connection)

    def reported(name: str, of: str | None) -> list[Any]:
        return [list(record.items()) for record in report(database, name, day, of)]

    calls: dict[str, Callable[[], Any]] = {
        f"report {name} of a day": partial(reported, name, None) for name in NAMES
    }
    calls["report fees of a day, one account"] = lambda: reported("fees", account)
    calls["statement of a day, one account"] = lambda: list(LedgerStatement(database, month, account).lines())
    calls["page of a channel"] = lambda: [read(lambda books: channel_of(books, *channel))]
    calls["page of open channels"] = lambda: read(open_channels)
    calls["page now: open channels"] = lambda: [read(open_count)]
    calls["page now: swaps"] = lambda: read(recent_swaps)
    calls["page of failed payouts"] = lambda: read(failed_payouts)
    return calls


def _chosen(connection: Connection) -> tuple[int, tuple[str, int], str]:
    """Return the time of the last block, a channel from among the first ones, and an account of the fees."""
    blocks, channels, fees = schema.blocks.c, schema.channels.c, schema.fees.c
    last = connection.execute(select(func.max(blocks.time))).scalar_one()
    opened = select(channels.chain, channels.channel).order_by(channels.block, channels.event)
    chain, number = connection.execute(opened.limit(1).offset(SWAPS // 10)).one()
    most = select(fees.account).where(fees.account.is_not(None)).group_by(fees.account)
    account = connection.execute(most.order_by(func.count().desc(), fees.account).limit(1)).scalar_one()
    return last, (chain, number), account


def _measure(url: str) -> Measured:
    database, measured = Database(url), Measured()
    for name, look in _figures(database).items():
        seconds, records = [], None
        for _ in range(ROUNDS):
            began = _spent(database)
            records = look()
            seconds.append(_spent(database) - began)
        measured[name] = (min(seconds), len(records or ()))
    return measured


def _spent(database: Database) -> float:
    """Return the processor seconds of this process, and of the process of PostgreSQL that serves it."""
    seconds = time.process_time()
    if not database.is_sqlite:
        with database.reading() as connection:
            server = connection.execute(select(func.pg_backend_pid())).scalar_one()
        seconds += int(Path(f"/proc/{server}/schedstat").read_text().split()[0]) / 1e9
    return seconds


def _make(node: str, url: str, swaps: str) -> None:
    import trio

    from cfnode.ledger.books import Books
    from cfnode.ledger.follower import Follower, Source
    from scripts.benchmarks._ledger_large import multiply

    database = Database(url)
    trio.run(lambda: Follower(Source(node, first=1), Books(database)).run(once=True))
    multiply(database, int(swaps))
    database.close()


def main(order: str, *arguments: str) -> None:
    """Do one step, and print its outcome as JSON."""
    steps: dict[str, Callable[..., Any]] = {
        "make": _make,
        "migrate": lambda url: Database(url).migrate(),
        "measure": _measure,
    }
    print(json.dumps(steps[order](*arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
