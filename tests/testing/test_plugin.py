"""The guide's project with the pytest plugin, as somebody else's: one node for all of its tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documentation import blocks

FILES = [
    tuple(each.runnable.removeprefix("# ").split("\n", 1))
    for each in blocks("docs/guide/testing.md", "python")
]
OWN = """
import sys

LOADED = sorted(name for name in sys.modules if name.partition(".")[0] == "cfnode")
HEADS = []


def test_nothing_is_loaded_before_a_fixture_is_asked_for():
    assert LOADED == ["cfnode", "cfnode.pytest_plugin"]


def leave_traces(chain):
    HEADS.append((chain.rpc("chain_getBlockHash"), chain.rpc("chain_getFinalizedHead"), chain.clock.now()))
    chain.fund("cFJFriHLc7J1Rau7T1qAEHDsrWWH7QBbJt4D2Q38YkrtfwqoV", 10**18)
    chain.clock.jump(60)
    chain.finalize()


def test_one(cfnode_dev):
    leave_traces(cfnode_dev)


def test_the_next_finds_the_same_chain(cfnode_dev, cfnode_dev_node):
    leave_traces(cfnode_dev)
    assert HEADS[0] == HEADS[1]
    print("node", cfnode_dev_node.pid)
"""
TESTS = ("test_own.py", 3), ("test_async.py", 2), ("test_swaps.py", 3)


@pytest.mark.world
def test_the_project_of_the_guide_passes_and_its_node_ends_with_it(tmp_path: Path) -> None:
    assert sorted(name for name, _ in FILES) == ["conftest.py", "test_async.py", "test_swaps.py"]
    for name, text in [*FILES, ("test_own.py", OWN)]:
        (tmp_path / name).write_text(text)
    plugins = ["-p", "cfnode.pytest_plugin", "-p", "anyio.pytest_plugin"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *plugins,
            "-rP",
            "-v",
            "--basetemp=base",
            *(name for name, _ in TESTS),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name, count in TESTS:
        assert len(re.findall(rf"^{name}::.* PASSED", done.stdout, re.MULTILINE)) == count, done.stdout
    (pid,) = re.findall(r"^node (\d+)$", done.stdout, re.MULTILINE)
    assert not Path("/proc", pid).exists()


def test_the_wheel_offers_the_plugin_and_does_not_need_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ((name, module),) = project["entry-points"]["pytest11"].items()
    assert name == module, "so that -p with the module's name loads it once"
    assert callable(import_module(module).cfnode_dev)
    assert not [each for each in project["dependencies"] if each.startswith("pytest")]
