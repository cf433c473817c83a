"""Errors that end a replay: malformed records, a setting out of bounds, a wrong strategy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["BadRecords", "ReplayError", "StrategyError"]


class ReplayError(Exception):
    """The replay cannot begin or continue; the text has the reason, and what to do."""


class BadRecords(ReplayError):
    """A file of prices or swaps has faults; the text has one line for each, with its number."""

    @classmethod
    def of(cls, path: Path, faults: Sequence[str], limit: int) -> BadRecords:
        """Return an error with all faults of a file, at most `limit` of them in full."""
        summary = [f"and {len(faults) - limit} more"] if len(faults) > limit else []
        return cls("\n".join([f"{path}: {fault}" for fault in faults[:limit]] + summary))


class StrategyError(ReplayError):
    """The strategy raised, did not return, or returned malformed orders; the text names the block."""
