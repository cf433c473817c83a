"""Filter of the page's list of swaps, from the fields of its form, and the form's fields again.

A field that cannot be read keeps its text in the form, with a fault that says what it may be; then no swap is
listed. Texts have a bound, and are never part of a query's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from cfnode.core import ss58
from cfnode.core.assets import ASSETS
from cfnode.dashboard.amounts import smallest_units
from cfnode.ledger.kinds import Owner
from cfnode.ledger.reports import Period
from cfnode.ledger.swap_list import SwapFilter
from cfnode.swaps.journey import REQUEST_STATES, JourneyState

__all__ = ["FIELDS", "FilterForm"]

FIELDS: Final = (
    *("state", "source", "target", "least", "most", "partner", "account", "first", "last", "owner"),
)
MAX_FILTER_FIELD_CHARS: Final = 100
"""Maximum characters of a field."""
ALL_OWNERS: Final = "all"
"""The owner of all swaps; without a choice the list has those of customers."""


@dataclass(frozen=True, slots=True)
class FilterForm:
    """Form of the filter: texts by field, faults by field, and the filter that the texts are."""

    texts: Mapping[str, str]
    faults: Mapping[str, str]
    wanted: SwapFilter

    @classmethod
    def read(cls, params: Mapping[str, str]) -> FilterForm:
        """Return the form of a request's parameters."""
        stripped = {name: params.get(name, "").strip() for name in FIELDS}
        faults = {
            name: f"At most {MAX_FILTER_FIELD_CHARS} characters."
            for name in FIELDS
            if len(stripped[name]) > MAX_FILTER_FIELD_CHARS
        }
        texts = {name: text[:MAX_FILTER_FIELD_CHARS] for name, text in stripped.items()}
        values: dict[str, Any] = {}
        for name in FIELDS:
            if texts[name] and name in _READERS and name not in faults:
                try:
                    values[name] = _READERS[name](texts[name])
                except ValueError as error:
                    faults[name] = str(error)
        _read_amounts(texts, values, faults)
        if not faults and "first" in values and "last" in values and values["first"] > values["last"]:
            faults["last"] = "This day is before the first one."
        return cls(texts, faults, SwapFilter() if faults else _filter(values))

    @property
    def query(self) -> str:
        """The filter as parameters of an address, which end with `&`; empty without a filter."""
        text = urlencode({name: text for name, text in self.texts.items() if text})
        return f"{text}&" if text else ""

    @property
    def is_plain(self) -> bool:
        """Whether no field is filled."""
        return not any(self.texts.values())


def _filter(values: Mapping[str, Any]) -> SwapFilter:
    start, end = values.get("first"), values.get("last")
    period = Period(_ms(start), None if end is None else _ms(end + timedelta(days=1)))
    names = ("state", "source", "target", "partner", "account", "least", "most")
    swap_filter = SwapFilter(**{name: values.get(name) for name in names}, period=period)
    owner = values.get("owner", Owner.CUSTOMER)
    return replace(swap_filter, owner=None if owner == ALL_OWNERS else owner)


def _read_amounts(texts: Mapping[str, str], values: dict[str, Any], faults: dict[str, str]) -> None:
    """Add the bounds of the deposit to the values; they count coins of the chosen asset."""
    for name in ("least", "most"):
        if not texts[name] or name in faults:
            continue
        if "source" not in values:
            faults[name] = "Choose the asset of the deposit, too."
            continue
        try:
            values[name] = smallest_units(texts[name], ASSETS[values["source"]].decimals)
        except ValueError as error:
            faults[name] = str(error)
    if not faults and "least" in values and "most" in values and values["least"] > values["most"]:
        faults["most"] = "This amount is below the smallest one."


def _ms(day: date | None) -> int | None:
    """Return the beginning of a day (UTC) in Unix ms."""
    if day is None:
        return None
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _state(text: str) -> JourneyState:
    if text not in {state.value for state in REQUEST_STATES}:
        raise ValueError("Choose a state of the list.")
    return JourneyState(text)


def _asset(text: str) -> str:
    if text not in ASSETS:
        raise ValueError("Choose an asset of the list.")
    return text


def _partner(text: str) -> str:
    if not text.isprintable():
        raise ValueError("Write the name of a partner.")
    return text


def _account(text: str) -> str:
    try:
        return ss58.encode(ss58.decode(text)[1])
    except ValueError:
        raise ValueError("Write an account of the State Chain (cF…).") from None


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not 1970 <= day.year < 9999:
        raise ValueError("Write a day such as 2026-11-25.")
    return day


def _owner(text: str) -> Any:
    if text == ALL_OWNERS:
        return ALL_OWNERS
    if text not in {owner.value for owner in Owner}:
        raise ValueError("Choose whose swaps are listed.")
    return Owner(text)


_READERS: Final = {
    "state": _state,
    "source": _asset,
    "target": _asset,
    "partner": _partner,
    "account": _account,
    "first": _day,
    "last": _day,
    "owner": _owner,
}
