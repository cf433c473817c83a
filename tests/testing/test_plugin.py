"""The guide's project with the pytest plugin, in a folder of its own: one node for all of its tests."""

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
    tuple(block.runnable.removeprefix("# ").split("\n", 1))
    for block in blocks("docs/guide/testing.md", "python")
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
TESTS = ("test_own.py", 3), ("test_async.py", 2), ("test_swaps.py", 4), ("test_typed.py", 1)
FAILING = """
ETHEREUM = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"


def test_event(cfnode_dev):
    cfnode_dev.advance_to("Swapping", "SwapExecutd")


def test_asset(cfnode_dev):
    cfnode_dev.deposit(ETHEREUM, "Eht", 1)


def test_refusal(cfnode_dev):
    cfnode_dev.announce(ETHEREUM, "Eth", 1)


def test_sdk(cfnode_dev):
    cfnode_dev.sdk.get_quote_v2("Bitcoin", "BTC", "Ethereum", "ETHE", 1)


def test_unreachable(cfnode_dev):
    from cfnode.testing import DevChain

    DevChain("http://127.0.0.1:1").new_block()


def test_fault(cfnode_dev, monkeypatch):
    monkeypatch.setattr("cfnode.testing.dev_calls.fund", lambda account, amount: None)
    cfnode_dev.fund("cF")
"""
WRONG_FLAG = """
import pytest


@pytest.fixture(scope="session")
def cfnode_dev_flags():
    return ["--no-such-flag"]
"""
MESSAGES = {
    "event": r"UnknownEvent: unknown event of Swapping 'SwapExecutd'\. Did you mean SwapExecuted",
    "asset": r"UnknownAsset: Unknown asset 'Eht'\. Did you mean ETH",
    "refusal": "RpcCallError: RPC error .*no deposit channel of Ethereum is open at 0xf39F",
    "sdk": "ValidationError: dest_asset: unknown asset of Ethereum 'ETHE'; did you mean ETH",
    "unreachable": "Unreachable: ",
}
FRAME = re.compile(r"^\S*\bcfnode/\S+\.py:\d+: ", re.MULTILINE)
"""A frame of cfnode in pytest's output."""


PLUGIN = ("-p", "cfnode.pytest_plugin")


def played(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the outcome of pytest in a folder, as in a project of another owner."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--basetemp=base", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.world
def test_the_project_of_the_guide_passes_and_its_node_ends_with_it(tmp_path: Path) -> None:
    """Pass the guide's project with one node for all tests, which ends with them."""
    names = ["conftest.py", "test_async.py", "test_swaps.py", "test_typed.py"]
    assert sorted(name for name, _ in FILES) == names
    for name, text in [*FILES, ("test_own.py", OWN)]:
        (tmp_path / name).write_text(text)
    plugins = [*PLUGIN, "-p", "anyio.pytest_plugin"]
    done = played(tmp_path, *plugins, "-rP", "-v", *(name for name, _ in TESTS))
    assert done.returncode == 0, done.stdout + done.stderr
    for name, count in TESTS:
        assert len(re.findall(rf"^{name}::.* PASSED", done.stdout, re.MULTILINE)) == count, done.stdout
    (pid,) = re.findall(r"^node (\d+)$", done.stdout, re.MULTILINE)
    assert not Path("/proc", pid).exists()


@pytest.mark.world
def test_a_failed_tests_traceback_has_no_frames_of_cfnode_except_for_its_own_faults(tmp_path: Path) -> None:
    """Leave cfnode's frames out of a failed test's traceback, except for its own faults."""
    (tmp_path / "test_failing.py").write_text(FAILING)
    done = played(tmp_path, *PLUGIN, "test_failing.py")
    failures = dict(
        re.findall(r"^_+ test_(\w+) _+\n(.*?)(?=^_+ test_|^=)", done.stdout, re.MULTILINE | re.DOTALL)
    )
    assert set(failures) == {*MESSAGES, "fault"}, done.stdout + done.stderr
    for name, message in MESSAGES.items():
        assert re.search(message, failures[name]), failures[name]
        assert not FRAME.search(failures[name]), failures[name]
    assert FRAME.search(failures["fault"]), failures["fault"]
    full = played(tmp_path, *PLUGIN, "--full-trace", "test_failing.py::test_asset")
    assert FRAME.search(full.stdout), full.stdout


@pytest.mark.world
def test_a_node_that_does_not_start_fails_the_test_with_the_end_of_its_log_alone(tmp_path: Path) -> None:
    """Fail the test with the end of the log alone where the node does not start."""
    (tmp_path / "conftest.py").write_text(WRONG_FLAG)
    (tmp_path / "test_one.py").write_text("def test_one(cfnode_dev):\n    pass\n")
    done = played(tmp_path, *PLUGIN, "test_one.py")
    assert (done.returncode, "No such option '--no-such-flag'" in done.stdout) == (1, True), done.stdout
    assert not re.search(r"^\S+\.py:\d+: |During handling", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.world
def test_a_users_tests_are_typed_for_mypy_strict(tmp_path: Path) -> None:
    """Type a user's tests for mypy --strict, so that it finds a mistyped argument."""
    typed = next(text for name, text in FILES if name == "test_typed.py")
    (tmp_path / "test_typed.py").write_text(typed)
    mistaken = typed.replace("amount=amount", "amont=amount").replace("-> Channel:", "-> int:")
    (tmp_path / "test_mistaken.py").write_text(mistaken)
    good, bad = (strict(tmp_path / name) for name in ("test_typed.py", "test_mistaken.py"))
    assert good.returncode == 0, good.stdout + good.stderr
    assert "[call-overload]" in bad.stdout, bad.stdout
    assert 'got "Channel", expected "int"' in bad.stdout, bad.stdout


def strict(file: Path) -> subprocess.CompletedProcess[str]:
    """Check a file by mypy --strict."""
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={file.parent}", str(file)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_wheel_offers_the_plugin_and_does_not_need_pytest() -> None:
    """Offer the plugin as an entry point, without a dependency on pytest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ((name, module),) = project["entry-points"]["pytest11"].items()
    assert name == module, "so that -p with the module's name loads it once"
    assert callable(import_module(module).cfnode_dev)
    assert not [dependency for dependency in project["dependencies"] if dependency.startswith("pytest")]
