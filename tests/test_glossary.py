"""The glossary has the words that the guide uses, and its names are those of the code."""

from __future__ import annotations

import re
from functools import cache

import pytest

from scripts.dead_links import headings
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGE = DOCS / "reference" / "glossary.md"
TERMS = re.findall(r"^### (.+)$", PAGE.read_text(), re.MULTILINE)
ASKED = (
    "Channel",
    "Request",
    "Chunk",
    "Ingress",
    "Egress",
    "Broadcast",
    "Epoch",
    "Deposit",
    "Boost",
    "Authority",
)
NAME = re.compile(r"`([A-Z]\w*[a-z]\w*|c[fn]\w*_\w+|dev_\w+[a-z]|cfnode[/.][\w./]+|--[\w-]+)`")
"""Names of code: events and classes, methods, files and modules, flags."""


@cache
def sources() -> str:
    """Return all modules of the package, one behind the other."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "cfnode").rglob("*.py")))


@pytest.mark.parametrize("term", ASKED)
def test_a_word_of_the_chain_has_an_entry(term: str) -> None:
    """Explain each of these words of the chain in the glossary."""
    assert term in TERMS


@pytest.mark.parametrize("name", sorted(set(NAME.findall(PAGE.read_text()))))
def test_a_name_in_it_exists(name: str) -> None:
    """Find each name of code that the glossary mentions in the code."""
    path = ROOT / name.replace(".", "/") if name.startswith("cfnode.") else ROOT / name
    text = sources()
    places = re.finditer(rf"{re.escape(name)}\b", text)
    assert path.exists() or any(not re.match(r"[\w-]", text[place.start() - 1]) for place in places), name


def test_no_entry_is_long() -> None:
    """Keep entries short."""
    entries = re.split(r"^##+ .+$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert max(len(entry.split()) for entry in entries) < 90


@pytest.mark.parametrize(
    "page", ["quick-start", "sdk", "recover", "ledger", "partners", "operating", "development-chain"]
)
def test_the_guide_leads_to_it(page: str) -> None:
    """Link from each of these guides to entries that exist."""
    links = re.findall(
        r"\]\(\.\./reference/glossary\.md#([^)]+)\)", (DOCS / "guide" / f"{page}.md").read_text()
    )
    assert links and set(links) <= headings(PAGE)
