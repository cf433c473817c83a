"""Each row of the table of differences from the official node names tests that exist, or why none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "design" / "official.md"
TESTS = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
CELL = re.compile(r"(?<!\\)\|")
NAME = re.compile(r"`((?:\w+/)*\w+(?:\.py)?)`")
NO_TEST = re.compile(r"none: \w.{5,}")


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    found = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines]
    return [cells for cells in found if cells[-1] != "test"]


def exists(name: str) -> bool:
    return name in TESTS if "/" not in name else (ROOT / Path(name)).exists()


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0][:50])
def test_a_row_names_tests_that_exist_or_a_reason(cells: list[str]) -> None:
    assert len(cells) == 5
    assert all(cells[:4])
    names = NAME.findall(cells[4])
    assert all(map(exists, names)), names
    assert names or NO_TEST.fullmatch(cells[4]), cells[4]


def test_the_table_has_rows() -> None:
    assert len(rows()) > 80
