"""Refuse what the rules of the tests forbid: imports from tests, sleeps, and unmarked tests of the world.

Helpers live in `tests/support/`, one folder a room, or in a module of their own: a test file is run, not
imported. A test waits for a condition, in a loop (`tests/support/waiting.py`), or has a clock that jumps;
where the sleep is what is tested, a comment on its line says so. A limit in time only ends a test that
hangs: one of less than `MIN_LIMIT_S` needs a clock that jumps, or a comment. A test that starts programs by
others, or more than one, bears the mark `world` (`tests/support/tiers.py`). Without arguments every tracked
Python file is read; with arguments those files.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support.tiers import WORLD_FIXTURES, WORLD_STARTERS  # noqa: E402

PLAYS_TESTS = ("tests/core/test_vectors.py",)
"""Files that play the tests of other modules, to see which vectors these open."""
CLOCKS = re.compile(r"\b(mock|autojump|patient|jumping)_clock\b")
"""Fixtures of a clock that jumps: with one, a sleep takes no time."""
MIN_LIMIT_S = 60.0
"""Seconds of the shortest limit on real time; `LIMIT_S` of `tests/support/waiting.py` is the usual one."""


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of each import, of a module or of what it holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def of_a_test(name: str) -> bool:
    """Return whether a dotted name is a module of tests, or in one."""
    first, *parts = name.split(".")
    return first in ("tests", "") and any(part.startswith("test_") for part in parts)


def faults(name: str, text: str) -> Iterator[str]:
    """Yield a line for each fault of a file."""
    if name in PLAYS_TESTS:
        return
    tree = ast.parse(text)
    for line, module in imported(tree):
        if of_a_test(module):
            yield f"{name}:{line}: {module} is of a test: what several files use belongs in tests/support/"
    yield from idle(name, text, tree)
    yield from hasty(name, text, tree)
    yield from unmarked(name, tree)


def idle(name: str, text: str, tree: ast.Module) -> Iterator[str]:
    """Yield a line for each sleep that waits for no condition, has no clock that jumps, and no comment."""
    lines = text.splitlines()
    if name.startswith("tests/") and not CLOCKS.search(text):
        for line in sleeps(tree):
            if "  # " not in lines[line - 1]:
                yield f"{name}:{line}: wait for a condition, or say in a comment why it is this sleep"


def hasty(name: str, text: str, tree: ast.Module) -> Iterator[str]:
    """Yield a line for each short limit on real time without a comment."""
    lines = text.splitlines()
    if name.startswith("tests/"):
        for line in short_limits(tree):
            if "  # " not in lines[line - 1]:
                yield f"{name}:{line}: too short for a slow machine: take LIMIT_S, or say why in a comment"


def short_limits(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each limit of less than `MIN_LIMIT_S` in a function without a clock that jumps."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if CLOCKS.search(ast.unparse(node.args)):
                continue
            case ast.Call(
                func=ast.Attribute(attr="fail_after" | "move_on_after"),
                args=[ast.Constant(value=int() | float() as seconds)],
            ) if 0 < seconds < MIN_LIMIT_S:
                yield node.lineno
        yield from short_limits(node)


def sleeps(tree: ast.AST, *, waits: bool = False) -> Iterator[int]:
    """Yield the line of each sleep that is in no loop with a condition; `waits`: the tree is in one."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep")) if not waits:
                yield node.lineno
        loops = isinstance(node, ast.While) and not isinstance(node.test, ast.Constant)
        yield from sleeps(node, waits=waits or loops)


def unmarked(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield a line for each test or fixture that starts programs of the world without its mark.

    Only test files are read.
    """
    path = Path(name)
    if path.parts[0] != "tests" or not path.name.startswith("test_") or is_marked(tree.body):
        return
    starters = {dotted.rpartition(".")[2] for _, dotted in imported(tree) if dotted in WORLD_STARTERS}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not bears(node):
            used = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} & starters
            if used and node.name not in WORLD_FIXTURES:
                names = ", ".join(sorted(used))
                yield f"{name}:{node.lineno}: {node.name} uses {names}: it needs pytest.mark.world"


def is_marked(body: list[ast.stmt]) -> bool:
    """Return whether `pytestmark` of a file names the world."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
        and "mark.world" in ast.unparse(node.value)
        for node in body
    )


def bears(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a decorator names the world: a mark, or parameters of which some bear it."""
    text = " ".join(map(ast.unparse, node.decorator_list))
    return "mark.world" in text or "params=BOTH" in text


def tracked() -> list[str]:
    """Return the project's Python files."""
    listing = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listing.stdout.splitlines() if (ROOT / name).exists()]


def main(arguments: list[str]) -> int:
    """Print the faults; return the exit code: 1 where a rule is broken."""
    lines = [line for name in arguments or tracked() for line in faults(name, (ROOT / name).read_text())]
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
