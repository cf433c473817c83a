"""Requests of partners by day and outcome, which a service counts and writes every few seconds.

A service that is killed loses the counts of these seconds. Functions block.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import partner_days

__all__ = ["OK", "DayUse", "UsageCounter", "usage_of"]

OK: Final = "ok"
"""Code of a request that was answered."""
KEPT_DAYS: Final = 90
_DAY_S: Final = 86_400
_table = partner_days.c


@dataclass(frozen=True, slots=True)
class DayUse:
    """Requests of a partner on a day (since 1970, UTC), and how many of them got an error, by its code."""

    day: int
    requests: int
    errors: dict[str, int]


class UsageCounter:
    """Counts of requests that are not in the books yet."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, int, str]]()

    def note(self, partner: str, code: str, now: float | None = None) -> None:
        """Count a request. `now`: Unix s."""
        day = int(time.time() if now is None else now) // _DAY_S
        self._counts[partner, day, code] += 1

    def write(self, database: Database) -> None:
        """Add the counts to the books. Raises LedgerError, and keeps them then."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            with database.writing(durable=False) as connection:
                for (partner, day, code), count in counts.items():
                    _add(connection, partner, day, code, count)
        except BaseException:
            self._counts.update(counts)
            raise


def _add(connection: Connection, partner: str, day: int, code: str, count: int) -> None:
    """Add to a count, and delete the partner's old ones."""
    own = (_table.partner == partner, _table.day == day, _table.code == code)
    changed = connection.execute(update(partner_days).where(*own).values(count=_table.count + count))
    if not changed.rowcount:
        row = {"partner": partner, "day": day, "code": code, "count": count}
        connection.execute(insert(partner_days), row)
        old = (_table.partner == partner, _table.day < day - KEPT_DAYS)
        connection.execute(delete(partner_days).where(*old))


def usage_of(connection: Connection, partner: str, days: int, today: int) -> list[DayUse]:
    """Return the use of the last days up to `today` (since 1970), the newest first, without empty days."""
    query = select(_table.day, _table.code, _table.count).where(_table.partner == partner)
    query = query.where(_table.day > today - days, _table.day <= today)
    by_day: dict[int, dict[str, int]] = {}
    for day, code, count in connection.execute(query.order_by(_table.day.desc(), _table.code)):
        by_day.setdefault(day, {})[code] = count
    return [
        DayUse(day, sum(codes.values()), {code: count for code, count in codes.items() if code != OK})
        for day, codes in by_day.items()
    ]
