"""The most memory that a test's process has had for a while."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MAX_MORE", "peak", "reset_peak"]

MAX_MORE = 100 * 1024 * 1024
"""Bytes that reading anything foreign may take at most."""


def peak() -> int:
    """Return the most memory that this process has had since the last `reset_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def reset_peak() -> int:
    """Begin a measurement; return the memory now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()
