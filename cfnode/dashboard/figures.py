"""Figures of volumes and fees from the totals of days, as charts and as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cfnode.dashboard.charts import Chart, stacked
from cfnode.dashboard.formats import USDC_DECIMALS, asset_name, day_text, short
from cfnode.ledger.day_totals import STABLE, DayTotal

__all__ = ["PERIODS", "Figures", "Sum", "Today", "figures", "today"]

PERIODS: Final = (7, 30, 90)
"""Days of each period."""
MAX_ROWS: Final = 200
"""Maximum rows of a table."""


@dataclass(slots=True)
class Sum:
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
    """Figures of a period of days."""

    days: int
    total: Sum
    volume: Chart | None
    by_partner_chart: Chart | None
    fees: Chart | None
    earned: Chart | None
    by_day: tuple[Sum, ...]
    by_asset: tuple[Sum, ...]
    by_partner: tuple[Sum, ...]
    by_fee: tuple[Sum, ...]
    by_account: tuple[Sum, ...]


@dataclass(frozen=True, slots=True)
class Today:
    """Figures of one day (UTC)."""

    day: int
    count: int
    value: int
    earned: int


def today(found: Sequence[DayTotal], day: int) -> Today:
    """Return the figures of a day, from its totals."""
    volumes = [each for each in found if each.measure == "volume"]
    earned = sum(each.amount for each in found if each.measure == "earned" and each.asset == STABLE)
    return Today(day, sum(each.count for each in volumes), sum(each.value for each in volumes), earned)


def figures(totals: Sequence[DayTotal], span: range) -> Figures:
    """Return the figures of a span of days, from their totals."""
    by_day = _by_day(totals, span)
    fees = [each for each in totals if each.measure == "fee" and each.asset == STABLE]
    volumes = [each for each in totals if each.measure == "volume"]
    owners = [each for each in totals if each.measure in ("partner", "broker")]
    earned = [each for each in totals if each.measure == "earned" and each.asset == STABLE]
    return Figures(
        len(span),
        _total(by_day),
        _chart("Swapped a day, in dollars, by asset", volumes, span, _asset, _value),
        _chart("Swapped a day, in dollars, by partner", owners, span, _owner, _value),
        _chart("Fees a day, in dollars, by kind", fees, span, lambda each: each.name, _amount),
        _chart("Commissions a day, in dollars, by account", earned, span, _owner, _amount),
        tuple(row for row in reversed(by_day) if row.count or row.earned or row.network_fee),
        _table(totals, ("volume",), _asset),
        _by_partner(totals),
        _table(totals, ("fee",), lambda each: each.name),
        _table(totals, ("earned",), lambda each: each.name),
    )


def _by_day(totals: Iterable[DayTotal], span: range) -> list[Sum]:
    rows = {day: Sum(day_text(day)) for day in span}
    for each in totals:
        row = rows[each.day]
        if each.measure == "volume":
            row.count += each.count
            row.value += each.value
        elif each.measure == "earned" and each.asset == STABLE:
            row.earned += each.amount
        elif each.measure == "fee" and each.name == "network" and each.asset == STABLE:
            row.network_fee += each.amount
    return list(rows.values())


def _total(rows: Iterable[Sum]) -> Sum:
    found = Sum("total")
    for row in rows:
        found.count += row.count
        found.value += row.value
        found.earned += row.earned
        found.network_fee += row.network_fee
    return found


def _table(
    totals: Iterable[DayTotal], measures: tuple[str, ...], name: Callable[[DayTotal], str]
) -> tuple[Sum, ...]:
    """Return a row for each name and asset, the largest first."""
    rows: dict[tuple[str, str], Sum] = {}
    for each in totals:
        if each.measure in measures:
            row = rows.setdefault((name(each), each.asset), Sum(name(each), each.asset or None))
            row.count += each.count
            row.amount += each.amount
            row.value += each.value
    ordered = sorted(rows.values(), key=lambda row: (row.value, row.count, row.amount), reverse=True)
    return tuple(ordered[:MAX_ROWS])


def _by_partner(totals: Iterable[DayTotal]) -> tuple[Sum, ...]:
    """Return a row for each partner, and for each broker account of swaps without a partner.

    Partners' rows have what was earned from their swaps.
    """
    rows: dict[tuple[str, bool], Sum] = {}
    for each in totals:
        if each.measure in ("partner", "broker"):
            key = (each.name, each.measure == "broker")
            row = rows.setdefault(key, Sum(each.name, is_account=key[1]))
            row.count += each.count
            row.value += each.value
    for each in totals:
        if each.measure == "earned_with" and each.asset == STABLE and (each.name, False) in rows:
            rows[each.name, False].earned += each.amount
    return tuple(sorted(rows.values(), key=lambda row: row.value, reverse=True)[:MAX_ROWS])


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
    for each in totals:
        series[name(each)][each.day - span[0]] += number(each) / 10**USDC_DECIMALS
    if not any(any(values) for values in series.values()):
        return None
    return stacked(title, [day_text(day)[5:] for day in span], series, _scale)


def _scale(value: float) -> str:
    """Return a value of an axis as text."""
    for size, unit in ((1e9, " bn"), (1e6, " m"), (1e3, " k")):
        if value >= size:
            return f"${value / size:,.1f}{unit}".replace(".0", "")
    return f"${value:,.0f}" if value >= 10 or value == 0 else f"${value:,.2f}"
