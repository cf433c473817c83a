"""A read of every row of a database, in a process that may die.

LMDB reads through a memory map: where a file has been truncated, a read returns no error but ends the process
by a signal. So another process tries it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import lmdb

from cfnode.store.isolated import SEARCH, isolated_python

MAX_TABLES = 64
_START = SEARCH + "from cfnode.store.verify import read_all; read_all(sys.argv[1])"


def survives_reading(path: Path) -> bool:
    """Return whether a process that reads all rows of all tables survives."""
    command = isolated_python(_START, str(path))
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def read_all(path: str) -> int:
    """Read every row; return the number of their bytes."""
    with (
        lmdb.open(path, readonly=True, create=False, max_dbs=MAX_TABLES) as environment,
        environment.begin() as txn,
    ):
        tables = [environment.open_db(name, txn, create=False) for name, _ in txn.cursor()]
        return sum(len(key) + len(bytes(value)) for table in tables for key, value in txn.cursor(table))
