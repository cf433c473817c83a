"""Recorded prices and swaps, from two CSV files.

Prices have the columns `time`, `asset` and `price`, swaps `time`, `from`, `to` and `amount`, in any order
below a header. Both files are read completely before anything starts, and an error names every bad line.
Lines may be in any order; records of the same time keep that of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN
from pathlib import Path
from typing import Generic, TypeVar

from cfnode.core.assets import ASSETS, asset_in_text, asset_text, text_of
from cfnode.core.foreign import ForeignError, decimal_number
from cfnode.sdk.amounts import base_units
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.times import read_time, time_text
from cfnode.testing.replay.errors import BadRecords

__all__ = ["QUOTE", "Price", "RecordedSwap", "check_swaps", "newest", "read_prices", "read_swaps"]

QUOTE = "Usdc"
"""The asset in which pools quote their prices."""
PRICE_COLUMNS = ("time", "asset", "price")
SWAP_COLUMNS = ("time", "from", "to", "amount")
MAX_RECORD_FILE_BYTES = 256 * 1024 * 1024
MAX_LINE_CHARS = 1_000
MAX_FAULTS = 50
"""Maximum faults that are listed; of the others an error has the number."""
DOLLAR_DECIMALS = 6
MAX_MICRODOLLARS = 2**60 - 1
"""The greatest price that the development chain accepts: above 10^12 dollars."""
_NO_POOL = {"Dot"}
"""Assets that are known and have no pool any more."""


@dataclass(frozen=True, slots=True)
class Price:
    """A recorded price: microdollars of a whole unit of the asset. `time`: Unix milliseconds."""

    time: int
    asset: str
    microdollars: int
    line: int


@dataclass(frozen=True, slots=True)
class RecordedSwap:
    """A swap of a user: base units of the asset `source`, sent at `time` (Unix milliseconds)."""

    time: int
    source: str
    destination: str
    amount: int
    line: int


Record = TypeVar("Record", Price, RecordedSwap)


def read_prices(path: Path) -> tuple[Price, ...]:
    """Read the prices of a file by time, to the microdollar (half to even).

    Raises BadRecords with all faults.
    """
    return _File(path, PRICE_COLUMNS, _price).records()


def read_swaps(path: Path) -> tuple[RecordedSwap, ...]:
    """Read the swaps of a file by time. Raises BadRecords with all faults."""
    return _File(path, SWAP_COLUMNS, _swap).records()


def check_swaps(path: Path, swaps: Sequence[RecordedSwap], prices: Sequence[Price]) -> None:
    """Raise BadRecords if the price of a swapped asset is not known at the time of the swap."""
    first = dict[str, int]()
    for price in prices:
        first.setdefault(price.asset, price.time)
    faults = [
        f"line {swap.line}: the file of prices has no price of {text_of(asset)} at or before "
        f"{time_text(swap.time)}"
        for swap in sorted(swaps, key=lambda swap: swap.line)
        for asset in (swap.source, swap.destination)
        if asset != QUOTE and first.get(asset, swap.time + 1) > swap.time
    ]
    if faults:
        raise BadRecords.of(path, faults, MAX_FAULTS)


def newest(prices: Iterable[Price]) -> dict[str, int]:
    """Return the last price of each asset, in microdollars by asset name."""
    return {price.asset: price.microdollars for price in prices}


class _File(Generic[Record]):
    """One file; `read` makes a record of the cells of a line, or raises ValueError with the reason."""

    def __init__(
        self, path: Path, columns: Sequence[str], read: Callable[[Sequence[str], int], Record]
    ) -> None:
        self._path, self._columns = path, tuple(columns)
        self._read: Callable[[Sequence[str], int], Record] = read
        self._faults = list[str]()

    def records(self) -> tuple[Record, ...]:
        records = tuple(self._records())
        if not records and not self._faults:
            self._faults.append("the file has no records")
        if self._faults:
            raise BadRecords.of(self._path, self._faults, MAX_FAULTS)
        return tuple(sorted(records, key=lambda record: record.time))

    def _records(self) -> Iterator[Record]:
        rows = self._rows()
        header = next(rows, None)
        if header is None or sorted(header[1]) != sorted(self._columns):
            number = 1 if header is None else header[0]
            text = f"line {number}: expected the header {','.join(self._columns)}"
            self._faults.append(text)
            return
        order = [header[1].index(column) for column in self._columns]
        for number, cells in rows:
            if len(cells) != len(order):
                self._faults.append(f"line {number}: {len(cells)} cells, and there are {len(order)} columns")
                continue
            try:
                yield self._read([cells[index] for index in order], number)
            except ValueError as error:
                self._faults.append(f"line {number}: {error}")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each line with its number, without empty lines."""
        for number, line in enumerate(self._text().split("\n"), start=1):
            if len(line) > MAX_LINE_CHARS:
                self._faults.append(f"line {number}: longer than {MAX_LINE_CHARS} characters")
            elif line.strip():
                try:
                    yield number, [cell.strip() for cell in next(csv.reader([line.strip()]))]
                except csv.Error as error:
                    self._faults.append(f"line {number}: {error}")

    def _text(self) -> str:
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_RECORD_FILE_BYTES + 1)
        except OSError as error:
            raise BadRecords(f"{self._path}: {error.strerror}") from None
        if len(data) > MAX_RECORD_FILE_BYTES:
            raise BadRecords(
                f"{self._path}: larger than {MAX_RECORD_FILE_BYTES // 1024**2} MiB; split the replay"
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            number = data.count(b"\n", 0, error.start) + 1
            raise BadRecords(f"{self._path}: line {number}: not UTF-8") from None


def _price(cells: Sequence[str], line: int) -> Price:
    time, asset, price = cells
    return Price(read_time(time), _pooled(asset), _microdollars(price), line)


def _swap(cells: Sequence[str], line: int) -> RecordedSwap:
    time, source_text, destination_text, amount = cells
    source, destination = _pooled(source_text), _pooled(destination_text)
    if source == destination:
        raise ValueError(f"expected two assets, not {text_of(source)} twice")
    try:
        units = base_units(amount, ASSETS[source])
    except ValidationError as error:
        raise ValueError(error.message) from None
    return RecordedSwap(read_time(time), source, destination, units, line)


def _pooled(text: str) -> str:
    """Return the name of an asset that has a pool, or in which pools quote.

    Raises ValueError for another asset.
    """
    asset = asset_in_text(text)
    if asset.name in _NO_POOL:
        raise ValueError(f"{asset_text(asset)} has no pool")
    return asset.name


def _microdollars(text: str) -> int:
    try:
        price = decimal_number(text)
        if price <= 0 or price.adjusted() > DOLLAR_DECIMALS * 3:
            raise ForeignError("is out of range")
    except ForeignError:
        raise ValueError(f"{text[:40]!r} is not a price in dollars above 0, such as 3000.25") from None
    microdollars = (
        int(price.scaleb(DOLLAR_DECIMALS).to_integral_value(ROUND_HALF_EVEN))
        if price.adjusted() > -MAX_LINE_CHARS
        else 0
    )
    if not 0 < microdollars <= MAX_MICRODOLLARS:
        raise ValueError(
            f"expected a price from 0.000001 to {MAX_MICRODOLLARS // 10**DOLLAR_DECIMALS}, not {text[:40]}"
        )
    return microdollars
