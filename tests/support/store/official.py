"""A database as the official node leaves it."""

from __future__ import annotations

from pathlib import Path

from cfnode.store.base_path import ChainPaths

ROCKSDB = (
    "CURRENT",
    "IDENTITY",
    "LOCK",
    "LOG",
    "MANIFEST-000005",
    "OPTIONS-000007",
    "000008.sst",
    "db_version",
)


def with_rocksdb(paths: ChainPaths) -> ChainPaths:
    """Write files as a RocksDB database has them."""
    paths.database.mkdir(parents=True)
    for name in ROCKSDB:
        (paths.database / name).write_text(name)
    return paths


def names(directory: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in directory.iterdir())
