"""Refuse what the rules of the tests forbid: an import from a module of tests.

Helpers live in `tests/support/`, one folder a room, or in a module of their own: a test file is run, not
imported. Without arguments every tracked Python file is read; with arguments those files.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAYS_TESTS = ("tests/core/test_vectors.py",)
"""Files that play the tests of other modules, to see which vectors these open."""


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


def faults(name: str, text: str) -> Iterator[str]:
    """A line for each fault of a file."""
    if name in PLAYS_TESTS:
        return
    for line, module in imported(ast.parse(text)):
        if of_a_test(module):
            yield f"{name}:{line}: {module} is of a test: what several files use belongs in tests/support/"


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
