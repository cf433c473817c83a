"""Commands and programs of the documentation, and those among them that no test can run.

Tests that run a block take it from here by its page and its beginning. `tests/test_documented_blocks.py`
finds these calls, and fails at a block that no test takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.conftest import ROOT

GENERATED = "docs/reference/"
PAGES = [
    path
    for path in ("README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")))
    if not path.startswith(GENERATED)
]
_BLOCK = re.compile(
    r"^(?P<margin> *)```(?P<language>\w*)\n(?P<fenced>.*?)^ *```$|(?P<indented>(?:^    [^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = re.compile(r" *(?:cfnode|pip|python3?|sudo|scripts/\w+|curl|docker|kubectl|export) ")
_NO_DOCKER, _NO_CLUSTER = (
    f"needs {what}; {where} runs the same command lines without"
    for what, where in (
        ("a Docker engine", "tests/deploy/test_container.py"),
        ("a cluster", "tests/deploy/test_kubernetes.py"),
    )
)
_EXCERPT = "an excerpt of the program's own source"
NOT_RUN = {
    ("README.md", "scripts/test "): "runs this test",
    (
        "docs/CONTRIBUTING.md",
        "scripts/check ",
    ): "every change is checked with it; tests break its parts",
    ("docs/CONTRIBUTING.md", "scripts/test "): "runs this test",
    ("docs/design/development-runtime.md", "class "): _EXCERPT,
    ("docs/design/development-runtime.md", "match "): _EXCERPT,
    ("docs/guide/deployment.md", "PYTHON=/usr/bin/python3 scripts/deb"): "tests/deploy/test_deb.py, minutes",
    ("docs/guide/deployment.md", "sudo apt-get install ./dist/"): "changes the system's packages; "
    "tests/deploy/test_deb.py runs the unpacked package",
    (
        "docs/guide/deployment.md",
        "sudo systemctl enable --now cfnode",
    ): "needs a running systemd",
    ("docs/guide/deployment.md", "docker "): _NO_DOCKER,
    ("docs/guide/deployment.md", "kubectl "): _NO_CLUSTER,
    (
        "docs/guide/ledger.md",
        "pip install ",
    ): "the lock of a release lacks these packages; tests/e2e/test_newcomer.py installs the others",
    (
        "docs/guide/ledger.md",
        "cfnode ledger run --database postgresql:",
    ): "needs a server; tests/ledger/test_database.py has one",
    ("docs/guide/testing.md", "steps:"): "needs a runner of GitHub; tests/e2e/test_action.py runs its steps",
}
"""Lines that no test runs, by their beginning, each with the reason; for other languages the whole block."""


@dataclass(frozen=True)
class Block:
    """Commands, a program or a configuration, as a page has it."""

    page: str
    line: int
    language: str
    text: str

    @property
    def runnable(self) -> str:
        """The text without the lines that no test runs."""
        if self.language not in ("sh", "text"):
            return "" if any(self._is_listed(line) for line in self.text.splitlines()[:1]) else self.text
        return "".join(line for line in self.text.splitlines(keepends=True) if not self._is_listed(line))

    def _is_listed(self, line: str) -> bool:
        return any(page == self.page and line.startswith(start) for page, start in NOT_RUN)


def blocks(page: str, language: str | None = None) -> list[Block]:
    """Return the blocks of a page from its top, all or those in a language.

    A fenced block of text, or without a language, is one if it begins with a command; else it is output.
    """
    page_blocks = _blocks(page, (ROOT / page).read_text())
    return [block for block in page_blocks if language in (None, block.language)]


def outputs(page: str) -> list[str]:
    """Return the output in a page: its blocks of text that are no commands."""
    matches = _BLOCK.finditer((ROOT / page).read_text())
    texts = [match["fenced"] for match in matches if match["language"] == "text"]
    return [text for text in texts if not _COMMAND.match(text)]


def _blocks(page: str, text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        if match["indented"] is not None:
            block = Block(page, line, "sh", re.sub(r"^    ", "", match["indented"], flags=re.MULTILINE))
        else:
            margin = re.compile(f"^{match['margin']}", re.MULTILINE)
            block = Block(page, line, match["language"], margin.sub("", match["fenced"]))
        is_text = match["indented"] is not None or block.language in ("", "text")
        if not is_text or _COMMAND.match(block.text):
            yield replace(block, language="sh") if is_text else block


def block(page: str, start: str) -> str:
    """Return the runnable part of the block that has the line `start`, or else a line that begins so."""
    (chosen,) = with_line(page, start)
    return chosen.runnable


def with_line(page: str, start: str) -> list[Block]:
    """Return the blocks with that line; if there is none, those with a line that begins so."""
    lines = {block: block.text.splitlines() for block in blocks(page)}
    exact = [block for block in lines if start in lines[block]]
    return exact or [block for block in lines if any(line.startswith(start) for line in lines[block])]
