"""What is documented for macOS and Windows imports no module that only Unix has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROGRAM = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "termios"):
            raise ModuleNotFoundError(f"no module {name} on Windows", name=name)

sys.meta_path.insert(0, Absent())
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{name}."):
        importlib.import_module(module.name)
"""


def errors_of(*modules: str) -> str:
    """Return the errors of importing modules with all below them where the modules of Unix are missing."""
    command = [sys.executable, "-c", PROGRAM, *modules]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False).stderr


def test_the_sdk_and_the_commands_of_a_distant_node_need_no_unix() -> None:
    """Import the SDK and the commands of a distant node without Unix modules, and document exactly those."""
    commands = ("swap", "recover", "rpc", "status")
    assert errors_of("cfnode.sdk", *(f"cfnode.cli.{name}" for name in commands)) == ""
    page = (ROOT / "docs" / "guide" / "install.md").read_text()
    assert (
        f"| {', '.join(f'`{name}`' for name in commands)}, with a node".replace("`swap`", "`cfnode swap`")
        in page
    )


@pytest.mark.parametrize("module", ["cfnode.store", "cfnode.testing"])
def test_a_node_needs_it(module: str) -> None:
    """Name Windows in the error of what needs a node of its own."""
    assert "on Windows" in errors_of(module)
