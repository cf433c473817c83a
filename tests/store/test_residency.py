"""Which pages of a mapped file the process keeps in memory, and which it releases."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cfnode.store.database import LmdbDatabase
from cfnode.store.residency import release_pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

SIZE = 32 << 20


def resident(file: Path) -> int:
    """Return bytes of the file's mapping in the resident set, from /proc/self/smaps."""
    here, total = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            here = line.endswith(str(file))
        elif here and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def test_pages_beyond_the_bound_are_released_and_can_be_read_again(tmp_path: Path) -> None:
    """Release pages beyond the bound, and read them again from the file."""
    file = tmp_path.resolve() / "data.mdb"
    database = LmdbDatabase(tmp_path, sync=False)
    table = database.table("bodies")
    database.write(lambda txn: txn.put(b"large", b"\7" * SIZE, db=table))
    with database.read() as txn:
        assert txn.get(b"large", db=table) == b"\7" * SIZE
        assert resident(file) >= SIZE
        assert not release_pages(file, limit=1 << 40)
        assert resident(file) >= SIZE
        assert release_pages(file, limit=0)
        assert resident(file) < 1 << 20
        assert txn.get(b"large", db=table) == b"\7" * SIZE
    database.close()


def test_for_a_file_that_is_not_mapped_nothing_is_released(tmp_path: Path) -> None:
    """Release nothing of a file that is not mapped."""
    assert not release_pages(tmp_path / "data.mdb", limit=0)
