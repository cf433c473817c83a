"""A follower that is killed again and again: `python -m tests.ledger.killed NODE DATABASE STEP`.

With `migrate` for NODE, it only makes or upgrades the tables.

The parent forks one follower after the other. Each kills itself before one of its statements: the first one
before statement STEP, the next before 2 × STEP and so on, counted from its own start, until one comes to the
end. Prints how many were killed.
"""

from __future__ import annotations

import os
import signal
import sys

import trio
from sqlalchemy import event
from sqlalchemy.engine import Engine

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Follower, Source

MAX_KILLS = 1_000


def follow(node: str, url: str, fatal: int) -> None:
    """Follow to the finalized head, but die before a statement."""
    left = fatal

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    database = Database(url)
    if node == "migrate":
        database.migrate()
    else:
        trio.run(lambda: Follower(Source(node, first=1), Books(database)).run(once=True))
    database.close()


def main() -> None:
    """Fork followers until one of them lives."""
    node, url, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for kills in range(MAX_KILLS):
        child = os.fork()
        if child == 0:
            follow(node, url, step * (kills + 1))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            print(kills)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError(f"none of {MAX_KILLS} followers lived")


if __name__ == "__main__":
    main()
