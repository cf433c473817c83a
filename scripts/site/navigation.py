"""Navigation of the documentation's site: the section of each page; and the version at its foot.

A page is in the section that names it, else in that of the longest pattern that matches it. A page in no
section ends the build with its name. The project's README becomes a page of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = ROOT / "README.md"
ABOUT: Final = "about.md"
"""The page of the site that has the project's README."""

TITLES: Final = {"README.md": "Home", ABOUT: "The project"}
"""Titles in the navigation of pages whose heading is the project's name."""

SECTIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "Start": {
        "A first swap": (
            "README.md",
            ABOUT,
            "guide/install.md",
            "guide/quick-start.md",
            "guide/screens.md",
            "reference/glossary.md",
        ),
        "Project": ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "RELEASING.md"),
    },
    "Operate": {
        "A node": (
            "guide/first-broker.md",
            "guide/operating.md",
            "guide/deployment.md",
            "guide/moving-over.md",
            "guide/keys.md",
            "guide/operat*",
        ),
        "Books and partners": (
            "guide/ledger.md",
            "guide/swap-service.md",
            "guide/partners.md",
            "guide/webhooks.md",
            "guide/webhook-receivers.md",
            "guide/web-page.md",
        ),
        "Liquidity": ("guide/liquidity-provider.md", "guide/market-maker.md"),
    },
    "Integrate": {
        "Swaps": (
            "guide/sdk.md",
            "guide/sdk-programs.md",
            "guide/javascript.md",
            "guide/json.md",
            "guide/sdk*",
        ),
        "Recovery": ("guide/recover.md", "guide/recover-programs.md", "guide/recover*"),
        "Tests": ("guide/development-chain.md", "guide/testing.md", "guide/real-runtime.md", "guide/*"),
        "Scenarios": ("guide/scenarios.md", "guide/scenarios/*", "guide/provide-and-withdraw.md"),
    },
    "Reference": {
        "Commands": (
            "reference/cli.md",
            "reference/settings.md",
            "reference/official-flags.md",
            "reference/exit-codes.md",
            "reference/wrong-inputs.md",
        ),
        "Node": (
            "reference/rpc.md",
            "reference/errors.md",
            "reference/wire.md",
            "reference/metrics.md",
            "reference/*",
        ),
        "Python": (
            "reference/sdk.md",
            "reference/sdk-lp.md",
            "reference/sdk-recovery.md",
            "reference/sdk*",
            "reference/testing.md",
        ),
    },
    "Design": {
        "The whole": (
            "design/house.md",
            "design/threat-model.md",
            "design/tests.md",
            "design/dependencies.md",
        ),
        "Paths through the code": (
            "design/path-light-node.md",
            "design/path-swap.md",
            "design/path-partner-request.md",
            "design/path-*",
        ),
        "The parts": ("design/*",),
    },
}
"""Tabs, the sections of each, and their pages by paths below docs/, in the order of the navigation. Of
several patterns that match a page the longest counts; a full path is the longest of all.
"""


_SOURCE_LINK: Final = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:cfnode|tests|scripts)/[^)]*\)")


class InNoSection(Exception):
    """Error for a page that no section names or matches."""


def section_of(page: str) -> tuple[str, str]:
    """Return the tab and the section of a page, by its path below docs/. Raise InNoSection."""
    matching = [
        (len(pattern), tab, section)
        for tab, sections in SECTIONS.items()
        for section, patterns in sections.items()
        for pattern in patterns
        if fnmatchcase(page, pattern)
    ]
    if not matching:
        raise InNoSection(
            f"docs/{page} is in no section of the site: add it to SECTIONS in scripts/site/navigation.py, "
            f"or move it to docs/guide, docs/design or docs/reference"
        )
    _, tab, section = max(matching)
    return tab, section


def navigation(pages: Iterable[str]) -> list[dict[str, list[dict[str, list[str]]]]]:
    """Return the navigation for mkdocs: each tab with its sections, and their pages, named ones first.

    Raises InNoSection.
    """
    placed: dict[tuple[str, str], list[str]] = {}
    for page in sorted(pages):
        placed.setdefault(section_of(page), []).append(page)
    tabs = {
        tab: [
            {section: list(_in_order(patterns, placed[tab, section]))}
            for section, patterns in sections.items()
            if (tab, section) in placed
        ]
        for tab, sections in SECTIONS.items()
    }
    return [{tab: sections} for tab, sections in tabs.items() if sections]


def _in_order(patterns: tuple[str, ...], pages: list[str]) -> Iterator[str]:
    named = [page for page in patterns if page in pages]
    yield from named
    yield from (page for page in pages if page not in named)


def about(readme: str) -> str:
    """Return the project's README with its links as they are inside of docs/."""
    return re.sub(r"\]\(docs/", "](", readme)


def without_source_links(markdown: str) -> str:
    """Return a page with the texts of its links to source files, which are not on the site."""
    return _SOURCE_LINK.sub(r"\1", markdown)


def version() -> str:
    """Return the project's version."""
    match = re.search(
        r'^__version__ = "([^"]+)"', (ROOT / "cfnode" / "__init__.py").read_text(), re.MULTILINE
    )
    assert match is not None
    return match[1]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the version at the foot of each page (a hook of mkdocs)."""
    config.copyright = f"cfnode {version()}"
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave out a page's links to source files (a hook of mkdocs)."""
    return without_source_links(markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, and make the navigation of all pages (a hook of mkdocs)."""
    files.append(File.generated(config, ABOUT, content=about(PROJECT.read_text())))
    try:
        config.nav = _nav(files)
    except InNoSection as error:
        raise PluginError(str(error)) from None
    return files


def _nav(files: Files) -> list[dict[str, Any]]:
    tabs = navigation(file.src_uri for file in files.documentation_pages())
    return [
        {tab: [_titled(section) for section in sections]} for group in tabs for tab, sections in group.items()
    ]


def _titled(section: dict[str, list[str]]) -> dict[str, list[str | dict[str, str]]]:
    """Return a section with the titles of pages that have one in `TITLES`."""
    return {
        name: [{TITLES[page]: page} if page in TITLES else page for page in pages]
        for name, pages in section.items()
    }
