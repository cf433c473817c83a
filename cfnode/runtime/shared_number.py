"""A number in memory that the node shares with an executor process: the id of the request in progress.

So the node knows what the process works on, without a message for each request. The process writes the id of
the request that it begins with, and 0 when it has answered. It stays readable after the process has died.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile

__all__ = ["SharedNumber", "memory_file"]

_SIZE = 8


class SharedNumber:
    """An unsigned 64-bit number in the file of a descriptor, which may be closed afterwards."""

    def __init__(self, descriptor: int) -> None:
        """Map the number. Raises OSError."""
        os.ftruncate(descriptor, _SIZE)
        self._map = mmap.mmap(descriptor, _SIZE)
        self._view = memoryview(self._map).cast("Q")

    @property
    def value(self) -> int:
        """The number that the node has written last."""
        return self._view[0]

    @value.setter
    def value(self, number: int) -> None:
        self._view[0] = number

    def close(self) -> None:
        """Release the memory."""
        self._view.release()
        self._map.close()


def memory_file(name: str) -> int:
    """Return the descriptor of a file in memory if possible, since disks may be full.

    Otherwise of a file without a name.
    """
    if sys.platform == "linux":
        return os.memfd_create(name)
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())
