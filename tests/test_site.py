"""The documentation as a site: complete, the same as on a code forge, strict, and without the internet."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from cfnode import __version__
from scripts.dead_links import LINK
from scripts.site.navigation import (
    SECTIONS,
    InNoSection,
    about,
    navigation,
    section_of,
    without_source_links,
)
from tests.conftest import ROOT
from tests.lengths import only_whole
from tests.support.site import build

pytestmark = pytest.mark.world

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=\"?([^\s\">]+)")
CSS_LOADED = re.compile(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//")
COUNTED = {"li", "ol", "ul", "table", "tr", "th", "pre", "code", "blockquote", "h1", "h2", "h3", "strong"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site."""
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT, target)
    assert done.returncode == 0, done.stderr
    return target


def built(site: Path, page: str) -> str:
    """Return the HTML of a page."""
    name = page.removesuffix(".md").removesuffix("README")
    return (site / name / "index.html").read_text()


class Tags(HTMLParser):
    """Counts the tags of a text, or of the article in it."""

    def __init__(self, text: str, *, is_article: bool) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._inside = not is_article
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count a tag of the article."""
        self._inside |= tag == "article"
        self.counts[tag] += self._inside and tag in COUNTED

    def handle_endtag(self, tag: str) -> None:
        """Leave the article at its end."""
        self._inside &= tag != "article"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_reads_on_the_site_as_on_a_forge(site: Path, page: str) -> None:
    """Build a page with the elements that a code forge displays: a list must not become a paragraph."""
    forge = MarkdownIt("commonmark").enable("table").render((DOCS / page).read_text())
    expected = Tags(forge, is_article=False).counts
    assert expected["h1"] == 1
    assert Tags(built(site, page), is_article=True).counts == expected


def placed(pages: list[str]) -> list[tuple[str, str, str]]:
    """Return the tab, the section and the path of each page of a navigation."""
    return [
        (tab, section, page)
        for tabs in navigation(pages)
        for tab, sections in tabs.items()
        for group in sections
        for section, pages_of_it in group.items()
        for page in pages_of_it
    ]


def test_each_page_is_in_exactly_one_section() -> None:
    """Place each page in exactly one section, and keep no pattern without a page."""
    listed = Counter(page for _, _, page in placed([*PAGES, "about.md"]))
    assert listed == Counter([*PAGES, "about.md"])
    patterns = [
        pattern for sections in SECTIONS.values() for patterns in sections.values() for pattern in patterns
    ]
    assert set(Counter(patterns).values()) == {1}
    assert [path for path in patterns if "*" not in path and path not in listed] == []


def test_no_section_is_empty() -> None:
    """Have pages in each section."""
    sections = [(tab, section) for tab, sections in SECTIONS.items() for section in sections]
    assert list(dict.fromkeys(place[:2] for place in placed([*PAGES, "about.md"]))) == sections
    assert len(SECTIONS) == 5


def test_no_two_pages_of_the_navigation_have_one_title(site: Path) -> None:
    """Give no two pages of the navigation one title."""
    text = built(site, "README.md")
    (part,) = re.findall(r"<nav class=\"md-nav md-nav--primary.*?</nav>\s*</div>", text, re.DOTALL)
    links = re.findall(
        r'<a href="?([^"\s>#]+)"? class="md-nav__link[^>]*>\s*<span class="?md-ellipsis"?>\s*([^<]+?)\s*<',
        part,
    )
    pages = {title: link for link, title in links if link.endswith("/") or link == "."}
    assert {"Home", "The project", "Quick start", "Glossary"} < pages.keys()
    assert len(set(pages.values())) == len(pages) > 60


@pytest.mark.parametrize("page", ["README.md", "guide/install.md", "design/house.md"])
def test_the_version_is_at_the_foot_of_each_page(site: Path, page: str) -> None:
    """Print the version at the foot of each page."""
    (foot,) = re.findall(r"<footer.*?</footer>", built(site, page), re.DOTALL)
    assert re.search(rf"\bcfnode {re.escape(__version__)}\s*<", foot)


def test_the_first_page_has_the_three_ways_in_with_their_commands(site: Path) -> None:
    """Open with the three ways in, each with its first command."""
    text = (DOCS / "README.md").read_text()
    first = re.findall(r"^## (.+)\n\nFirst command: `(cfnode [^`]+)`$", text, re.MULTILINE)
    assert first == [
        ("Run a node", "cfnode run --chain=berghain --sync=light-rpc --rpc-methods=safe"),
        ("Integrate swaps", "cfnode run --dev --dev-broker //Alice"),
        ("Recover a transfer", "cfnode recover --for ADDRESS"),
    ]


def test_the_pages_of_operators_are_together() -> None:
    """Place the operators' pages in one tab."""
    operators = {page for tab, _, page in placed(PAGES) if tab == "Operate"}
    assert {
        f"guide/{name}.md" for name in ("operating", "deployment", "keys", "ledger", "web-page")
    } < operators


