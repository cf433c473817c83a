"""Check of the documentation's links: to files, and to the headings that they name.

Without arguments it prints each dead link of README.md and docs/, and ends with 1 if there is one. The site's
build checks docs/ too, by its own rules for anchors; README.md is no page of the site.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')


@cache
def headings(page: Path) -> set[str]:
    """Return the anchors of a page: of its headings, and those that it sets itself."""
    text = FENCE.sub("", page.read_text())
    return {anchor_of(title) for title in HEADING.findall(text)} | set(ANCHOR.findall(text))


def anchor_of(title: str) -> str:
    """Return a heading's anchor, as code forges make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def is_dead(page: Path, link: str) -> bool:
    """Return whether a link of a page leads to no file, or to no heading of one; send no request."""
    if link.startswith(("http:", "https:")):
        return False
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return not target.exists() or (bool(anchor) and anchor not in headings(target))


def dead_links(page: Path) -> list[str]:
    """Return the dead links of a page, in their order."""
    return [link for link in LINK.findall(FENCE.sub("", page.read_text())) if is_dead(page, link)]


def main() -> int:
    """Print the dead links of all pages; return the exit code."""
    lines = [f"{page.relative_to(ROOT)}: {link}: dead link" for page in PAGES for link in dead_links(page)]
    print("\n".join(lines), end="\n" * bool(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
