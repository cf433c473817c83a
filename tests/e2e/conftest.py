"""Nodes in processes of their own, and the command line as a person types it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process import NodeProcess, command, environment, running_node

OFFICIAL_FLAGS = (
    "--max-runtime-instances=32",
    "--rpc-cors=all",
    "--rpc-methods=safe",
    "--rpc-external",
    "--sync=light-rpc",
    "--blocks-pruning=128",
    "--state-pruning=128",
    "--disable-log-color",
    "--log",
    "info,grandpa=error,runtime::grandpa=off,aura=error,babe=error,txpool::api=error",
)

Cfnode = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cfnode(tmp_path: Path) -> Cfnode:
    """Return a function that runs `cfnode …` in an empty home; it returns output and exit code."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(tmp_path),
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def manual_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a development chain that makes a block only on `dev_newBlock`."""
    with running_node(tmp_path_factory.mktemp("manual"), "--dev", "--dev-seal=manual") as node:
        yield node
