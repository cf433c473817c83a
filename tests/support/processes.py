"""Processes of which a test has only the id."""

from __future__ import annotations

from pathlib import Path


def has_ended(pid: int) -> bool:
    """Return whether the process has ended, or waits to be reaped by its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
