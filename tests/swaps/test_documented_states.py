"""The page about the owner of a swap prints the tables of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cfnode.swaps.events import Name
from tests.swaps.tables import payout_table, state_table, step_table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/design/swaps.md"


@pytest.mark.parametrize("table", [state_table(), step_table(), payout_table()])
def test_the_page_has_the_tables(table: str) -> None:
    """Print on the page each table that the code generates."""
    assert table in PAGE.read_text()


def test_each_bad_input_has_the_test_that_its_row_names() -> None:
    """Name on the page only tests that exist, so that no row claims a check that is gone."""
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    text = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 10
    assert {name for name in named if f"def {name}(" not in text} == set()


def test_the_names_of_events_about_swaps_stand_in_one_place() -> None:
    """Rooms of swaps exclude the chain's own runtime, and readers of other states of the chain."""
    rooms = ("swaps", "swap_service", "ledger", "dashboard", "devchain/swaps")
    names = {f'"{name.value}"' for name in Name}
    names_by_path = {
        str(path.relative_to(ROOT)): sorted(name for name in names if name in path.read_text())
        for room in rooms
        for path in (ROOT / "cfnode" / room).rglob("*.py")
        if any(name in path.read_text() for name in names)
    }
    assert set(names_by_path) == {"cfnode/swaps/events.py"}, names_by_path
