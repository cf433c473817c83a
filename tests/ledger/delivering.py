"""A deliverer that is killed between delivery and mark: `python -m tests.ledger.delivering DATABASE`.

The parent forks one after the other until one of them has nothing left to send. The others die at their first
mark, or at the thirteenth one. Prints how many were killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import trio
from sqlalchemy import select

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import deliveries
from cfnode.ledger.webhooks import deliverer
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace

MAX_KILLS = 200
LEFT = 3
"""Exit code of a deliverer that has left something."""
PACE = Pace(poll_s=0.02, lease_s=0.2, first_pause_s=0.01)


def deliver(url: str, marks: int) -> None:
    """Send what is due, and die before the mark after `marks` of them."""
    left, real = marks, deliverer.mark

    def mark(*about: Any) -> str:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*about)

    deliverer.mark = mark
    database = Database(url)
    trio.run(lambda: Deliverer(database, PACE).run(once=True))
    with database.reading() as connection:
        pending = select(deliveries.c.change).where(deliveries.c.state == "pending")
        os._exit(LEFT if connection.execute(pending).first() else 0)


def main() -> None:
    """Fork deliverers until one of them ends by itself."""
    Database(sys.argv[1]).close()  # opens nothing, and imports what each of them would import
    import httpx  # noqa: F401  # likewise

    for kills in range(MAX_KILLS):
        child = os.fork()
        if child == 0:
            deliver(sys.argv[1], 12 * kills % 24)
        _, status = os.waitpid(child, 0)
        match os.waitstatus_to_exitcode(status):
            case 0:
                print(kills)
                return
            case code if code not in (LEFT, -signal.SIGKILL):
                raise AssertionError(f"a deliverer ended with {code}")
        time.sleep(PACE.lease_s)  # what the dead one had claimed is free again after its lease
    raise AssertionError("no deliverer came to the end")


if __name__ == "__main__":
    main()
