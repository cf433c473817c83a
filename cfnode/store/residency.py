"""Release of the database's mapped pages, which would count as memory of the process that reads them.

A page of the mapped file stays in the process's resident set, once read, for as long as the system has memory
to spare. Such pages are page cache and take memory from no other process, but the node would seem to grow
with its database, and limits and alarms use that figure. So beyond a bound the pages are released from time
to time: madvise(2) with MADV_DONTNEED on a shared mapping removes the mapping of the pages, not their
content, and the next read maps them again from the cache.

Without /proc no page is released.
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

MAX_MAPPED = 128 << 20
"""Bytes of mapped files (libraries too) in the resident set; beyond, the database's pages are released."""


def release_pages(file: Path, limit: int = MAX_MAPPED) -> bool:
    """Release the pages of a mapped file if more than `limit` bytes are resident.

    Return whether pages were released.
    """
    try:
        resident = int(Path("/proc/self/statm").read_bytes().split()[2]) * mmap.PAGESIZE
        if resident <= limit:
            return False
        spans = _spans(str(file.resolve()))
    except OSError:
        return False
    for start, end in spans:
        _release(start, end)
    return bool(spans)


def _spans(file: str) -> list[tuple[int, int]]:
    """Return the address ranges at which a file is mapped shared, from /proc/self/maps (proc_pid_maps(5))."""
    spans = []
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == file and fields[1].endswith("s"):
            start, end = fields[0].split("-")
            spans.append((int(start, 16), int(end, 16)))
    return spans


def _release(start: int, end: int) -> None:
    madvise = ctypes.CDLL(None).madvise
    madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)
