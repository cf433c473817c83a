"""The tiers: a run without --world leaves the world out, and a test with two programs needs its mark."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.scheduling import SPREAD
from tests.support.tiers import LEFT_OUT, LONGEST, named_files, put_longest_first

TESTS = """
import subprocess
import pytest

@pytest.fixture(scope="module")
def shared():
    with subprocess.Popen(["sleep", "100"]) as program:
        yield program
        program.kill()

def further():
    return subprocess.Popen(["sleep", "100"])

def test_with_the_shared_program(shared):
    subprocess.run(["true"], check=True)  # FAILS

def test_with_one_program_that_is_not_of_a_fixture():
    program = further()
    program.kill()
    program.wait()

@pytest.mark.world
def test_with_two(shared):
    program = further()
    program.kill()
    program.wait()

def test_with_two_one_after_the_other():
    for _ in range(2):
        program = further()
        program.kill()
        program.wait()
"""


def run(*arguments: str | Path) -> str:
    """Return the output of a run of pytest with our tiers."""
    options = ("-c", ROOT / "pyproject.toml", "-p", "tests.conftest", "-n0")
    line = [sys.executable, "-m", "pytest", *options, *arguments]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.stdout


@pytest.mark.world
def test_a_second_program_needs_the_mark_and_the_world_is_left_out(
    tmp_path: Path,
) -> None:
    """Fail a test without the mark that has a second program at once, and leave the world out by default."""
    (tmp_path / "test_it.py").write_text(TESTS)
    printed = run(tmp_path)
    assert "several programs at once (sleep, true): it needs pytest.mark.world" in printed
    assert "1 failed, 2 passed, 1 deselected" in printed
    assert LEFT_OUT in printed
    for asked in ((tmp_path, "--world"), (tmp_path / "test_it.py",)):
        assert "1 failed, 3 passed" in run(*asked)


def test_a_file_is_named_by_itself_or_by_a_test_in_it() -> None:
    """Take a file as named when it is given by itself or by a test in it."""
    here = Path(__file__).resolve()
    assert named_files([str(here)]) == {here}
    assert named_files([f"{here}::test_it[a::b]", str(here.parent)]) == {here}


@dataclass(frozen=True)
class Named:
    """A test of a run, of which only the name counts."""

    nodeid: str


def test_the_files_that_begin_first_exist() -> None:
    """Name existing files only as those that begin first."""
    assert [name for name in LONGEST if not (ROOT / name).exists()] == []


def test_files_that_are_spread_are_mixed_after_the_longest_one() -> None:
    """Spread long files' tests over the run, after the longest file."""
    matrix, lives = sorted(SPREAD)[0], sorted(SPREAD)[-1]
    names = ["tests/a.py::one", f"{LONGEST[1]}::one", *(f"{lives}::{life}" for life in range(2))]
    names += [f"{LONGEST[0]}::one", *(f"{matrix}::{cell}" for cell in range(4)), "tests/a.py::two"]
    items: list[Any] = [Named(name) for name in names]
    put_longest_first(items)
    assert [item.nodeid for item in items] == [
        f"{LONGEST[0]}::one",
        f"{matrix}::0",
        *(f"{lives}::0", f"{matrix}::1"),
        f"{matrix}::2",
        *(f"{lives}::1", f"{matrix}::3"),
        f"{LONGEST[1]}::one",
        *("tests/a.py::one", "tests/a.py::two"),
    ]
