"""Exchange rates of a currency by day, from a CSV file that the accountant gives.

A file has one of two forms:

- `date,usd_per_eur` or `date,eur_per_usd` (or another currency), one day a line. The header says which of the
  two the rate is, so that a rate cannot be taken upside down.
- the history of the European Central Bank as it publishes it: `Date,USD,JPY,…`, dollars for one euro.

No rates are published on weekends and holidays: a day has the rate of the newest day before, at most
`MAX_RATE_AGE_DAYS` earlier. A larger gap is an error, which names the day.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Final

from cfnode.core.foreign import ForeignError, read_bounded
from cfnode.ledger.block_times import DAY_MS
from cfnode.ledger.errors import LedgerError

__all__ = ["DOLLARS", "ExchangeRates", "read_rates"]

DOLLARS: Final = "USD"
MAX_RATE_AGE_DAYS: Final = 7
MAX_FILE_BYTES: Final = 16 << 20
CURRENCY: Final = re.compile("[A-Z]{3}")
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,18})?")
_HEADER: Final = re.compile("([a-z]{3})_per_([a-z]{3})")
_BANK_CURRENCY: Final = "EUR"
_EPOCH: Final = date(1970, 1, 1)


class ExchangeRates:
    """Rates of a currency: dollars for one unit of it, by day."""

    def __init__(self, currency: str, rates: dict[int, Fraction], name: str) -> None:
        """Take the rates by day since 1970, and the file's name for errors."""
        self.currency, self._name = currency, name
        self._days = sorted(rates)
        self._rates = [rates[day] for day in self._days]

    def of_dollars(self, amount: int, time: int) -> int:
        """Return what millionths of a dollar were worth at a time (Unix ms), in millionths of the currency.

        Raises LedgerError for a day without a rate.
        """
        return round(amount / self._rate(time // DAY_MS))

    def _rate(self, day: int) -> Fraction:
        place = bisect_right(self._days, day) - 1
        if place < 0 or day - self._days[place] > MAX_RATE_AGE_DAYS:
            text = _EPOCH + timedelta(days=day)
            raise LedgerError(
                f"{self._name} has no rate of {self.currency} for {text}, nor for the "
                f"{MAX_RATE_AGE_DAYS} days before: add that day"
            )
        return self._rates[place]


def read_rates(path: Path, currency: str) -> ExchangeRates:
    """Return the rates of a currency in a file. Raises LedgerError, which names the line, and OSError."""
    try:
        with path.open("rb") as file:
            data = read_bounded(file, MAX_FILE_BYTES)
    except ForeignError as error:
        raise LedgerError(f"{path} {error}: it has no rates") from None
    try:
        rows = list(csv.reader(data.decode("utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise LedgerError(f"{path} is not CSV in UTF-8") from None
    if not rows:
        raise LedgerError(f"{path} is empty: it has no rates")
    header = [cell.strip() for cell in rows[0]]
    column, is_inverse = _column(path, header, currency)
    rates: dict[int, Fraction] = {}
    for number, day, text in _cells(path, rows, column):
        if day in rates:
            raise LedgerError(f"{path}: line {number}: {_EPOCH + timedelta(days=day)} has a rate already")
        rate = _rate_of(path, number, text)
        rates[day] = 1 / rate if is_inverse else rate
    if not rates:
        raise LedgerError(f"{path} has no rates")
    return ExchangeRates(currency, rates, str(path))


def _column(path: Path, header: Sequence[str], currency: str) -> tuple[int, bool]:
    """Return the column of the rates, and whether they are units of the currency for one dollar."""
    if header[:1] == ["Date"] and DOLLARS in header:
        if currency != _BANK_CURRENCY:
            raise LedgerError(f"{path} has dollars for one {_BANK_CURRENCY}, not for one {currency}")
        return header.index(DOLLARS), False
    match = _HEADER.fullmatch(header[1]) if len(header) == 2 and header[0] == "date" else None
    lower, dollar = currency.lower(), DOLLARS.lower()
    if match is None:
        raise LedgerError(
            f"{path}: line 1: expected the header date,{dollar}_per_{lower} (dollars for one {currency}) or "
            f"date,{lower}_per_{dollar}, with commas"
        )
    if {match[1], match[2]} != {dollar, lower}:
        raise LedgerError(f"{path} has {header[1]}, and the statement needs {dollar}_per_{lower}")
    return 1, match[1] == lower


def _cells(path: Path, rows: Sequence[Sequence[str]], column: int) -> Iterator[tuple[int, int, str]]:
    """Yield number of the line, day since 1970, and text of the rate; not the days that have none."""
    width = len(rows[0])
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != width:
            hint = ": write decimals with a point, as 1.0876" if len(row) > width else ""
            raise LedgerError(f"{path}: line {number}: expected {width} cells, not {len(row)}{hint}")
        text = row[column].strip()
        if text != "N/A":  # the bank's word for no rate
            yield number, _day(path, number, row[0].strip()), text


def _day(path: Path, number: int, text: str) -> int:
    try:
        day = date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        day = None
    if day is None:
        raise LedgerError(f"{path}: line {number}: {text[:40]!r} is not a day: write it as 2026-11-25")
    return (day - _EPOCH).days


def _rate_of(path: Path, number: int, text: str) -> Fraction:
    if _NUMBER.fullmatch(text) is None or not float(text):
        hint = ": write decimals with a point" if "," in text else ""
        raise LedgerError(f"{path}: line {number}: {text[:40]!r} is not a rate such as 1.0876{hint}")
    return Fraction(text)
