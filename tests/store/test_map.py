"""The map of the database: reads do not wait for its growth, and it is small in a limited address space."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cfnode.store.database import LARGE_MAP, SMALL_MAP, LmdbDatabase
from tests.conftest import ROOT
from tests.support.store.rows import get, put
from tests.support.waiting import LIMIT_S

ROW = bytes(8 << 20)
ROWS = 2 * SMALL_MAP // len(ROW)


def test_a_long_read_delays_neither_a_write_of_much_nor_other_reads(tmp_path: Path) -> None:
    """Let a long read delay neither large writes nor other reads, since the map is large from the start."""
    database = LmdbDatabase(tmp_path, sync=False)
    put(database, b"key", b"before")
    values: list[bytes | None] = []

    def work() -> None:
        for number in range(ROWS):
            put(database, b"row %d" % number, ROW)
        values.append(get(database, b"key"))

    worker = threading.Thread(target=work, daemon=True)
    with database.read() as txn:
        worker.start()
        worker.join(LIMIT_S)
        assert values == [b"before"], "it waits until this snapshot ends"
        assert txn.get(b"row 0", db=database.table("bodies")) is None
    assert database.used > SMALL_MAP
    taken = (tmp_path / "data.mdb").stat().st_blocks * 512
    assert taken < 2 * ROWS * len(ROW), "the rest of the map takes no disk"
    assert database.map_size == LARGE_MAP
    database.close()


LIMITED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
from cfnode.store.database import LmdbDatabase
from tests.support.store.rows import get, put

database = LmdbDatabase(Path(sys.argv[1]), sync=False)
print(database.map_size)
for number in range(12):
    put(database, b"row %d" % number, bytes(8 << 20))
print(get(database, b"row 11") == bytes(8 << 20), database.map_size)
"""


@pytest.mark.world
@pytest.mark.parametrize("limit", [1 << 30, 1 << 36])
def test_where_the_address_space_is_limited_the_map_is_small_and_grows(tmp_path: Path, limit: int) -> None:
    """Begin with a small map that grows where the address space is limited."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == [str(SMALL_MAP), "True", str(2 * SMALL_MAP)]


def test_more_address_space_than_the_system_has_makes_the_map_small(tmp_path: Path) -> None:
    """Fall back to a small map where the system grants no larger one."""
    database = LmdbDatabase(tmp_path, map_size=1 << 50)
    assert database.map_size == SMALL_MAP
    put(database, b"key", bytes(SMALL_MAP))
    assert database.map_size > SMALL_MAP
    database.close()
