"""Small files of a chain's directory: the folder they need, and the errors of writing."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cfnode.core.grandpa import AuthoritySet
from cfnode.core.header import Header
from cfnode.core.peer_id import peer_id
from cfnode.network.useful_peers import UsefulPeers
from cfnode.node.sync.warping.authority_set_cache import AuthoritySetCache, TrustedSet
from cfnode.store import StoreError, atomic_file
from tests.network.conftest import key

TRUST = TrustedSet(Header(bytes(32), 5, bytes(32), bytes(32)), AuthoritySet(7, ((b"v" * 32, 1),)))


def write_authority_sets(path: Path) -> None:
    """Write the cache of authority sets."""
    AuthoritySetCache(path, b"g" * 32).save(TRUST)


def write_useful_peers(path: Path) -> None:
    """Write the file of useful peers."""
    peers = UsefulPeers(path)
    peers.note(peer_id(key(1).public))
    peers.save()


@pytest.mark.parametrize("write", [write_authority_sets, write_useful_peers])
def test_a_writer_creates_the_missing_folder_for_its_owner_only(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    """With --node-key no other part creates it, and a node key may be written there later."""
    path = tmp_path / "chains" / "dev" / "network" / "file"
    write(path)
    assert path.stat().st_size > 0
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    """Keep the mode of a folder that exists: it may be the operator's choice."""
    folder = tmp_path / "network"
    folder.mkdir(mode=0o755)
    atomic_file.replace(folder / "file", b"old")
    atomic_file.replace(folder / "file", b"new")
    assert (folder / "file").read_bytes() == b"new"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_the_error_names_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Name the file that cannot be written, and the reason."""
    (tmp_path / "file").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*/file: Is a directory"):
        atomic_file.replace(tmp_path / "file", b"content")
    (tmp_path / "taken").write_bytes(b"")
    with pytest.raises(StoreError, match=r"taken"):
        atomic_file.replace(tmp_path / "taken" / "file", b"content")
