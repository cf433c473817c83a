"""What the store does to a base path, and what it refuses to touch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cfnode.store.base_path import (
    ChainPaths,
    default_base_path,
    delete_database,
    locked,
    open_database_path,
)
from cfnode.store.errors import BasePathError, StoreError


@pytest.fixture
def paths(tmp_path: Path) -> ChainPaths:
    """Return the paths of a development chain."""
    return ChainPaths(tmp_path / "base", "dev")


def with_database(paths: ChainPaths) -> ChainPaths:
    """Create a database with some content."""
    database = open_database_path(paths)
    (database / "data.mdb").write_bytes(b"old")
    (database / "lock.mdb").write_bytes(b"")
    return paths


def test_the_layout_is_the_one_operators_know(tmp_path: Path) -> None:
    """Lay out a base path as operators know it from Substrate, without creating anything."""
    paths = ChainPaths(tmp_path, "Chainflip-Berghain")
    assert paths.database == tmp_path / "chains/Chainflip-Berghain/db/full_light"
    assert paths.keystore == tmp_path / "chains/Chainflip-Berghain/keystore"
    assert paths.network == tmp_path / "chains/Chainflip-Berghain/network"
    assert not (tmp_path / "chains").exists()


def test_the_default_base_path_follows_xdg() -> None:
    """Follow XDG for the default base path, and ask for --base-path where there is no home."""
    assert default_base_path({"XDG_DATA_HOME": "/data", "HOME": "/home/ann"}) == Path("/data/cfnode")
    assert default_base_path({"HOME": "/home/ann"}) == Path("/home/ann/.local/share/cfnode")
    assert default_base_path({"XDG_DATA_HOME": "data", "HOME": "/h"}) == Path("/h/.local/share/cfnode")
    with pytest.raises(BasePathError, match="--base-path"):
        default_base_path({})


@pytest.mark.parametrize("chain_id", ["", "..", "a/b", ".hidden", "x" * 200, "a\0b"])
def test_a_chain_id_that_cannot_name_a_directory_is_refused(tmp_path: Path, chain_id: str) -> None:
    """Refuse a chain id that cannot name a directory: it could lead out of the base path."""
    with pytest.raises(BasePathError, match="chain id"):
        ChainPaths(tmp_path, chain_id)


def test_the_error_of_a_second_process_names_the_one_that_holds_the_base_path(tmp_path: Path) -> None:
    """Name the process that holds the base path to a second one, and free it when that one is killed."""
    holder = (
        "import sys; from pathlib import Path; from cfnode.store.base_path import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with (
            pytest.raises(StoreError, match=rf"{tmp_path} is in use .*process {process.pid}") as refused,
            locked(tmp_path),
        ):
            pass
        assert refused.value.exit_code == 4
        process.kill()
    with locked(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_the_lock_is_free_again_after_the_block_even_after_an_error(tmp_path: Path) -> None:
    """Free the lock after the block, even after an error."""
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


def test_only_the_database_is_deleted(paths: ChainPaths) -> None:
    """Delete the database alone: keystore and node key stay."""
    with_database(paths)
    for directory in (paths.keystore, paths.network):
        directory.mkdir()
        (directory / "secret").write_text("keep")
    assert delete_database(paths)
    assert not paths.database.exists()
    assert list(paths.database.parent.iterdir()) == []
    assert (paths.keystore / "secret").read_text() == "keep"
    assert (paths.network / "secret").read_text() == "keep"
    assert not delete_database(paths)


def test_an_existing_database_is_kept_when_it_is_opened(paths: ChainPaths) -> None:
    """Keep an existing database when it is opened."""
    assert (open_database_path(with_database(paths)) / "data.mdb").read_bytes() == b"old"


def test_the_leftovers_of_a_killed_deletion_are_deleted_by_the_next(paths: ChainPaths) -> None:
    """Delete what a killed deletion has left."""
    with_database(paths)
    paths.database.rename(paths.database.with_name("full_light.old-77"))
    with_database(paths)
    assert delete_database(paths)
    assert list(paths.database.parent.iterdir()) == []


@pytest.mark.parametrize("entry", ["CURRENT", "data.mdb.bak"])
def test_foreign_files_are_refused_and_not_touched(paths: ChainPaths, entry: str) -> None:
    """Refuse a directory with foreign files and touch none."""
    (with_database(paths).database / entry).write_text("theirs")
    for attempt in (delete_database, open_database_path):
        with pytest.raises(BasePathError, match=entry):
            attempt(paths)
    assert (paths.database / entry).read_text() == "theirs"
    assert (paths.database / "data.mdb").read_bytes() == b"old"


def test_a_directory_in_the_place_of_a_database_file_is_refused(paths: ChainPaths) -> None:
    """Refuse a directory in the place of a database file."""
    (open_database_path(paths) / "data.mdb").mkdir()
    with pytest.raises(BasePathError, match=r"data\.mdb"):
        delete_database(paths)


@pytest.mark.parametrize("part", ["", "chains", "chains/dev", "chains/dev/db", "chains/dev/db/full_light"])
def test_a_link_anywhere_in_the_path_is_refused(tmp_path: Path, part: str) -> None:
    """Refuse a symbolic link anywhere in the path: the deletion would reach elsewhere."""
    elsewhere = with_database(ChainPaths(tmp_path / "elsewhere", "dev"))
    base = tmp_path / "base"
    link = base / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere.base / part)
    for attempt in (delete_database, open_database_path):
        with pytest.raises(BasePathError, match="symbolic link"):
            attempt(ChainPaths(base, "dev"))
    assert (elsewhere.database / "data.mdb").read_bytes() == b"old"


def test_a_linked_data_file_is_refused(paths: ChainPaths, tmp_path: Path) -> None:
    """Refuse a database file that is a link, and keep its target."""
    (tmp_path / "precious").write_text("keep")
    (open_database_path(paths) / "data.mdb").symlink_to(tmp_path / "precious")
    with pytest.raises(BasePathError, match=r"data\.mdb"):
        delete_database(paths)
    assert (tmp_path / "precious").read_text() == "keep"


def test_a_link_as_lock_file_is_not_followed(tmp_path: Path) -> None:
    """Refuse a lock file that is a link, and do not write through it."""
    (tmp_path / "precious").write_text("keep")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(BasePathError, match="lock"), locked(tmp_path / "base"):
        pass
    assert (tmp_path / "precious").read_text() == "keep"


def test_a_file_as_base_path_is_refused(tmp_path: Path) -> None:
    """Refuse a file as base path."""
    (tmp_path / "file").write_text("keep")
    with pytest.raises(BasePathError, match="not a directory"), locked(tmp_path / "file"):
        pass


def test_the_error_for_a_base_path_that_cannot_be_created_names_it() -> None:
    """Name a base path that cannot be created."""
    with pytest.raises(BasePathError, match="cannot use /proc/cfnode"), locked(Path("/proc/cfnode")):
        pass
