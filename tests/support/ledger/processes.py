"""Processes of `cfnode ledger run`, and waiting for their books."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from tests import process
from tests.conftest import ROOT

TAKEOVER_S = 10.0
LIMIT_S = 120.0
"""Far above what is waited for, so that only a hang fails."""
_NUMBERS = count(1)


class LedgerProcess:
    """A running `cfnode ledger run`."""

    def __init__(self, folder: Path, node: str, database: str, *flags: str) -> None:
        self.log_path = folder / f"ledger{next(_NUMBERS)}.log"
        line = process.command("ledger", "run", "--node", node, "--database", database, *flags)
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(line, stderr=log, env=process.environment(folder), cwd=ROOT)

    def wait_for(self, text: str) -> None:
        """Wait until a line of its log has the text."""
        deadline = time.monotonic() + LIMIT_S
        while not re.search(text, self.log_path.read_text()):
            assert self.process.poll() is None, self.log_path.read_text()
            assert time.monotonic() < deadline, self.log_path.read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill -9, if it runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextmanager
def following(folder: Path, node: str, database: str, *flags: str) -> Iterator[LedgerProcess]:
    """Yield a follower in a process of its own, killed at the end."""
    ledger = LedgerProcess(folder, node, database, *flags)
    try:
        yield ledger
    finally:
        ledger.kill()


def wait_for_block(url: str, number: int) -> None:
    """Wait until the books have a block."""
    deadline, books = time.monotonic() + LIMIT_S, Books(Database(url))
    while (tip := books.tip()) is None or tip.number < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def leading(first: LedgerProcess, second: LedgerProcess) -> tuple[LedgerProcess, LedgerProcess]:
    """Return the follower, and the one that waits for its end."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for one, other in ((first, second), (second, first)):
            if "Another process writes" in other.log_path.read_text():
                return one, other
        time.sleep(0.02)
    raise AssertionError(first.log_path.read_text() + second.log_path.read_text())
