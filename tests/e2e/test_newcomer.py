"""From the site alone: a newcomer installs the wheel, and follows the first page for operators to its end.

The page is read as a browser shows it, and pasted as it stands, with what its commands print. Only ports are
chosen here, and packages come from a folder in the place of the index.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.deploy.wheel import WHEELS, built_wheel, give_build_tools, project_copy
from tests.documentation import block
from tests.e2e.guide import stands_for
from tests.e2e.newcomer import Newcomer
from tests.support.ports import free_port
from tests.support.site import build

pytestmark = pytest.mark.world

PAGE = "guide/first-broker/"
QUICK_START = "docs/guide/quick-start.md"


@dataclass
class Code:
    """A block of a page: its language and its text."""

    language: str
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The links of a page's article, and its blocks of code."""

    text: str
    links: list[str] = field(default_factory=list)
    blocks: list[Code] = field(default_factory=list)
    _is_article: bool = False
    _is_code: bool = False

    def __post_init__(self) -> None:
        """Parse the page."""
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link of the article, and the beginning of a block."""
        named = dict(attrs)
        self._is_article |= tag == "article"
        if self._is_article and tag == "a":
            self.links.append(named.get("href") or "")
        if match := re.search(r"\blanguage-(\w+)", named.get("class") or ""):
            self.blocks.append(Code(match[1]))
        self._is_code |= tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        """Note the end of the article or of a block."""
        self._is_article &= tag != "article"
        self._is_code &= tag != "pre"

    def handle_data(self, data: str) -> None:
        """Append the text of a block."""
        if self._is_code:
            self.blocks[-1].text += data


def is_printed(documented: str, printed: str) -> bool:
    """Return whether a line of a page is among the printed ones."""
    return any(stands_for(documented, line) for line in printed.splitlines())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@contextmanager
def person_in(home: Path) -> Iterator[Newcomer]:
    """Yield a newcomer whose shell ends with the test."""
    person = Newcomer(home, free_port())
    try:
        yield person
    finally:
        person.end()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    """Yield a newcomer with the wheel in the folder, and nothing installed."""
    if not WHEELS.is_dir():
        pytest.skip("the packages are not here: scripts/deb --fetch gets them")
    wheel = built_wheel(project_copy(tmp_path / "copy"), tmp_path / "dist")
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(wheel, home)
    with person_in(home) as person:
        yield person


def test_the_page_leads_from_the_wheel_to_a_withdrawn_commission(site: Path, newcomer: Newcomer) -> None:
    """Follow the page from the wheel to a withdrawn commission, as a browser shows it."""
    assert PAGE in Page((site / "index.html").read_text()).links
    codes = Page((site / PAGE / "index.html").read_text()).blocks
    account = ""
    for code in codes:
        if code.language == "sh":
            newcomer.paste(code.text.replace("ACCOUNT", account))
        elif "Pay into it" in code.text:
            lines = code.text.splitlines()
            for purpose, command in zip(lines[::2], lines[1::2], strict=True):
                (pasted,) = re.findall(rf"^{purpose}\n(.*)$", newcomer.printed, re.MULTILINE)
                assert stands_for(command, pasted)
                printed = newcomer.paste(pasted)
            assert "COMPLETED" in printed
        else:
            for line in code.text.splitlines():
                assert is_printed(line, newcomer.printed), f"{line}\nis not in:\n{newcomer.printed}"
        account = account or "".join(re.findall(r"brok key of (cF\w+) inserted", newcomer.printed))
    assert account
    assert [code.language for code in codes].count("sh") == 7


def test_the_blocks_that_install_from_a_clone(tmp_path: Path) -> None:
    """With the tools that build in the environment, since there is no index to get them from."""
    home = project_copy(tmp_path / "project")
    with person_in(home) as person:
        person.paste("python3 -m venv env\nexport PATH=$PWD/env/bin:$PATH")
        give_build_tools(home / "env")
        person.paste(block(QUICK_START, "cfnode run --dev --dev-broker //Alice --dev-seal instant --tmp &"))
        assert "broker" in person.paste("cfnode status")
        person.paste("kill -INT %1 && wait %1")
        commands = block(QUICK_START, "cfnode run --dev --dev-broker //Alice")
        person.paste(f"{commands.rstrip()} 2> node.log &\n")
        person.paste("cfnode wait --synced --block 1 --timeout 60")
        assert "broker" in person.paste("cfnode status")
        person.paste("kill -INT %1 && wait %1")
