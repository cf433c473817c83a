"""The tables of the threat model name tests and rows of `scripts/redteam`, and each of them exists."""

from __future__ import annotations

import ast
import re
from functools import cache

from scripts.redteam_suite.rows import ROWS
from tests.process import ROOT

TABLE = ROOT / "docs" / "design" / "threat-model.md"
ROW = re.compile(r"^\| (?P<lie>[^|]+) \| (?P<reaction>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
REDTEAM = re.compile(r"`scripts/redteam (?P<row>\d+)`")
TEST = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<name>\w+)(?:\[(?P<case>[^`]+)\])?`")


@cache
def functions(file: str) -> dict[str, str]:
    """Return the test functions of a file, with the file's text."""
    text = (ROOT / "tests" / file).read_text()
    nodes = ast.walk(ast.parse(text))
    return {node.name: text for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_each_attack_of_the_tables_is_played_by_a_test_or_a_row_that_exists() -> None:
    """Name an existing test or row for each attack of the threat model's tables."""
    rows = [row for row in ROW.finditer(TABLE.read_text()) if row["tests"] not in ("test", "---")]
    assert len(rows) > 50
    for row in rows:
        named = list(TEST.finditer(row["tests"]))
        played = [match["row"] for match in REDTEAM.finditer(row["tests"])]
        assert named or played, f"{row['lie']}: no test is named"
        assert set(played) <= set(ROWS), f"{row['lie']}: scripts/redteam has no row {played}"
        assert REDTEAM.sub("", TEST.sub("", row["tests"])).strip() == "", f"{row['lie']}: {row['tests']}"
        for test in named:
            text = functions(test["file"]).get(test["name"])
            assert text is not None, f"{row['lie']}: {test['file']} has no {test['name']}"
            assert test["case"] is None or f'"{test["case"]}"' in text, f"{row['lie']}: no {test['case']}"


def test_each_attack_that_is_played_is_in_the_tables() -> None:
    """List each row of the red team in the threat model's tables."""
    listed = {match["row"] for match in REDTEAM.finditer(TABLE.read_text())}
    assert listed == set(ROWS) - {"0"}, "row 0 is the node without an attack"
