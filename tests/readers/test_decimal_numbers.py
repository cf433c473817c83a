"""One function reads decimal numbers: `1_0` is no amount anywhere, although Python reads it as 10."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.cli.values import Seconds, Units
from cfnode.core.foreign import ForeignError, decimal_number
from cfnode.dashboard.development import BadField, _amount
from cfnode.sdk.amounts import base_units
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.models.status import StatusFillOrKill
from cfnode.sdk.price import read_number
from cfnode.sdk.times import read_time
from cfnode.testing.replay.records import _microdollars

NONE = ("1_0", "1_000.5", "٣", "NaN", "inf", "", ".", "1e", "0x1", "1 0", "--1", "1e999999999999999999999")
READERS: dict[str, Callable[[str], Any]] = {
    "an argument": lambda text: Units().convert(text, None, None),
    "seconds": lambda text: Seconds().convert(text, None, None),
    "a price of the SDK": lambda text: read_number(text, "price"),
    "an amount of a liquidity provider": lambda text: base_units(text, "Btc"),
    "a status": lambda text: StatusFillOrKill.from_json(
        {"refundAddress": "a", "minPrice": text, "retryDurationBlocks": 1}
    ),
    "a time": read_time,
    "a record of prices": _microdollars,
    "a field of the web page": lambda text: _amount({"amount": text}, "amount", 8),
}
REFUSALS = (click.BadParameter, ValidationError, ValueError, BadField)


@pytest.mark.parametrize("text", NONE)
def test_no_other_notation_is_a_number(text: str) -> None:
    """Refuse every notation but decimal: Python itself reads `1_0` as ten."""
    with pytest.raises(ForeignError, match="is not a decimal number"):
        decimal_number(text)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["1_0", "٣"])
def test_each_reader_refuses_it(text: str, reader: str) -> None:
    """Refuse `1_0` and foreign digits in each reader of amounts, prices and times."""
    with pytest.raises(REFUSALS):
        READERS[reader](text)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_what_python_writes_is_read(number: Decimal) -> None:
    """Read every number that Python writes."""
    assert decimal_number(str(number)) == number


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_an_error(text: str) -> None:
    """Answer any text with the number that it is, or a ForeignError."""
    with suppress(ForeignError):
        assert decimal_number(text) == Decimal(text)
