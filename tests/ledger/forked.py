"""Followers that start at once: `python -m tests.ledger.forked NODE DATABASE`.

Each line of standard input asks for a new follower, a fork of this process, which has imported everything
already. Its process id is printed.
"""

from __future__ import annotations

import os
import signal
import sys

import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source


def follow(node: str, url: str) -> None:
    """Follow until killed."""
    trio.run(Follower(Source(node, first=1), Books(Database(url))).run)


def main() -> None:
    """Fork a follower for each line."""
    node, url = sys.argv[1], sys.argv[2]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that were killed
    while sys.stdin.readline():
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            follow(node, url)
            os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    main()
