"""The base path: where a chain's files are, the lock of the running node, and safe deletion of a database.

Layout, as operators know it from Substrate nodes::

    <base>/lock                            locked by the running node; contains its process id
    <base>/chains/<chain id>/db/full_light the database: the only thing that is ever deleted
    <base>/chains/<chain id>/keystore      session and broker keys
    <base>/chains/<chain id>/network       the node key

Only files of known names are deleted, in a directory that is not a link; no tree is walked. So no file of
another program can be lost, wherever a mistyped `--base-path` points to.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfnode.store.errors import BasePathError

CAST_VOTES = "cast-votes"
"""The file with the votes of a development chain's authority; useless without the chain."""
DATABASE_FILES = frozenset({"data.mdb", "lock.mdb", CAST_VOTES, f"{CAST_VOTES}.new"})
"""All files that a database directory may contain."""

_CHAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class ChainPaths:
    """The directories of one chain below a base path. Reading a property creates nothing."""

    base: Path
    chain_id: str

    def __post_init__(self) -> None:
        """Raise BasePathError for a chain id that cannot name a directory."""
        if not _CHAIN_ID.fullmatch(self.chain_id):
            raise BasePathError(
                f"the chain id {self.chain_id!r} cannot name a directory: use letters, digits, '.', '_', '-'"
            )

    @property
    def chain(self) -> Path:
        """The folder of the chain."""
        return self.base / "chains" / self.chain_id

    @property
    def database(self) -> Path:
        """The folder of the database."""
        return self.chain / "db" / "full_light"

    @property
    def keystore(self) -> Path:
        """The folder of the key files."""
        return self.chain / "keystore"

    @property
    def network(self) -> Path:
        """The folder of the node key and the useful peers."""
        return self.chain / "network"


def default_base_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `$XDG_DATA_HOME/cfnode`, or `~/.local/share/cfnode`.

    A relative XDG_DATA_HOME counts as unset. Raises BasePathError without a home directory.
    """
    data_home = environ.get("XDG_DATA_HOME", "")
    if data_home.startswith("/"):
        return Path(data_home) / "cfnode"
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        raise BasePathError("there is no home directory ($HOME is not an absolute path): give --base-path")
    return Path(home) / ".local" / "share" / "cfnode"


@contextlib.contextmanager
def locked(base: Path) -> Iterator[None]:
    """Lock the base path for this process, creating it if needed.

    Raises BasePathError if it is locked.
    """
    with translated_errors(base):
        _refuse_link(base)
        base.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(base / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, base)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def _lock(descriptor: int, base: Path) -> None:
    try:
        with translated_errors(base):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        raise BasePathError(
            f"the base path {base} is in use by another cfnode (process {holder or 'unknown'}): "
            "stop that one, or give this one a --base-path of its own"
        ) from None


def open_database_path(paths: ChainPaths) -> Path:
    """Check the path of the database, create missing directories and return it; existing files stay."""
    with translated_errors(paths.database):
        _check(paths)
        paths.database.mkdir(parents=True, exist_ok=True)
    return paths.database


def delete_database(paths: ChainPaths) -> bool:
    """Delete the database and nothing else; return whether there was one.

    The base path must be locked. The database is renamed first: a process that dies meanwhile leaves either
    the whole database or none, and the next call deletes the rest of the renamed one.
    """
    with translated_errors(paths.database):
        _check(paths)
        existed = paths.database.exists()
        if existed:
            renamed = paths.database.with_name(f"full_light.old-{os.getpid()}")
            for leftover in _renamed(paths):
                _delete(leftover)
            paths.database.rename(renamed)
        for leftover in _renamed(paths):
            _delete(leftover)
        return existed


def _renamed(paths: ChainPaths) -> list[Path]:
    """Return the databases that were renamed and not yet deleted."""
    parent = paths.database.parent
    return sorted(parent.glob("full_light.old-*")) if parent.is_dir() else []


def _delete(directory: Path) -> None:
    for name in DATABASE_FILES:
        (directory / name).unlink(missing_ok=True)
    directory.rmdir()


def refuse_links(paths: ChainPaths) -> None:
    """Raise BasePathError if a directory on the way to the database is a link, or not a directory."""
    for directory in (paths.base, paths.chain.parent, paths.chain, paths.database.parent):
        _refuse_link(directory)


def _check(paths: ChainPaths) -> None:
    refuse_links(paths)
    for directory in (paths.database, *_renamed(paths)):
        _refuse_foreign(directory)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise BasePathError(
            f"{path} is a symbolic link (to {path.readlink()}), and databases are deleted and created below "
            "it: give the real path as --base-path"
        )
    if path.exists() and not path.is_dir():
        raise BasePathError(f"{path} is not a directory: give another --base-path")


def _refuse_foreign(directory: Path) -> None:
    _refuse_link(directory)
    if not directory.exists():
        return
    foreign = sorted(
        entry.name for entry in os.scandir(directory)
        if entry.name not in DATABASE_FILES or not entry.is_file(follow_symlinks=False)
    )  # fmt: skip
    if foreign:
        names = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        raise BasePathError(
            f"{directory} contains files that are not cfnode's ({names}), so it is left as it is: "
            "give another --base-path, or move them away"
        )


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise OSErrors of the block as BasePathError.

    BlockingIOError is raised as it is: the lock is taken.
    """
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        failed_path = error.filename or path
        raise BasePathError(
            f"cannot use {failed_path}: {error.strerror}; check the base path's rights and disk"
        ) from None
