"""The page about the owner of a swap prints the tables of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.swaps.tables import payout_table, state_table, step_table

PAGE = Path(__file__).parents[2] / "docs/design/swaps.md"


@pytest.mark.parametrize("table", [state_table(), step_table(), payout_table()])
def test_the_page_has_the_tables(table: str) -> None:
    assert table in PAGE.read_text()
