"""Time that a page takes, for one client and for many at once.

`python -m scripts.benchmarks._page_load URL [CLIENTS [REQUESTS]]` prints the quantiles for clients that each
ask again as soon as they have an answer, each on a connection of its own. `timed` is for programs.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["quantile", "timed"]

CLIENTS, REQUESTS = 50, 20


def timed(urls: Sequence[str], clients: int = CLIENTS, headers: dict[str, str] | None = None) -> list[float]:
    """Return the seconds of each request.

    Client `n` requests each `clients`-th of the addresses, from `n` on. They begin when all are connected.
    Raises AssertionError for another status than 200.
    """
    times: list[list[float]] = [[] for _ in range(clients)]
    faults: list[str] = []
    ready = threading.Barrier(clients)

    def ask(number: int) -> None:
        parts = urlsplit(urls[0])
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        connection.connect()
        ready.wait()
        for url in urls[number::clients]:
            path = url.partition(parts.netloc)[2] or "/"
            began = time.perf_counter()
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            body = answer.read()
            times[number].append(time.perf_counter() - began)
            if answer.status != 200:
                faults.append(f"{path}: {answer.status} {body[:200]!r}")
        connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[0]
    return [seconds for part in times for seconds in part]


def quantile(seconds: Sequence[float], part: float) -> float:
    """Return the value that this part of all does not exceed."""
    ordered = sorted(seconds)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]


def main() -> None:
    """Print the quantiles of one page."""
    url, *counts = sys.argv[1:]
    clients, requests = (*map(int, counts), *(CLIENTS, REQUESTS)[len(counts) :])
    seconds = timed([url] * clients * requests, clients)
    printed = ", ".join(
        f"p{part * 100:g} {quantile(seconds, part) * 1000:.0f} ms" for part in (0.5, 0.9, 0.99)
    )
    print(f"{url}, {clients} clients, {len(seconds)} requests: {printed}")


if __name__ == "__main__":
    main()
