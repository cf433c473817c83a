"""Tables and records whose values can be copied: whole, and each on one line.

No value is shortened, folded or broken, at a terminal or in a pipe. A table has one line for each row, as
long as its values are. A terminal that is narrower than the table gets a record for each row instead, one
line for each value; where even such a line is too long the terminal wraps it, and still copies it as one
line. A command to paste has a line for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from cfnode.cli.colours import style_of
from cfnode.cli.output import console, print_text
from cfnode.core.safe_text import without_controls

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "Fields",
    "print_command",
    "print_record",
    "print_side_by_side",
    "print_table",
    "record_text",
    "table_text",
]

Fields = Sequence[tuple[str, str]]
"""Names and values; those without a value are not printed. A value may have several lines."""
_GAP = "  "


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
    """Print a table, or records on a narrow terminal; without rows `empty` on standard error."""
    filled = list(rows)
    if filled:
        _print(table_text(columns, filled, width=_width()))
    else:
        click.echo(empty, err=True)


def print_record(fields: Fields, title: str = "") -> None:
    """Print names and values on standard output."""
    _print(record_text(fields, title))


def print_side_by_side(records: Sequence[tuple[str, Fields]], title: str = "") -> None:
    """Print titled records with the same names: a column for each, or one below the other if narrow."""
    names = [name for name, _ in records[0][1]] if records else []
    columns = ["", *(head for head, _ in records)]
    rows = [(name, *(fields[index][1] for _, fields in records)) for index, name in enumerate(names)]
    filled = [row for row in rows if any(row[1:])]
    width = _width()
    if width is None or _needed(columns, filled) <= width:
        print_text(title)
        _print(table_text(columns, filled))
        return
    for head, fields in records:
        print_record(fields, f"{title}, {head}")


def print_command(purpose: str, command: str, *, err: bool = False) -> None:
    """Print a command to paste, on a line of its own below its purpose."""
    print_text(f"{purpose}:\n{command}", err=err)


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> Text:
    """Return a table without lines, or a record for each row if the table is wider than `width`."""
    from rich.text import Text

    if width is not None and _needed(columns, rows) > width:
        records = [record_text(list(zip(columns, row, strict=True))) for row in rows]
        return Text("\n\n").join(records)
    widths = _widths(columns, rows)
    lines = [_line(parts, widths) for row in rows for parts in zip_longest(*map(_parts, row), fillvalue="")]
    head = _line(columns, widths)
    head.stylize("bold")
    return Text("\n").join([head, *lines])


def record_text(fields: Fields, title: str = "") -> Text:
    """Return a line for each name and value, below a title."""
    from rich.text import Text

    filled = [(name, value) for name, value in fields if value]
    indent = max((len(name) for name, _ in filled), default=0)
    head = [Text(without_controls(title), f"bold {style_of(title)}")] if title else []
    lines = [
        Text(f"{label:<{indent}}{_GAP}").append(part, style_of(part))
        for name, value in filled
        for label, part in zip_longest([name], _parts(value), fillvalue="")
    ]
    return Text("\n").join([*head, *lines])


def _print(text: Text) -> None:
    console().print(text, soft_wrap=True)


def _width() -> int | None:
    """Return the columns of the terminal; None in a pipe or a file, which take lines of any length."""
    screen = console()
    return screen.width if screen.is_terminal else None


def _parts(value: str) -> list[str]:
    """Return the lines of a value, without control characters: cells repeat what servers write."""
    return without_controls(value).expandtabs(1).split("\n")


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    cells = [[[name], *(_parts(row[index]) for row in rows)] for index, name in enumerate(columns)]
    return [max(cell_len(part) for parts in column for part in parts) for column in cells]


def _needed(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widths = _widths(columns, rows)
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(parts: Sequence[str], widths: Sequence[int]) -> Text:
    from rich.cells import cell_len
    from rich.text import Text

    line = Text()
    for part, width in zip(parts, widths, strict=True):
        line.append(part, style_of(part)).append(" " * (width - cell_len(part)) + _GAP)
    line.rstrip()
    return line
