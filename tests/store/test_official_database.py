"""The official node's database is renamed whole; where a node uses it, and any other directory, stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cfnode.store.base_path import ChainPaths, delete_database, open_database_path
from cfnode.store.errors import BasePathError
from cfnode.store.official_database import MAX_SET_ASIDE, set_aside_official_database
from tests.support.store.official import ROCKSDB, names, with_rocksdb

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> ChainPaths:
    """Return a base path with the official node's database."""
    return with_rocksdb(ChainPaths(tmp_path / "base", "Chainflip-Berghain"))


def test_it_is_renamed_with_all_its_files(paths: ChainPaths) -> None:
    """Rename the official database with all its files, and make room for our own."""
    aside = set_aside_official_database(paths)
    assert aside == paths.database.with_name("full_light.rocksdb-1")
    assert {path.name: path.read_text() for path in aside.iterdir()} == {name: name for name in ROCKSDB}
    assert not paths.database.exists()
    open_database_path(paths)
    assert set_aside_official_database(paths) is None


def test_a_second_one_gets_the_next_name_and_no_deletion_touches_them(paths: ChainPaths) -> None:
    """Give a second one the next name, and delete neither with our own database."""
    set_aside_official_database(paths)
    set_aside_official_database(with_rocksdb(paths))
    open_database_path(paths)
    assert delete_database(paths)
    assert names(paths.database.parent) == ["full_light.rocksdb-1", "full_light.rocksdb-2"]


def test_too_many_are_refused_with_the_way_out(paths: ChainPaths) -> None:
    """Refuse to set aside more than the limit, and say what to do."""
    for _ in range(MAX_SET_ASIDE):
        set_aside_official_database(paths)
        with_rocksdb(paths)
    with pytest.raises(BasePathError, match="delete those that you do not need"):
        set_aside_official_database(paths)
    assert names(paths.database) == sorted(ROCKSDB)


def test_a_database_in_use_stays(paths: ChainPaths) -> None:
    """Leave a database alone that another node has locked, until it is free."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(paths.database / "LOCK")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(BasePathError, match="in use by another node: stop that one"):
            set_aside_official_database(paths)
        holder.communicate(timeout=60)
    assert names(paths.database) == sorted(ROCKSDB)
    assert set_aside_official_database(paths) is not None


@pytest.mark.parametrize(
    "present",
    [(), ("data.mdb", "lock.mdb"), ("CURRENT",), ("CURRENT", "MANIFEST-1", "data.mdb"), ("notes.txt",)],
)
def test_other_directories_stay(tmp_path: Path, present: tuple[str, ...]) -> None:
    """Leave directories alone that are not an official database."""
    paths = ChainPaths(tmp_path, "dev")
    paths.database.mkdir(parents=True)
    for name in present:
        (paths.database / name).touch()
    assert set_aside_official_database(paths) is None
    assert names(paths.database) == sorted(present)


def test_a_linked_database_is_refused(paths: ChainPaths, tmp_path: Path) -> None:
    """Refuse an official database behind a symbolic link."""
    (tmp_path / "link").symlink_to(paths.base)
    with pytest.raises(BasePathError, match="symbolic link"):
        set_aside_official_database(ChainPaths(tmp_path / "link", "Chainflip-Berghain"))
    assert names(paths.database) == sorted(ROCKSDB)