@pytest.mark.parametrize("page", ["README.md", "guide/ledger.md", "reference/cli.md"])
def test_the_navigation_of_each_page_leads_to_all_tabs_and_pages(site: Path, page: str) -> None:
    """Lead from each page to all tabs and pages."""
    text = built(site, page)
    assert re.findall(r'class="?md-tabs__link"?[^>]*>\s*([^<]+?)\s*<', text) == list(SECTIONS)
    (navigation_part,) = re.findall(r"<nav class=\"md-nav md-nav--primary.*?</nav>\s*</div>", text, re.DOTALL)
    path = site / page.removesuffix(".md").removesuffix("README")
    links = {(path / link).resolve() for link in re.findall(r'href="?([^"\s>#]+)', navigation_part)}
    names = [page.removesuffix(".md").removesuffix("README") for page in [*PAGES, "about.md"]]
    assert [name for name in names if (site / name).resolve() not in links] == []


@pytest.mark.parametrize(
    ("page", "section"),
    [
        ("guide/a-new-page.md", ("Integrate", "Tests")),
        ("guide/deployment.md", ("Operate", "A node")),
        ("guide/recover-tron.md", ("Integrate", "Recovery")),
        ("guide/scenarios/new.md", ("Integrate", "Scenarios")),
        ("design/new.md", ("Design", "The parts")),
        ("reference/metrics.md", ("Reference", "Node")),
    ],
)
def test_a_later_page_finds_its_section(page: str, section: tuple[str, str]) -> None:
    """Place a later page by the patterns of its folder."""
    assert section_of(page) == section


def test_a_page_in_no_section_is_an_error_with_its_name() -> None:
    """Refuse a page in no section, by its name."""
    with pytest.raises(InNoSection, match=r"docs/notes/stray\.md is in no section of the site: add it"):
        navigation([*PAGES, "notes/stray.md"])


def test_links_to_source_files_are_texts_on_the_site() -> None:
    """Turn links to source files, which the site does not have, into text."""
    step = "1. [`node/node.py`](../../cfnode/node/node.py): `Node`, see [the sync](sync.md)"
    assert without_source_links(step) == "1. `node/node.py`: `Node`, see [the sync](sync.md)"


def test_the_readme_of_the_project_is_a_page(site: Path) -> None:
    """Build the project's README as a page, with its links and pictures."""
    readme = (ROOT / "README.md").read_text()
    assert "](docs/" in readme
    for link in LINK.findall(about(readme)):
        assert link.startswith("http") or (DOCS / link).exists()
    page = built(site, "about.md")
    assert "It trusts no peer" in page
    pictures = re.findall(r"<img[^>]*\bsrc=\"?([^\"\s>]+)", page)
    assert [Path(picture).name for picture in pictures] == ["first-swap.svg", "web-page-now.png"]
    assert all((site / "about" / picture).exists() for picture in pictures)


