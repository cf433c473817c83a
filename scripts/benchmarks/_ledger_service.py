"""Speed of statuses, statements and pages from books with a million swaps, and memory of the service.

The service is `cfnode service run` in a process of its own. Other load on the machine takes time from it, so
figures of requests are those of the best of some rounds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source
from cfnode.testing import DevChain
from cfnode.testing import running_node as running_dev_node
from scripts.benchmarks._ledger_large import Large, multiply
from scripts.benchmarks._page_load import CLIENTS, quantile, timed
from tests.ledger.day import play
from tests.process import command

__all__ = ["large_books"]

MAX_MEMORY = 150 * 1024 * 1024
STATUS_S, STATEMENT_S = 0.020, 0.500
DAY_MS = 86_400_000
STATUSES, ROUNDS = 200, 3
AT_ONCE = 2_000
"""Number of requests of all clients together."""
PAGES: tuple[tuple[str, str, float | None], ...] = (
    ("healthcheck", "/healthcheck", None),
    ("first page", "/web/", 0.300),
)
"""Pages that many clients request at once: name, path, and the maximum seconds, for 99 of 100."""
START_S = 60
TOKEN = "token-of-the-benchmark-0123456789"
Row = tuple[str, str, str, bool | None]


def large_books(kind: str, url: str, swaps: int, folder: Path) -> Iterator[Row]:
    """Yield the rows of one kind of database; its `url` has nothing yet."""
    with running_dev_node(folder / f"node-{kind}") as node, DevChain(node.url) as chain:
        play(node.url, chain)
        database, began = Database(url), time.perf_counter()
        trio.run(lambda: Follower(Source(node.url, first=1), Books(database)).run(once=True))
        large = multiply(database, swaps)
        database.close()
        took = f"{time.perf_counter() - began:,.0f} s to make them"
        yield f"{kind}: swap requests in the large books", f"{large.requests:,} ({took})", "", None
        yield _statement(kind, url, large)
        with _service(node.url, url, folder / f"service-{kind}.log") as (service, process):
            yield from _statuses(kind, service, large)
            yield from _pages(kind, service, _session(service))
            yield _bounded(f"{kind}: memory of the service", _memory(process))


def _statement(kind: str, url: str, large: Large) -> Row:
    start = (large.start + large.end) // 2
    program = [
        sys.executable,
        "-m",
        "scripts.benchmarks._ledger_statement",
        url,
        str(start),
        str(start + DAY_MS),
    ]
    process = subprocess.run(program, check=True, capture_output=True)
    figures = json.loads(process.stdout)
    seconds, memory = min(figures["seconds"]), figures["memory"] / 1024 / 1024
    measured = f"{seconds * 1000:,.0f} ms ({figures['lines']:,} lines, {memory:.0f} MB)"
    target = f"≤ {STATEMENT_S * 1000:.0f} ms"
    return f"{kind}: statement of a day", measured, target, seconds <= STATEMENT_S


@contextmanager
def _service(node: str, database: str, log: Path) -> Iterator[tuple[str, int]]:
    """Run a service; yield address and process id."""
    tokens = log.with_suffix(".token")
    tokens.touch(mode=0o600)
    tokens.write_text(f"{TOKEN}\n")
    page = ("--web", f"--web-token-file={tokens}")
    flags = (f"--node={node}", f"--database={database}", "--listen=127.0.0.1:0", *page)
    with (
        log.open("wb") as stream,
        subprocess.Popen(command("service", "run", *flags), stderr=stream) as process,
    ):
        try:
            deadline = time.monotonic() + START_S
            while (match := re.search(r"Swap service: (\S+)", log.read_text())) is None:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield match[1], process.pid
        finally:
            process.terminate()


def _statuses(kind: str, service: str, large: Large) -> Iterator[Row]:
    addresses = [f"{service}/v2/swaps/{number}" for number in large.swaps(STATUSES)]
    timed(addresses[:5], 1)  # the service reads the books' network, and opens its connections
    rounds = [timed(addresses, 1) for _ in range(ROUNDS)]
    middle, high = (min(quantile(seconds, part) for seconds in rounds) for part in (0.5, 0.99))
    measured = f"{middle * 1000:.1f} ms median, {high * 1000:.1f} ms p99"
    yield f"{kind}: a status", measured, f"≤ {STATUS_S * 1000:.0f} ms", middle <= STATUS_S
    addresses = [f"{service}/v2/swaps/{number}" for number in large.swaps(AT_ONCE)]
    yield _at_once(f"{kind}: a status, {CLIENTS} clients", addresses, None)


def _session(service: str) -> dict[str, str]:
    """Return the headers of a browser that has logged in to the page."""
    answer = httpx.post(f"{service}/web/login", data={"token": TOKEN})
    assert answer.status_code == 303, answer.text
    return {"cookie": "; ".join(f"{name}={value}" for name, value in answer.cookies.items())}


def _pages(kind: str, service: str, headers: dict[str, str]) -> Iterator[Row]:
    for name, path, most in PAGES:
        addresses = [f"{service}{path}"] * AT_ONCE
        timed(addresses[:5], 1, headers)
        yield _at_once(f"{kind}: {name}, {CLIENTS} clients", addresses, most, headers)


def _at_once(
    name: str, addresses: Sequence[str], most: float | None, headers: dict[str, str] | None = None
) -> Row:
    rounds = [timed(addresses, CLIENTS, headers) for _ in range(ROUNDS)]
    seconds = min(rounds, key=lambda measured: quantile(measured, 0.99))
    high, middle = quantile(seconds, 0.99), quantile(seconds, 0.5)
    measured = f"{high * 1000:,.0f} ms p99, {middle * 1000:,.0f} ms median"
    return (
        name,
        measured,
        "" if most is None else f"≤ {most * 1000:.0f} ms",
        None if most is None else high <= most,
    )


def _memory(process: int) -> int:
    """Return the largest memory that a process has had, in bytes."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert match is not None
    return int(match[1]) * 1024


def _bounded(name: str, memory: int) -> Row:
    text = f"≤ {MAX_MEMORY // 1024**2} MB"
    return name, f"{memory / 1024 / 1024:.0f} MB", text, memory <= MAX_MEMORY


def main(arguments: Sequence[Any]) -> None:
    """Measure one database only: `python -m scripts.benchmarks._ledger_service URL SWAPS FOLDER`."""
    url, swaps, folder = arguments
    for row in large_books(url.partition(":")[0], url, int(swaps), Path(folder)):
        print(*row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
