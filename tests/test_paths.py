"""The pages of paths through the code: each name of a step stands in a file that the step links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted((ROOT / "docs" / "design").glob("path-*.md"))
STEP = re.compile(r"^\d+\. .*(?:\n {3}.*)*", re.MULTILINE)
FILE = re.compile(r"\]\((\.\./\.\./cfnode/[\w/]+\.py)\)")
LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
NAME = re.compile(r"`([^`]+)`")


def missing_names(step: str, folder: Path) -> list[str]:
    """Return the names of a step that no file of its links contains; all of them if it links none."""
    text = "\n".join((folder / path).read_text() for path in FILE.findall(step))
    names = NAME.findall(LINK.sub("", step))
    return [name for name in names if not all(_stands_in(part, text) for part in name.split("."))]


def _stands_in(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def test_there_are_three_paths() -> None:
    """Find exactly the three pages of paths."""
    assert [page.stem for page in PAGES] == ["path-light-node", "path-partner-request", "path-swap"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_step_links_files_that_have_its_names(page: Path) -> None:
    """Link from each step files that hold every name the step mentions."""
    steps = STEP.findall(page.read_text())
    assert len(steps) > 10
    assert [step for step in steps if not FILE.search(step) or not NAME.search(LINK.sub("", step))] == []
    missing = {step.splitlines()[0]: missing_names(step, page.parent) for step in steps}
    assert {step: names for step, names in missing.items() if names} == {}


@pytest.mark.parametrize(
    ("names", "missing"),
    [("`PeerSet.rank`, `PeerRecord`", []), ("`PeerSet.bank`", ["PeerSet.bank"]), ("`PeerSe`", ["PeerSe"])],
)
def test_a_name_that_the_code_lacks_is_noticed(names: str, missing: list[str]) -> None:
    """Notice a name that the linked file lacks, also one that only begins a longer name."""
    step = f"1. [`x`](../../cfnode/node/asking/peer_set.py): {names}."
    assert missing_names(step, ROOT / "docs" / "design") == missing
