"""Refuse what the rules of the tests forbid: an import from a module of tests, a sleep that is "long enough".

Helpers live in `tests/support/`, one folder a room, or in a module of their own: a test file is run, not
imported. A test waits for a condition, in a loop (`tests/support/waiting.py`), or has a clock that jumps;
where the sleep is what is tested, a comment on its line says so. Without arguments every tracked Python file
is read; with arguments those files.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAYS_TESTS = ("tests/core/test_vectors.py",)
"""Files that play the tests of other modules, to see which vectors these open."""
CLOCKS = re.compile(r"\b(mock|autojump|patient|jumping)_clock\b")
"""Fixtures of a clock that jumps: with one, a sleep takes no time."""


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the dotted name of each import, of a module or of what it holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def of_a_test(name: str) -> bool:
    """Whether a dotted name is a module of tests, or in one."""
    first, *parts = name.split(".")
    return first in ("tests", "") and any(part.startswith("test_") for part in parts)


def sleeps(tree: ast.AST, *, waits: bool = False) -> Iterator[int]:
    """The line of each sleep that is in no loop with a condition; `waits`: the tree is in one."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep")) if not waits:
                yield node.lineno
        loops = isinstance(node, ast.While) and not isinstance(node.test, ast.Constant)
        yield from sleeps(node, waits=waits or loops)


def faults(name: str, text: str) -> Iterator[str]:
    """A line for each fault of a file."""
    tree, lines = ast.parse(text), text.splitlines()
    if name not in PLAYS_TESTS:
        for line, module in imported(tree):
            if of_a_test(module):
                yield f"{name}:{line}: {module}: what several test files use belongs in tests/support/"
    if name.startswith("tests/") and not CLOCKS.search(text):
        for line in sleeps(tree):
            if "  # " not in lines[line - 1]:
                yield f"{name}:{line}: wait for a condition, or say in a comment why it is this sleep"


def tracked() -> list[str]:
    """The project's Python files."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def main(given: list[str]) -> int:
    """The exit code: 1 where a rule is broken."""
    lines = [line for name in given or tracked() for line in faults(name, (ROOT / name).read_text())]
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
