"""The official node's RocksDB database in this base path, which is renamed and never deleted.

In light-RPC mode the official node keeps its database at the path of cfnode's. It is set aside under another
name, so that a volume of that node works as it is, and so that the operator can go back to it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cfnode.store.base_path import DATABASE_FILES, ChainPaths, refuse_links, translated_errors
from cfnode.store.errors import BasePathError

__all__ = ["set_aside_official_database"]

MAX_SET_ASIDE = 9
"""Databases of the official node that are kept; each may fill gigabytes."""


def set_aside_official_database(paths: ChainPaths) -> Path | None:
    """Rename the official node's database; return its new path, or None if there is none.

    The base path must be locked. Raises BasePathError if a node uses that database, or too many are kept.
    """
    with translated_errors(paths.database):
        refuse_links(paths)
        if not _is_rocksdb(paths.database):
            return None
        _refuse_in_use(paths.database)
        target = _free_name(paths.database)
        paths.database.rename(target)
        return target


def _is_rocksdb(directory: Path) -> bool:
    """Return whether the directory has the files of RocksDB, and none of cfnode's."""
    if directory.is_symlink() or not directory.is_dir():
        return False
    names = {path.name for path in directory.iterdir()}
    manifests = any(name.startswith("MANIFEST-") for name in names)
    return "CURRENT" in names and manifests and DATABASE_FILES.isdisjoint(names)


def _refuse_in_use(directory: Path) -> None:
    """Raise BasePathError if a node uses the database.

    RocksDB holds a POSIX lock on its file LOCK as long as it is open.
    """
    try:
        descriptor = os.open(directory / "LOCK", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise BasePathError(
            f"{directory} is in use by another node: stop that one, or give this one a --base-path of its own"
        ) from None
    finally:
        os.close(descriptor)


def _free_name(directory: Path) -> Path:
    for number in range(1, MAX_SET_ASIDE + 1):
        target = directory.with_name(f"{directory.name}.rocksdb-{number}")
        if not target.exists() and not target.is_symlink():
            return target
    raise BasePathError(
        f"{directory.parent} already keeps {MAX_SET_ASIDE} databases of the official node "
        f"({directory.name}.rocksdb-…): delete those that you do not need"
    )
