"""Each row of the table of differences from the official node names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "design" / "official.md"
TESTS = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
CELL = re.compile(r"(?<!\\)\|")
NAME = re.compile(r"`((?:\w+/)*\w+(?:\.py)?)`")
VAGUE = re.compile(r"the same(?! as there| text| message)")


def rows() -> list[list[str]]:
    """Return the cells of each row of the table."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    all_rows = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines]
    return [cells for cells in all_rows if cells[-1] != "test"]


def exists(name: str) -> bool:
    """Return whether a test file exists, by its name or path."""
    return name in TESTS if "/" not in name else (ROOT / Path(name)).exists()


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0][:50])
def test_a_row_names_tests_that_exist(cells: list[str]) -> None:
    """Fill all cells of a row, and name tests that exist."""
    asked, theirs, ours, tests = cells
    assert asked and theirs and ours
    names = NAME.findall(tests)
    assert all(map(exists, names)), names
    assert names, tests


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0][:50])
def test_a_row_says_what_the_same_is(cells: list[str]) -> None:
    """A row with "The same, so that …" leaves open whether the official answer is meant."""
    assert not VAGUE.match(cells[2]), cells[2]


def test_the_table_has_rows() -> None:
    """Find many rows, so that the search itself works."""
    assert len(rows()) > 80
