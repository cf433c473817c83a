"""Times from text (ISO 8601, Unix seconds or milliseconds) to Unix milliseconds, and to ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from cfnode.core.foreign import ForeignError, decimal_number

__all__ = ["MAX_TIME_MS", "read_time", "time_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TIME_CHARS = 40
_MIN_MILLISECONDS = 10**11
"""A number from here on is milliseconds (as seconds it would be the year 5138), a smaller one seconds."""
MAX_TIME_MS = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""The last day of ISO 8601's four-digit years."""
_EXAMPLES = "2026-01-01T00:00:00Z, or Unix seconds (1767225600)"


def read_time(text: str) -> int:
    """Return the Unix milliseconds of `2026-01-01T12:00:00Z`, `2026-01-01` or `1767225600.5`.

    Without a zone the time is UTC. A number from 10^11 on is milliseconds already. Raises ValueError with the
    reason; a time before 1970 or after the year 9999 is an error.
    """
    text = text.strip()
    if len(text) > _MAX_TIME_CHARS or not text.isascii():
        raise ValueError(f"{text[:_MAX_TIME_CHARS]!r} is no time: write {_EXAMPLES}")
    number = _number(text)
    milliseconds = _iso_ms(text) if number is None else _unix_ms(number)
    if not 0 <= milliseconds <= MAX_TIME_MS:
        raise ValueError(f"{text!r} lies outside the years 1970 to 9999")
    return milliseconds


def time_text(milliseconds: int) -> str:
    """Return a time in ISO 8601, UTC, with milliseconds only where there are any."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    fraction = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.isoformat(timespec=fraction).replace("+00:00", "Z")


def _number(text: str) -> Decimal | None:
    try:
        return None if "e" in text.lower() else decimal_number(text)
    except ForeignError:
        return None


def _unix_ms(number: Decimal) -> int:
    return int(number if number >= _MIN_MILLISECONDS else number * 1000)


def _iso_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time: write {_EXAMPLES}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)
