"""Times as ISO 8601, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["time_text"]


def time_text(value: int) -> str:
    """Return a time in Unix ms as ISO 8601, in UTC, without fractions of a second."""
    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
