"""Followers and services that start at once: `python -m tests.ledger.forked NODE DATABASE`.

Each line of standard input, `follower` or `service`, asks for a new one, a fork of this process, which has
imported everything already. Its process id is printed, and behind it the port of a service.
"""

from __future__ import annotations

import os
import signal
import sys

import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source
from cfnode.swap_service.live_network.server import ListenAddress, serve
from cfnode.swap_service.live_network.source import LiveSource


def follow(node: str, url: str) -> None:
    """Follow until killed."""
    print(os.getpid(), flush=True)
    trio.run(Follower(Source(node, first=1), Books(Database(url))).run)


def answer(node: str, url: str) -> None:
    """Serve until killed, with the node's broker."""

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            source = LiveSource(Database(url), (node, None), (node, None))
            port = await nursery.start(serve, source, ListenAddress("127.0.0.1", 0))
            print(os.getpid(), port, flush=True)

    trio.run(run)


START = {"follower": follow, "service": answer}


def main() -> None:
    """Fork one for each line."""
    node, url = sys.argv[1], sys.argv[2]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that were killed
    while line := sys.stdin.readline():
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            START[line.strip()](node, url)
            os._exit(1)


if __name__ == "__main__":
    main()
