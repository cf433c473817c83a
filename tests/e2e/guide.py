"""The guide's scenarios as a program: what its blocks of commands are, what it says that they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path

from tests.conftest import ROOT
from tests.rpc.scenarios.transcript import slug

GUIDE = ROOT / "docs" / "guide" / "scenarios.md"
PAGES = sorted(path.stem for path in GUIDE.with_suffix("").glob("*.md"))
MARK = "\x1e"
"""Printed before each block, which no command prints."""
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```sh\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^(cfnode .*?) +# refused", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Commands of a section, and what is shown below them; None if nothing is."""

    section: str
    commands: str
    shown: str | None

    @property
    def scenario(self) -> str:
        """The name of the section's scenario."""
        return slug(self.section)


def blocks_of(path: Path) -> list[Block]:
    """The blocks of a page, from its top."""
    parts = _SECTION.split(path.read_text())[1:]
    return [
        Block(title, commands, shown or None)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
        for commands, shown in _BLOCK.findall(text)
    ]


def blocks_to_play(page: str) -> list[Block]:
    """What somebody pastes who begins with a page: what comes before, and the page."""
    return [*blocks_of(GUIDE), *blocks_of(GUIDE.with_suffix("") / f"{page}.md")]


def script(page: str, port: int) -> str:
    """A page as one shell script that ends with the first command that fails without being expected to."""
    lines = ["set -euo pipefail", "trap 'jobs -p > node.pid' EXIT"]
    for block in blocks_to_play(page):
        lines.append(rf"printf '\036'; : {slug(block.section)}")
        lines.append(_REFUSED.sub(r"if \1; then exit 9; fi #", block.commands))
    return "\n".join(lines).replace("127.0.0.1:9944", f"127.0.0.1:{port}")


def differences(shown: str, printed: str) -> list[str]:
    """Where the page and the shell differ, nothing if nowhere.

    `…` in a line stands for any text, and alone in a line for any lines.
    """
    patterns = (
        r"(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.rstrip().splitlines()
    )
    said = printed.rstrip() + "\n"
    if re.fullmatch("".join(patterns), said):
        return []
    return list(ndiff(shown.rstrip().splitlines(), said.splitlines()))
