"""How much of the database counts as memory of the process that reads it?

A page of the mapped file that has been touched stays in the process's resident set for as long as the system
has memory to spare. It is page cache, and costs nobody anything, but a node would seem to grow with its
database, and limits and alarms look at that figure. So from time to time, beyond a bound, the pages are
given back: madvise(2) with MADV_DONTNEED on a shared mapping forgets where they were mapped, not what they
hold, and the next touch maps them again from the cache.

On a system without /proc nothing is done.
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

MAX_MAPPED = 128 << 20
"""Bytes of mapped files (libraries too) in the resident set beyond which the database's are given back."""


def release_pages(file: Path, most: int = MAX_MAPPED) -> bool:
    """Gives the resident pages of a mapped file back if there are too many; True if it did so."""
    try:
        resident = int(Path("/proc/self/statm").read_bytes().split()[2]) * mmap.PAGESIZE
        if resident <= most:
            return False
        spans = _spans(str(file.resolve()))
    except OSError:
        return False
    for start, end in spans:
        _forget(start, end)
    return bool(spans)


def _spans(file: str) -> list[tuple[int, int]]:
    """The address ranges at which a file is mapped shared, from /proc/self/maps (proc_pid_maps(5))."""
    spans = []
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == file and fields[1].endswith("s"):
            start, end = fields[0].split("-")
            spans.append((int(start, 16), int(end, 16)))
    return spans


def _forget(start: int, end: int) -> None:
    madvise = ctypes.CDLL(None).madvise
    madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)
