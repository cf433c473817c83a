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
    """Commands of a section, and the output documented below them; None if there is none."""

    section: str
    commands: str
    output: str | None

    @property
    def scenario(self) -> str:
        """The name of the section's scenario."""
        return slug(self.section)


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a page, from its top."""
    parts = _SECTION.split(path.read_text())[1:]
    return [
        Block(title, commands, output or None)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
        for commands, output in _BLOCK.findall(text)
    ]


def page_of(name: str) -> Path:
    """Return the file of a page."""
    return GUIDE.with_suffix("") / f"{name}.md"


def blocks_to_play(page: str) -> list[Block]:
    """Return the commands that a reader of a page pastes: its preparation, then its own."""
    return [*blocks_of(GUIDE), *blocks_of(page_of(page))]


def script(page: str, port: int) -> str:
    """Return a page as one shell script that ends with the first command that fails unexpectedly."""
    lines = ["set -euo pipefail", "trap 'jobs -p > node.pid' EXIT"]
    for block in blocks_to_play(page):
        lines.append(rf"printf '\036'; : {slug(block.section)}")
        lines.append(_REFUSED.sub(r"if \1; then exit 9; fi #", block.commands))
    return "\n".join(lines).replace("127.0.0.1:9944", f"127.0.0.1:{port}")


def differences(documented: str, printed: str) -> list[str]:
    """Return the differences between page and shell, empty for none; `…` stands for any text in a line."""
    lines, output = documented.rstrip().splitlines(), printed.rstrip().splitlines()
    if len(lines) == len(output) and all(map(stands_for, lines, output)):
        return []
    return list(ndiff(lines, output))


def stands_for(line: str, output: str) -> bool:
    """Return whether a documented line stands for the printed one."""
    return re.fullmatch(".*?".join(map(re.escape, line.split("…"))), output) is not None


def rewrite(page: str, block: Block, printed: str) -> None:
    """Let a page, or what comes before, show what a block has printed; lines that still stand for it stay."""
    assert block.output is not None
    kept = block.output.splitlines()
    lines = [
        next((line for line in kept if stands_for(line, output)), masked(output))
        for output in printed.rstrip().splitlines()
    ]
    old, new = (
        f"{block.commands}```\n\n```text\n{text}\n```" for text in (block.output.rstrip(), "\n".join(lines))
    )
    for path in (GUIDE, page_of(page)):
        path.write_text(path.read_text().replace(old, new, 1))


def masked(line: str) -> str:
    """Return a line without the hashes that are different each time."""
    return re.sub(r"\b(0x)?[0-9a-f]{64}\b", r"\1…", line)
