"""Replacement of a small file so that a reader finds either the old content or the new one.

The content is written to a second file of the same directory, which is then renamed. A missing directory is
created with mode 0700, since the node key may be written there later. Most of these files can be rebuilt, so
only durable ones are synced.
"""

from __future__ import annotations

import os
from pathlib import Path

from cfnode.store.errors import StoreError
from cfnode.store.secret_file import create_directory

__all__ = ["AtomicFileError", "replace"]


class AtomicFileError(StoreError):
    """The file cannot be written; the text names it and gives the reason."""


def replace(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write the file's new content.

    If `durable`, the content survives a loss of power. Blocks; raises StoreError.
    """
    create_directory(path.parent)
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise AtomicFileError(f"cannot write {path}: {error.strerror}") from None
