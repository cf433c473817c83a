"""Time of a chain, that of its best block, and its distance from the real clock.

A development chain that may be faster than one block in 6 s begins in the past (a year back by default).
Times of such a chain are printed as chain time, with their distance from the real clock.
"""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.foreign import ForeignError, hex_bytes
from cfnode.core.state import TIMESTAMP_NOW

__all__ = ["DEVELOPMENT", "NOW_KEY", "behind_text", "duration_text", "stored_time"]

DEVELOPMENT: Final = "Development"
"""The type of a chain whose blocks may have another time than the real one."""
NOW_KEY: Final = "0x" + TIMESTAMP_NOW.hex()
"""The storage key of a block's time, as clients send it; the same in every Substrate runtime."""
_TIME_BYTES: Final = 8
_UNITS: Final = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60))
MAX_IN_STEP_MS: Final = 60_000
"""Distance from the real clock up to which a chain runs in real time: ten blocks."""


def stored_time(value: Any) -> int:
    """Return the Unix milliseconds in the answer to `state_getStorage` of NOW_KEY. Raises ForeignError."""
    raw = hex_bytes(value, _TIME_BYTES)
    if len(raw) != _TIME_BYTES:
        raise ForeignError("is not the time of a block")
    return int.from_bytes(raw, "little")


def duration_text(milliseconds: int) -> str:
    """Return a duration as text in at most two units: `2 d 3 h`, `3 h 5 min`, `40 s`."""
    seconds = max(milliseconds, 0) // 1000
    for unit, size, smaller, part in _UNITS:
        if seconds >= size:
            smaller_count = seconds % size // part
            return f"{seconds // size} {unit}" + (f" {smaller_count} {smaller}" if smaller_count else "")
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def behind_text(time_ms: int, now_ms: int) -> str:
    """Return `365 d behind the clock`, or an empty text if the chain runs in real time.

    `time_ms` is the time of the best block; both times are Unix milliseconds.
    """
    distance = now_ms - time_ms
    return f"{duration_text(distance)} behind the clock" if distance > MAX_IN_STEP_MS else ""
