"""The modules that a node imports before it knows its chain: none of the development runtime."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROGRAM = """
import json, sys
import cfnode.cli.banner, cfnode.cli.lifetime, cfnode.cli.run, cfnode.cli.service_manager
import cfnode.devchain.chain
{more}
print(json.dumps(sorted(name for name in sys.modules if name.startswith("cfnode.devchain.runtime."))))
"""


def imported(more: str = "") -> list[str]:
    """Return the modules of the development runtime that a process has imported."""
    line = [sys.executable, "-c", PROGRAM.format(more=more)]
    printed = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names: list[str] = json.loads(printed)
    return names


@pytest.mark.world
def test_a_node_imports_the_development_runtime_only_to_make_its_genesis() -> None:
    """Import the development runtime only to make its genesis: other nodes would start later for nothing."""
    assert imported() == ["cfnode.devchain.runtime.release_names", "cfnode.devchain.runtime.well_known"]
    with_genesis = imported("cfnode.devchain.chain.load_spec('dev', None, ())")
    assert {"cfnode.devchain.runtime.frame", "cfnode.devchain.runtime.runtime"} <= set(with_genesis)
