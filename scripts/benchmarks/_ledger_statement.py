"""Measured statement of a day.

`python -m scripts.benchmarks._ledger_statement DATABASE START END`. START and END are Unix ms. Prints as JSON
the lines, the seconds of each of some rounds, and the largest memory of this process in bytes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

from cfnode.ledger.database import Database
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement

ROUNDS = 5


def main() -> None:
    """Read the lines of a statement in each round, and print the figures."""
    database, start, end = Database(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    seconds, lines = [], 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        lines = sum(1 for _ in LedgerStatement(database, CalendarPeriod("a day", start, end)).lines())
        seconds.append(time.perf_counter() - began)
    # Not `ru_maxrss`, which may be that of the process that has started this one.
    match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    memory = int(match[1]) * 1024
    print(json.dumps({"lines": lines, "seconds": seconds, "memory": memory}))


if __name__ == "__main__":
    main()
