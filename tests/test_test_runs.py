"""A test run that ends, or is ended, leaves no process behind, and says in a few lines what it skipped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.lengths import only_whole
from tests.process import until
from tests.skips import summary

pytestmark = pytest.mark.world

RUNNER = ROOT / "scripts" / "run_tests.py"
TEST = """
import subprocess, time
from pathlib import Path

def test_a_node_in_a_session_of_its_own():
    node = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    Path("pid").write_text(str(node.pid))
    if Path("endless").exists():
        time.sleep(1000)
"""


def is_running(pid: int) -> bool:
    """Return whether a process has this id."""
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a test that starts a program and forgets it."""
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.mark.parametrize(
    ("processes", "number"),
    [
        ("0", signal.SIGINT),
        ("1", signal.SIGTERM),
        pytest.param("1", signal.SIGINT, marks=only_whole),
        pytest.param("0", signal.SIGTERM, marks=only_whole),
        pytest.param("0", signal.SIGHUP, marks=only_whole),
        pytest.param("1", signal.SIGHUP, marks=only_whole),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_run_that_is_ended_leaves_no_process(folder: Path, processes: str, number: signal.Signals) -> None:
    """Leave no process behind when a run is ended by a signal, and exit with the signal's code."""
    (folder / "endless").touch()
    runner = subprocess.Popen(
        [sys.executable, RUNNER, "-n", processes],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: (folder / "pid").exists() and bool((folder / "pid").read_text()))
        node = int((folder / "pid").read_text())
        assert is_running(node)
        if number == signal.SIGINT:
            os.killpg(runner.pid, number)  # as a terminal does
        else:
            runner.send_signal(number)
        assert runner.wait(timeout=120) == 128 + number
        assert not is_running(node)
    finally:
        runner.kill()


def test_a_run_that_passes_ends_what_its_tests_left(folder: Path) -> None:
    """End and count what the tests of a passing run have left."""
    command = [sys.executable, RUNNER, "-n", "0"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "scripts/test: processes that the tests had left, killed now: 1\n"
    assert not is_running(int((folder / "pid").read_text()))


def test_a_run_that_fails_has_the_exit_code_of_pytest(tmp_path: Path) -> None:
    """Exit with pytest's code when a test fails."""
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run([sys.executable, RUNNER, "-n", "0"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1


def test_skips_are_grouped_by_what_helps() -> None:
    """Group skips by what the reader can do about them."""
    reasons = [
        "reference vectors are not here: vectors/a.scale (CFNODE_TEST_REFERENCE names their folder)",
        "reference vectors are not here: vectors/b.scale (CFNODE_TEST_REFERENCE names their folder)",
        "the official chain spec is not here: set CFNODE_TEST_BERGHAIN_SPEC to its path",
        "anvil and solc are not here: scripts/peers installs them (needs node and npm)",
        "smoldot is not here: scripts/peers installs it (needs node and npm)",
        "haproxy is not here: install the package haproxy",
        "nginx is not here: install the package nginx",
        "haproxy is not here: install the package haproxy",
        "there is no bash",
    ]
    assert list(summary(reasons)) == [
        "2 without the reference vectors: CFNODE_TEST_REFERENCE names their folder",
        "1 without the official chain spec: CFNODE_TEST_BERGHAIN_SPEC names the file",
        "2 without programs and libraries of others: scripts/peers installs them",
        "3 without packages of the system: haproxy, nginx",
        "1 there is no bash",
    ]
    assert list(summary([])) == []


def test_a_skip_within_a_nursery_keeps_its_reason(tmp_path: Path) -> None:
    """Of a test whose fixture has a nursery, which turns the skip into a group of exceptions."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.fixture\nasync def task(nursery):\n    return nursery\n\n"
        "async def test_it(task):\n    pytest.skip('a thing is not here: scripts/peers installs it')\n"
    )
    arguments = ["-c", ROOT / "pyproject.toml", "-p", "tests.conftest", "-n0", "-q", tmp_path / "test_it.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
    assert "1 without programs and libraries of others: scripts/peers installs them" in done.stdout


@only_whole
def test_without_the_reference_vectors_tests_pass_or_skip(tmp_path: Path) -> None:
    """As in the clone of a stranger, who has only what the repository holds."""
    clone = tmp_path / "cfnode"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True, timeout=60)
    (clone / ".venv").symlink_to(ROOT / ".venv")
    modules = [
        str(path.relative_to(clone))
        for path in sorted((clone / "tests").rglob("test_*.py"))
        if "shared(" in path.read_text()
    ]
    assert modules
    own = {name: value for name, value in os.environ.items() if not name.startswith(("CFNODE_", "PYTEST_"))}
    done = subprocess.run(
        ["scripts/test", "-q", "-n1", *modules],
        cwd=clone,
        env=own,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    assert "without the reference vectors" in done.stdout