def test_reading_requests_nothing_from_the_internet(site: Path) -> None:
    """Load nothing from the internet: readers stay private, and the site works offline."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        text = page.read_text()
        loaded = LOADED.findall(re.sub(r"<link[^>]*rel=\"?canonical\"?[^>]*>", "", text))
        assert len(loaded) > 3
        assert [link for link in loaded if re.match(r"(?:https?:)?//", link)] == []
        assert "default-src 'self' file: data: blob: 'unsafe-inline'" in text, (
            "the browser refuses the others"
        )
        assert 'class="mermaid"' not in text, "the theme loads mermaid from elsewhere"
    sheets = sorted(site.rglob("*.css"))
    assert sheets
    assert [sheet for sheet in sheets if CSS_LOADED.search(sheet.read_text())] == []


class Targets(HTMLParser):
    """The links of a built page, and the names that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link or a name that links can lead to."""
        named = dict(attrs)
        self.names |= {named.get("id") or "", named.get("name") or ""}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"] or "")


def dead_links(site: Path) -> list[str]:
    """Return the links of all pages that lead to no file of the site, or to no place in it."""
    pages = {path.resolve(): Targets(path.read_text()) for path in site.rglob("*.html")}
    dead = []
    for page, parsed in pages.items():
        for link in parsed.links:
            path, _, name = unquote(link).partition("#")
            if page.name == "404.html" or re.match(r"https?:|mailto:", path):
                continue
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (target in pages and name not in pages[target].names):
                dead.append(f"{page.relative_to(site.resolve())}: {link}")
    return dead


def test_each_link_of_the_built_site_leads_somewhere(site: Path) -> None:
    """Lead each link of the built site to a page and to a place in it."""
    assert dead_links(site) == []


def test_a_dead_link_of_a_built_page_is_noticed(site: Path, tmp_path: Path) -> None:
    """Notice a link to a missing page or place in the built site."""
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    index = copy / "index.html"
    index.write_text(
        index.read_text().replace("</article>", '<a href="nowhere/">1</a><a href="about/#no">2</a></article>')
    )
    assert dead_links(copy) == ["index.html: nowhere/", "index.html: about/#no"]


@pytest.fixture
def small_project(tmp_path: Path) -> Path:
    """Return a project with the site's configuration and two pages."""
    shutil.copytree(ROOT / "scripts" / "site", tmp_path / "scripts" / "site")
    (tmp_path / "README.md").write_text("# A project\n\n[Docs](docs/README.md)\n")
    (tmp_path / "cfnode").mkdir()
    (tmp_path / "cfnode" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    (tmp_path / "docs" / "README.md").write_text("# Docs\n\n[one](guide/one.md#a-thing--its-name)\n")
    (tmp_path / "docs" / "guide" / "one.md").write_text("# One\n\n## A thing – its `name`\n")
    return tmp_path


@pytest.mark.parametrize(
    ("page", "text", "complaint"),
    [
        ("guide/one.md", "# One\n\n## A thing – its `name`\n", None),
        ("guide/two.md", "# Two\n\n[dead](three.md)\n", "three.md"),
        pytest.param(
            "guide/two.md", "# Two\n\n[dead](one.md#no-such-heading)\n", "no-such-heading", marks=only_whole
        ),
        pytest.param("guide/two.md", "# Two\n\n[dead](#nor-here)\n", "nor-here", marks=only_whole),
        pytest.param(
            "guide/two.md",
            "# Two\n\n[absolute](/docs/guide/one.md)\n",
            "/docs/guide/one.md",
            marks=only_whole,
        ),
        ("stray.md", "# Stray\n", "docs/stray.md is in no section of the site"),
    ],
)
def test_a_dead_link_or_a_stray_page_ends_the_build(
    small_project: Path, page: str, text: str, complaint: str | None
) -> None:
    """End the build at a dead link or a page in no section, and name it."""
    (small_project / "docs" / page).write_text(text)
    done = build(small_project, small_project / "site")
    assert (done.returncode == 0) == (complaint is None), done.stderr
    assert complaint is None or complaint in done.stderr


@pytest.mark.parametrize("link", ["three.md", pytest.param("#nor-here", marks=only_whole)])
def test_the_check_fails_at_a_dead_link(small_project: Path, link: str) -> None:
    """Fail `scripts/check` at a dead link in the documentation."""
    (last,) = re.findall(r"^site=.*$", (ROOT / "scripts" / "check").read_text(), re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", "-eu", "-c", last]
    env = {**os.environ, "PATH": path}

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=small_project, env=env, capture_output=True, text=True, timeout=180, check=False
        )

    assert check().returncode == 0
    (small_project / "docs" / "guide" / "two.md").write_text(f"# Two\n\n[dead]({link})\n")
    done = check()
    assert (done.returncode, link in done.stderr) == (1, True)
