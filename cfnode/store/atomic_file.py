"""How is a small file of the chain's directory written so that a reader finds the old content or the new one?

The content goes to a second file of the same directory, which is then renamed. A missing directory is created
with mode 0700, for the node key may be put there later. What most of these files hold can be had again, so
only durable ones are synced.
"""

from __future__ import annotations

import os
from pathlib import Path

from cfnode.store.errors import StoreError
from cfnode.store.secret_file import create_directory

__all__ = ["AtomicFileError", "replace"]


class AtomicFileError(StoreError):
    """The file cannot be written; the text names it and says why."""


def replace(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Let the file have this content; `durable`: even after a loss of power. It blocks; raises StoreError."""
    create_directory(path.parent)
    fresh = path.with_suffix(".new")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise AtomicFileError(f"cannot write {path}: {error.strerror}") from None
