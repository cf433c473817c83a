"""Periods of the calendar in UTC: a day, a month, a quarter or a year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cfnode.ledger.block_times import DAY_MS

__all__ = ["CalendarPeriod"]

_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")
_QUARTER: Final = re.compile(r"([0-9]{4})-Q([1-4])")
_YEAR: Final = re.compile(r"[0-9]{4}")
FIRST_YEAR, LAST_YEAR = 1970, 9998


@dataclass(frozen=True, slots=True)
class CalendarPeriod:
    """Period in UTC: its text, and its times in Unix ms, from `start` up to, and without, `end`."""

    text: str
    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> CalendarPeriod:
        """Return the period of a text: `2026`, `2026-Q4`, `2026-11` or `2026-11-25`. Raises ValueError."""
        if _YEAR.fullmatch(text):
            return cls.year(text)
        if "Q" in text:
            return cls.quarter(text)
        return cls.day(text) if len(text) == 10 else cls.month(text)

    @classmethod
    def year(cls, text: str) -> CalendarPeriod:
        """Return the year of a text such as `2026`. Raises ValueError."""
        if _YEAR.fullmatch(text) is None or not FIRST_YEAR <= int(text) <= LAST_YEAR:
            raise ValueError(f"{text[:40]!r} is not a year: write it as 2026")
        return cls._months(text, int(text), 1, 12)

    @classmethod
    def quarter(cls, text: str) -> CalendarPeriod:
        """Return the quarter of a text such as `2026-Q4`. Raises ValueError."""
        match = _QUARTER.fullmatch(text)
        if match is None or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
            raise ValueError(f"{text[:40]!r} is not a quarter: write it as 2026-Q4")
        return cls._months(text, int(match[1]), 3 * int(match[2]) - 2, 3)

    @classmethod
    def month(cls, text: str) -> CalendarPeriod:
        """Return the month of a text such as `2026-11`. Raises ValueError."""
        match = _MONTH.fullmatch(text)
        is_month = match is not None and 1 <= int(match[2]) <= 12
        if match is None or not is_month or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
            raise ValueError(f"{text[:40]!r} is not a month: write it as 2026-11")
        return cls._months(text, int(match[1]), int(match[2]), 1)

    @classmethod
    def day(cls, text: str) -> CalendarPeriod:
        """Return the day of a text such as `2026-11-25`. Raises ValueError."""
        try:
            start = int(datetime.strptime(f"{text[:40]} +0000", "%Y-%m-%d %z").timestamp()) * 1000
        except ValueError:
            raise ValueError(f"{text[:40]!r} is not a day: write it as 2026-11-25") from None
        if start < 0 or len(text) != 10:
            raise ValueError(f"{text[:40]!r} is not a day: write it as 2026-11-25")
        return cls(text, start, start + DAY_MS)

    def require_begun(self, now: int) -> None:
        """Raise ValueError if the period is in the future; `now` is Unix ms."""
        if self.start > now:
            raise ValueError(f"{self.text} is in the future")

    @classmethod
    def _months(cls, text: str, year: int, month: int, count: int) -> CalendarPeriod:
        past = month - 1 + count
        return cls(text, _ms(year, month), _ms(year + past // 12, past % 12 + 1))


def _ms(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
