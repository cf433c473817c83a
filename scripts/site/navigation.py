"""Navigation of the documentation's site: the section of each page.

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

PROJECT: Final = Path(__file__).resolve().parents[2] / "README.md"
ABOUT: Final = "about.md"
"""The page of the site that has the project's README."""

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Start": ("README.md", ABOUT, "guide/quick-start.md", "guide/first-broker.md"),
    "Guide": ("guide/development-chain.md", "guide/keys.md", "guide/*"),
    "Recover": ("guide/recover.md", "guide/recover-programs.md", "guide/recover*"),
    "Operators": (
        "guide/operating.md",
        "guide/deployment.md",
        "guide/moving-over.md",
        "guide/web-page.md",
        "guide/operat*",
    ),
    "Integrators": ("guide/testing.md", "guide/javascript.md", "guide/swap-service.md"),
    "SDK": (
        "guide/sdk.md",
        "guide/sdk-programs.md",
        "guide/sdk*",
        "reference/sdk.md",
        "reference/sdk*",
        "reference/testing.md",
    ),
    "Scenarios": ("guide/scenarios.md", "guide/scenarios/*", "guide/provide-and-withdraw.md"),
    "Design": ("design/house.md", "design/*"),
    "Reference": ("reference/*",),
    "Project": ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "RELEASING.md"),
}
"""Pages by their paths below docs/, in the order of the navigation. Of several patterns that match a page the
longest counts; a full path is the longest of all.
"""


class InNoSection(Exception):
    """Error for a page that no section names or matches."""


def section_of(page: str) -> str:
    """Return the section of a page, by its path below docs/. Raise InNoSection."""
    matching = [
        (len(pattern), section)
        for section, patterns in SECTIONS.items()
        for pattern in patterns
        if fnmatchcase(page, pattern)
    ]
    if not matching:
        raise InNoSection(
            f"docs/{page} is in no section of the site: add it to SECTIONS in scripts/site/navigation.py, "
            f"or move it to docs/guide, docs/design or docs/reference"
        )
    return max(matching)[1]


def navigation(pages: Iterable[str]) -> list[dict[str, list[str]]]:
    """Return the navigation for mkdocs: each section with its pages, named ones first.

    Raises InNoSection.
    """
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for page in sorted(pages):
        sections[section_of(page)].append(page)
    return [
        {section: list(_in_order(section, section_pages))}
        for section, section_pages in sections.items()
        if section_pages
    ]


def _in_order(section: str, pages: list[str]) -> Iterator[str]:
    named = [page for page in SECTIONS[section] if page in pages]
    yield from named
    yield from (page for page in pages if page not in named)


def about(readme: str) -> str:
    """Return the project's README with its links as they are inside of docs/."""
    return re.sub(r"\]\(docs/", "](", readme)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, and make the navigation of all pages (a hook of mkdocs)."""
    files.append(File.generated(config, ABOUT, content=about(PROJECT.read_text())))
    try:
        config.nav = _nav(files)
    except InNoSection as error:
        raise PluginError(str(error)) from None
    return files


def _nav(files: Files) -> list[dict[str, Any]]:
    return [*navigation(file.src_uri for file in files.documentation_pages())]
