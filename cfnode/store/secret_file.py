"""Files with secrets, which no other user can read and no crash leaves half written.

A file is created under a temporary name with mode 0600 (whatever the umask), written, synced, then linked to
its own name, which fails if that name exists; then the directory is synced. So the name appears with the
whole content or not at all, and no file is ever overwritten. Symbolic links are followed neither for reading
nor for writing, so no other user can choose which file a name in a key directory refers to.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from cfnode.store.errors import StoreError

__all__ = [
    "MAX_SECRET_FILE",
    "SecretFileError",
    "create",
    "create_all",
    "create_directory",
    "exposed",
    "read",
]

MAX_SECRET_FILE = 16 << 10
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SecretFileError(StoreError):
    """A file with a secret cannot be read or written.

    The text names the file and the remedy, never the secret.
    """

    exit_code = 3


def create_directory(path: Path) -> None:
    """Create a directory with mode 0700, and its parents with the usual mode; keep an existing one.

    Raises SecretFileError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            path.chmod(0o700)
        if not path.is_dir():
            raise SecretFileError(f"{path} is not a directory: move it away, or name another directory")
    except OSError as error:
        raise SecretFileError(f"cannot create the directory {path}: {error.strerror}") from None


def create(path: Path, content: bytes) -> None:
    """Write a new file of mode 0600. Raises FileExistsError if the file exists, or SecretFileError."""
    temporary = path.with_name(f".{path.name[:32]}.{secrets.token_hex(8)}.new")
    try:
        try:
            _write(temporary, content)
            _rename(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise SecretFileError(f"cannot write {path}: {error.strerror}") from None


def create_all(contents: Mapping[Path, bytes]) -> None:
    """Write all of these new files or none. Raises SecretFileError, which names the file that failed."""
    written: list[Path] = []
    try:
        for path, content in contents.items():
            create(path, content)
            written.append(path)
    except (FileExistsError, SecretFileError) as error:
        for created in written:
            created.unlink(missing_ok=True)
        if isinstance(error, SecretFileError):
            raise
        raise SecretFileError(f"{path} exists and is not overwritten: nothing was saved") from None


def read(
    path: Path, limit: int = MAX_SECRET_FILE, *, follow_links: bool = False, private: bool = False
) -> bytes:
    """Return the content of a regular file of at most `limit` bytes. Raises SecretFileError.

    `private`: refuse a file that other users may access.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise SecretFileError(f"{path} is not a regular file")
            if private and mode & OTHERS:
                raise SecretFileError(_open_to_others(path, mode))
            content = file.read(limit + 1)
    except OSError as error:
        is_refused_link = path.is_symlink() and not follow_links
        reason = "it is a symbolic link; put the file itself there" if is_refused_link else error.strerror
        raise SecretFileError(f"cannot read {path}: {reason}") from None
    if len(content) > limit:
        raise SecretFileError(f"{path} is larger than {limit} bytes, too large for a key file")
    return content


def exposed(path: Path) -> str | None:
    """Return a warning if other users may access this file or directory, else None."""
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(path.stat(follow_symlinks=False).st_mode)
        if mode & OTHERS:
            return _open_to_others(path, mode)
    return None


def _open_to_others(path: Path, mode: int) -> str:
    mode_wanted = "700" if path.is_dir() else "600"
    now = f"{stat.S_IMODE(mode):04o}"
    return f"{path} is open to other users of this machine (mode {now}): chmod {mode_wanted} {path}"


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _rename(temporary: Path, path: Path) -> None:
    """Rename a file, or raise FileExistsError: no file is replaced."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        temporary.rename(path)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
