"""The pages of the documentation lead to each other: links to files, and to the headings that they name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def headings(page: Path) -> set[str]:
    """The anchors of a page."""
    return {anchor_of(title) for title in HEADING.findall(FENCE.sub("", page.read_text()))}


def anchor_of(title: str) -> str:
    """A heading's anchor, as code forges make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def is_dead(page: Path, link: str) -> bool:
    """Whether a link of a page leads to no file, or to no heading of one; no request is sent."""
    if link.startswith(("http:", "https:")):
        return False
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return not target.exists() or (bool(anchor) and anchor not in headings(target))


def dead_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(FENCE.sub("", page.read_text())) if is_dead(page, link)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        ("one.md#a-heading", False),
        ("#here", False),
        ("https://example.org/", False),
        ("three.md", True),
        ("one.md#no-heading", True),
        ("#nor-here", True),
        ("one.md#in-a-block", True),
    ],
)
def test_a_dead_link_is_noticed(link: str, dead: bool, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\n## A `heading`\n\n```sh\n# in a block\n```\n")
    (tmp_path / "two.md").write_text(f"# Two\n\n## Here\n\n[text]({link})\n")
    assert dead_links(tmp_path / "two.md") == [link] * dead
