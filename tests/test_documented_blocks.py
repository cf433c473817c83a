"""Every block of the documentation, commands, programs and configurations, is run by a test, or listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import documentation
from tests.conftest import ROOT
from tests.documentation import NOT_RUN, PAGES, Block, blocks, with_line

FOLLOWED = {
    "docs/design/additions.md": "tests/devchain/runtime/test_additions.py",
    "docs/guide/first-broker.md": "tests/e2e/test_newcomer.py",
    "docs/guide/provide-and-withdraw.md": "tests/e2e/test_guide_lp.py",
    "docs/guide/scenarios.md": "tests/e2e/test_guide.py",
    "docs/guide/scenarios/brokers.md": "tests/e2e/test_guide.py",
    "docs/guide/scenarios/failures.md": "tests/e2e/test_guide.py",
    "docs/guide/scenarios/swaps.md": "tests/e2e/test_guide.py",
}
"""Pages that a test follows from the top to the end, which it reads in its own way."""
TAKERS = {"block", "blocks"}
IMPORT = "from tests.documentation import block"


def taken_by(source: str) -> Iterator[tuple[str, str]]:
    """Yield page, and beginning or language, of each block that a test module takes by fixed names."""
    tree = ast.parse(source)
    names = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TAKERS:
            page, start = (fixed(arg, names) for arg in node.args)
            yield page, start


def fixed(argument: ast.expr, names: dict[str, object]) -> str:
    """Return the text of an argument, which is a literal or a constant of the module."""
    if isinstance(argument, ast.Name):
        return str(names[argument.id])
    return str(ast.literal_eval(argument))


def takers_of_blocks() -> dict[tuple[str, str], Path]:
    """Return the test module that takes each block."""
    here = Path(__file__)
    tests = (ROOT / "tests").rglob("test_*.py"), (ROOT / "tests" / "support").rglob("*.py")
    modules = sorted(path for paths in tests for path in paths if path != here)
    texts = {path: text for path in modules if IMPORT in (text := path.read_text())}
    return {taken: path for path, text in texts.items() for taken in taken_by(text)}


TAKEN = takers_of_blocks()


def taker_of(block: Block) -> Path | None:
    """Return the module of the test that runs a block."""
    if block.page in FOLLOWED:
        return ROOT / FOLLOWED[block.page]
    return next(
        (path for (page, start), path in TAKEN.items() if page == block.page and is_meant(block, start)), None
    )


def is_meant(block: Block, start: str) -> bool:
    """Return whether a test's beginning, or language, means this block."""
    return start == block.language or block in with_line(block.page, start)


@pytest.mark.parametrize("page", PAGES)
def test_each_block_is_run_by_a_test(page: str) -> None:
    """Run each block of the documentation by a test, or list it with the reason."""
    untaken = [block for block in blocks(page) if block.runnable and not taker_of(block)]
    missing = [f"{page}:{block.line}\n{block.runnable}" for block in untaken]
    assert missing == [], "no test runs it: take it with `block` of tests/documentation.py, or list it there"


@pytest.mark.parametrize(("page", "start"), NOT_RUN)
def test_what_is_not_run_is_still_there(page: str, start: str) -> None:
    """Find each listed block in its page: a stale entry would excuse a new block."""
    assert any(line.startswith(start) for block in blocks(page) for line in block.text.splitlines())
    assert len(NOT_RUN[page, start]) > 10, "the reason"


@pytest.mark.parametrize(("page", "path"), FOLLOWED.items())
def test_a_followed_page_has_its_test(page: str, path: str) -> None:
    """Have a test file for each page that is followed from top to end."""
    assert page in PAGES
    assert (ROOT / path).exists()


def test_there_are_many_blocks_and_few_that_no_test_runs() -> None:
    """Find many blocks and few exceptions, so that the search itself works."""
    all_blocks = [block for page in PAGES for block in blocks(page)]
    assert len(all_blocks) > 80
    assert len([block for block in all_blocks if not block.runnable]) < 10


@pytest.mark.parametrize(
    "text",
    [
        "# A page\n\n```sh\ncfnode new-command\n```\n",
        "# A page\n\n    cfnode new-command \\\n      --more\n",
        "# A page\n\n1. In a list:\n\n    ```python\n    import cfnode\n    ```\n",
        "# A page\n\n```text\ncfnode new-command\n```\n",
        "# A page\n\n```\ncfnode new-command\n```\n",
    ],
)
def test_a_new_block_is_noticed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a new block in each form of Markdown."""
    (tmp_path / "page.md").write_text(text)
    monkeypatch.setattr(documentation, "ROOT", tmp_path)
    with pytest.raises(AssertionError, match=r"no test runs it"):
        test_each_block_is_run_by_a_test("page.md")


def test_output_is_no_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a block of output, and a list, for no program."""
    (tmp_path / "page.md").write_text("```text\nRunning\n```\n\n- a list\n    that goes on\n")
    monkeypatch.setattr(documentation, "ROOT", tmp_path)
    assert blocks("page.md") == []
