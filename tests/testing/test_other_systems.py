"""The test kit on systems other than Linux: a node's end, the text of a failed start, the types of macOS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cfnode.testing import NodeDidNotStart, node, running_node
from tests.conftest import ROOT
from tests.support.waiting import wait_until

PARENT = """
import os, subprocess, sys

command = [sys.executable, "-P", "-c", *sys.argv[1:]]
child = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
print(child.pid, flush=True)
sys.stdin.read()
os._exit(0)  # without a word to the child, as a test process that is killed
"""


@pytest.mark.world
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_node_ends_when_its_tests_are_killed(system: str, tmp_path: Path) -> None:
    """End a node when its tests are killed, by the kernel on Linux and by a watch elsewhere."""
    flags = [*node._FLAGS, "--port=0", f"--base-path={tmp_path}"]
    command = [sys.executable, "-c", PARENT, node._program(system), *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as parent:
        assert parent.stdout is not None
        status = Path("/proc", parent.stdout.readline().strip(), "status")
        wait_until(lambda: (tmp_path / "chains" / "dev").exists(), "the node runs")
        assert status.exists()
        parent.kill()
    wait_until(lambda: not status.exists() or "State:\tZ" in status.read_text(), "the node ends")


def test_only_on_linux_the_program_asks_the_kernel() -> None:
    """Ask the kernel for the end with the parent on Linux only."""
    assert ("prctl" in node._program("linux"), "prctl" in node._program("darwin")) == (True, False)
    assert node._program(sys.platform) == node._PROGRAM


@pytest.mark.parametrize(("system", "is_named"), [("linux", False), ("darwin", True)])
def test_a_failed_start_on_another_system_says_what_to_do(
    system: str, is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say what to do after a failed start on another system."""
    monkeypatch.setattr(node, "SYSTEM", system)
    with (
        pytest.raises(NodeDidNotStart, match="the node ended with 2") as caught,
        running_node(tmp_path, "--no-such"),
    ):
        pass
    remedy = f"cfnode is tested on Linux, and this system is {system}: run the node in a Linux container"
    assert (remedy in str(caught.value)) is is_named


@pytest.mark.world
def test_no_module_uses_what_macos_lacks(tmp_path: Path) -> None:
    """Check all modules by mypy for macOS."""
    command = [sys.executable, "-m", "mypy", "--platform=darwin", f"--cache-dir={tmp_path}", "cfnode"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
