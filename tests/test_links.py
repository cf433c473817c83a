"""The pages of the documentation lead to each other: links to files, and to the headings that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import dead_links as script
from scripts.dead_links import PAGES, dead_links
from tests.conftest import ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    """Lead each link of a page to a file, and to a heading in it."""
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
        ("one.md#set-by-hand", False),
        ("one.md#set-in-a-block", True),
    ],
)
def test_a_dead_link_is_noticed(link: str, dead: bool, tmp_path: Path) -> None:
    """Notice a link to a missing file or heading, and accept the others."""
    block = '```sh\n# in a block\n<a id="set-in-a-block"></a>\n```\n'
    (tmp_path / "one.md").write_text(f'# One\n\n## A `heading`\n\n{block}\n- <a id="set-by-hand"></a>text\n')
    (tmp_path / "two.md").write_text(f"# Two\n\n## Here\n\n[text]({link})\n")
    assert dead_links(tmp_path / "two.md") == [link] * dead


def test_the_script_names_the_page_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name the page and the link, and exit with 1."""
    assert script.main() == 0
    (tmp_path / "README.md").write_text("[text](none.md)\n")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PAGES", [tmp_path / "README.md"])
    assert script.main() == 1
    assert capsys.readouterr().out == "README.md: none.md: dead link\n"
