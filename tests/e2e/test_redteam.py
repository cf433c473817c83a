"""`scripts/redteam` in its quick version: what it measures, and what it makes of that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.redteam_suite.figures import Figure, Result, percentile, slope
from scripts.redteam_suite.observers import Looks
from tests.lengths import only_whole
from tests.process import ROOT

HELD = ("13", "8")
"""Rows that are played here, the quickest of their kinds; `scripts/redteam` plays all."""
LOAD_FIGURES = {
    "p99",
    "pause",
    "RSS",
    "RSS after",
    "lag",
    "client answered",
    "broker answered",
    "peer answered",
}
TIMES = {"p99", "pause"}
"""Measured here, too, but judged by `scripts/redteam` on a machine that does nothing else."""
ROW_S = 300


@only_whole
@pytest.mark.parametrize("row", HELD)
def test_a_quick_row_is_met(row: str, tmp_path: Path) -> None:
    """Meet the bounds of a quick row, apart from its times."""
    written = tmp_path / "figures.json"
    command = [sys.executable, "-m", "scripts.redteam_suite", row, "--quick", "--json", str(written)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=ROW_S, check=False)
    (result,) = json.loads(written.read_text())
    assert result["row"] == row
    figures = {figure["name"]: figure for figure in result["figures"]}
    if row == "8":
        assert figures.keys() >= LOAD_FIGURES
        assert all(figures[name]["measured"] > 0 for name in TIMES)
    missed = [figure for name, figure in figures.items() if name not in TIMES and not figure["met"]]
    assert missed == [], done.stdout
    assert done.returncode == (0 if result["met"] else 1)


@pytest.mark.world
def test_an_unknown_row_is_refused() -> None:
    """Refuse an unknown row."""
    command = [sys.executable, "-m", "scripts.redteam_suite", "99"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "no row 99; there are 0, 1, 2" in done.stderr


def test_a_figure_is_missed_beyond_its_bound_and_where_nothing_was_measured() -> None:
    """Miss a figure beyond its bound or without a measurement: a silent probe must not pass."""
    result = Result("1", "an attack")
    assert not result.met, "a row without figures shows nothing"
    result.add("p99", 100.0, 100.0, " ms")
    assert result.met
    result.add("answered", 17, 18, at_most=False)
    result.add("lag", percentile([], 0.99), 3)
    assert [figure.name for figure in result.missed] == ["answered", "lag"]
    assert not result.met
    assert [figure["measured"] for figure in result.as_json()["figures"]] == [100.0, 17, None]
    assert str(Figure("RSS", 512.3, 500, " MB")) == "RSS 512 MB (≤ 500 MB)"


def test_percentiles_and_slopes() -> None:
    """Compute percentiles and slopes."""
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (50, 99, 100)
    assert slope([(0, 10), (1, 12), (2, 14)]) == 2
    assert slope([(0, 10)]) == 0


def test_a_node_that_does_not_answer_stands_where_it_stood() -> None:
    """Count a node that does not answer as standing at its last height."""
    looks = Looks()
    looks.there = [(float(second), second) for second in range(10)]
    looks.here = [(0.0, 0), (1.0, 1), (2.0, 2), (8.0, 8), (9.0, 9)]
    assert looks.lag(0, 10) == [0, 0, 0, 1, 2, 3, 4, 5, 0, 0]
    assert looks.lag(3, 5) == [1, 2]
