"""The table of lies names tests, and each of them exists."""

from __future__ import annotations

import ast
import re

from tests.process import ROOT

TABLE = ROOT / "docs" / "design" / "lies.md"
ROW = re.compile(r"^\| (?P<lie>[^|]+) \| (?P<reaction>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<name>\w+)(?:\[(?P<case>[^`]+)\])?`")


def functions(file: str) -> dict[str, str]:
    """The test functions of a file, with the file's text."""
    text = (ROOT / "tests" / file).read_text()
    nodes = ast.walk(ast.parse(text))
    return {node.name: text for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_each_lie_of_the_table_is_played_by_a_test_that_exists() -> None:
    rows = [row for row in ROW.finditer(TABLE.read_text()) if row["tests"] not in ("test", "---")]
    assert len(rows) > 50
    for row in rows:
        named = list(TEST.finditer(row["tests"]))
        assert named, f"{row['lie']}: no test is named"
        assert TEST.sub("", row["tests"]).strip() == "", f"{row['lie']}: {row['tests']}"
        for test in named:
            text = functions(test["file"]).get(test["name"])
            assert text is not None, f"{row['lie']}: {test['file']} has no {test['name']}"
            assert test["case"] is None or f'"{test["case"]}"' in text, f"{row['lie']}: no {test['case']}"
