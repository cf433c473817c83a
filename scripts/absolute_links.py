"""Absolute links in the README of a package, and its project's addresses: an index has no other files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"(!\[[^\]]*)?\]\((?!https?:|#)([^)\s]+)\)")


def absolute(text: str, url: str) -> str:
    """Return a page of the project's root, with links to the repository at `url`, and pictures from it."""
    return LINK.sub(
        lambda link: f"{link[1] or ''}]({url}/{'raw' if link[1] else 'blob'}/main/{link[2]})", text
    )


def project_urls(url: str) -> str:
    """Return the table of pyproject.toml that an index prints next to the package."""
    addresses = {
        "Source": url,
        "Documentation": f"{url}/blob/main/docs/README.md",
        "Changelog": f"{url}/blob/main/docs/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }
    return "\n[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in addresses.items())


def main(folder: Path, url: str) -> None:
    """Rewrite README.md and pyproject.toml of a copy of the project."""
    readme, pyproject = folder / "README.md", folder / "pyproject.toml"
    readme.write_text(absolute(readme.read_text(), url.rstrip("/")))
    pyproject.write_text(pyproject.read_text() + project_urls(url.rstrip("/")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
