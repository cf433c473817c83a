"""Figures of volumes and fees from the totals of days, as charts and as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cfnode.core.assets import ASSETS
from cfnode.dashboard.charts import Chart, stacked
from cfnode.dashboard.formats import USDC_DECIMALS, asset_name, day_text, short
from cfnode.ledger.day_totals import STABLE, DayTotal

__all__ = ["PERIODS_DAYS", "FigureRow", "Figures", "Today", "figures", "today"]

PERIODS_DAYS: Final = (7, 30, 90)
"""Days of each period."""
MAX_TABLE_ROWS: Final = 200
"""Maximum rows of a table."""


@dataclass(slots=True)
class FigureRow:
    """A row of a table: what was counted, for which name and asset. `value` is in smallest units of USDC."""

    name: str
    asset: str | None = None
    count: int = 0
    amount: int = 0
    value: int = 0
    earned: int = 0
    network_fee: int = 0
    is_account: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a period of days; `before` are those of the equally long period before it."""

    days: int
    total: FigureRow
    before: FigureRow
    volume: Chart | None
    by_partner_chart: Chart | None
    fees: Chart | None
    earned: Chart | None
    by_day: tuple[FigureRow, ...]
    by_asset: tuple[FigureRow, ...]
    by_chain: tuple[FigureRow, ...]
    by_partner: tuple[FigureRow, ...]
    by_fee: tuple[FigureRow, ...]
    by_account: tuple[FigureRow, ...]


@dataclass(frozen=True, slots=True)
class Today:
    """Figures of one day (UTC)."""

    day: int
    count: int
    value: int
    earned: int


def today(totals: Sequence[DayTotal], day: int) -> Today:
    """Return the figures of a day, from its totals."""
    volumes = [total for total in totals if total.measure == "volume"]
    earned = sum(total.amount for total in totals if total.measure == "earned" and total.asset == STABLE)
    return Today(day, sum(total.count for total in volumes), sum(total.value for total in volumes), earned)


def figures(totals: Sequence[DayTotal], span: range, earlier: Sequence[DayTotal] = ()) -> Figures:
    """Return the figures of a span of days, from their totals; `earlier` are those of the span before it."""
    by_day = _by_day(totals, span)
    fees = [total for total in totals if total.measure == "fee" and total.asset == STABLE]
    volumes = [total for total in totals if total.measure == "volume"]
    owners = [total for total in totals if total.measure in ("partner", "broker")]
    earned = [total for total in totals if total.measure == "earned" and total.asset == STABLE]
    return Figures(
        len(span),
        _total(by_day),
        _total(_by_day(earlier, range(span.start - len(span), span.start))),
        _chart("Swapped a day, in dollars, by asset", volumes, span, _asset, _value),
        _chart("Swapped a day, in dollars, by partner", owners, span, _owner, _value),
        _chart("Fees a day, in dollars, by kind", fees, span, lambda total: total.name, _amount),
        _chart("Commissions a day, in dollars, by account", earned, span, _owner, _amount),
        tuple(reversed(by_day)),
        _table(totals, ("volume",), _asset),
        _by_chain(totals),
        _by_partner(totals),
        _table(totals, ("fee",), lambda total: total.name),
        _table(totals, ("earned",), lambda total: total.name),
    )


def _by_day(totals: Iterable[DayTotal], span: range) -> list[FigureRow]:
    rows = {day: FigureRow(day_text(day)) for day in span}
    for total in totals:
        row = rows[total.day]
        if total.measure == "volume":
            row.count += total.count
            row.value += total.value
        elif total.measure == "earned" and total.asset == STABLE:
            row.earned += total.amount
        elif total.measure == "fee" and total.name == "network" and total.asset == STABLE:
            row.network_fee += total.amount
    return list(rows.values())


def _total(rows: Iterable[FigureRow]) -> FigureRow:
    total = FigureRow("total")
    for row in rows:
        total.count += row.count
        total.value += row.value
        total.earned += row.earned
        total.network_fee += row.network_fee
    return total


def _table(
    totals: Iterable[DayTotal], measures: tuple[str, ...], name: Callable[[DayTotal], str]
) -> tuple[FigureRow, ...]:
    """Return a row for each name and asset, the largest first."""
    rows: dict[tuple[str, str], FigureRow] = {}
    for total in totals:
        if total.measure in measures:
            row = rows.setdefault((name(total), total.asset), FigureRow(name(total), total.asset or None))
            row.count += total.count
            row.amount += total.amount
            row.value += total.value
    ordered = sorted(rows.values(), key=lambda row: (row.value, row.count, row.amount), reverse=True)
    return tuple(ordered[:MAX_TABLE_ROWS])


def _by_chain(totals: Iterable[DayTotal]) -> tuple[FigureRow, ...]:
    """Return a row for the chain of each deposit, the largest first."""
    rows: dict[str, FigureRow] = {}
    for total in totals:
        if total.measure == "volume":
            chain = ASSETS[total.asset].chain if total.asset in ASSETS else "unknown"
            row = rows.setdefault(chain, FigureRow(chain))
            row.count += total.count
            row.value += total.value
    return tuple(sorted(rows.values(), key=lambda row: (row.value, row.count), reverse=True))


def _by_partner(totals: Iterable[DayTotal]) -> tuple[FigureRow, ...]:
    """Return a row for each partner, and for each broker account of swaps without a partner.

    Partners' rows have what was earned from their swaps.
    """
    rows: dict[tuple[str, bool], FigureRow] = {}
    for total in totals:
        if total.measure in ("partner", "broker"):
            key = (total.name, total.measure == "broker")
            row = rows.setdefault(key, FigureRow(total.name, is_account=key[1]))
            row.count += total.count
            row.value += total.value
    for total in totals:
        if total.measure == "earned_with" and total.asset == STABLE and (total.name, False) in rows:
            rows[total.name, False].earned += total.amount
    return tuple(sorted(rows.values(), key=lambda row: row.value, reverse=True)[:MAX_TABLE_ROWS])


def _asset(total: DayTotal) -> str:
    return asset_name(total.asset)


def _owner(total: DayTotal) -> str:
    """Return a partner's name, or an account."""
    if total.measure == "partner":
        return total.name
    return short(total.name) or "no broker"


def _value(total: DayTotal) -> int:
    return total.value


def _amount(total: DayTotal) -> int:
    return total.amount


def _chart(
    title: str,
    totals: Iterable[DayTotal],
    span: range,
    name: Callable[[DayTotal], str],
    number: Callable[[DayTotal], int],
) -> Chart | None:
    """Draw the totals of a span; None if there is nothing to draw."""
    series: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(span))
    for total in totals:
        series[name(total)][total.day - span[0]] += number(total) / 10**USDC_DECIMALS
    if not any(any(values) for values in series.values()):
        return None
    return stacked(title, [day_text(day)[5:] for day in span], series, _scale)


def _scale(value: float) -> str:
    """Return a value of an axis as text."""
    for size, unit in ((1e9, " bn"), (1e6, " m"), (1e3, " k")):
        if value >= size:
            return f"${value / size:,.1f}{unit}".replace(".0", "")
    return f"${value:,.0f}" if value >= 10 or value == 0 else f"${value:,.2f}"
