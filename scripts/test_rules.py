"""Refuse what the rules of the tests forbid: imports from modules of tests, and unmarked tests of the world.

Helpers live in `tests/support/`, one folder a room, or in a module of their own: a test file is run, not
imported. A test that starts programs by others, or more than one, bears the mark `world`
(`tests/support/tiers.py`). Without arguments every tracked Python file is read; with arguments those files.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.tiers import WORLD_FIXTURES, WORLD_STARTERS  # noqa: E402

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
    tree = ast.parse(text)
    for line, module in imported(tree):
        if of_a_test(module):
            yield f"{name}:{line}: {module} is of a test: what several files use belongs in tests/support/"
    yield from unmarked(name, tree)


def unmarked(name: str, tree: ast.Module) -> Iterator[str]:
    """A line for each test or fixture of a test file that starts programs of the world without its mark."""
    path = Path(name)
    if path.parts[0] != "tests" or not path.name.startswith("test_") or is_marked(tree.body):
        return
    starters = {each.rpartition(".")[2] for _, each in imported(tree) if each in WORLD_STARTERS}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not bears(node):
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & starters
            if used and node.name not in WORLD_FIXTURES:
                names = ", ".join(sorted(used))
                yield f"{name}:{node.lineno}: {node.name} uses {names}: it needs pytest.mark.world"


def is_marked(body: list[ast.stmt]) -> bool:
    """Whether `pytestmark` of a file names the world."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id == "pytestmark" for each in node.targets)
        and "mark.world" in ast.unparse(node.value)
        for node in body
    )


def bears(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator names the world: a mark, or parameters of which some bear it."""
    text = " ".join(map(ast.unparse, node.decorator_list))
    return "mark.world" in text or "params=BOTH" in text


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
