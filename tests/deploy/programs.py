"""Programs of others that a test needs: where one is missing the test is skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import PEERS, ROOT
from tests.process import NodeProcess, environment

DEPLOY = ROOT / "docs" / "deploy"
LIMIT_S = 600.0


def program(name: str, package: str = "") -> str:
    """Return the path of a program, also in /usr/sbin; skip the test where it is missing."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{name} is not here: install the package {package or name}")
    return path


def output_of(*arguments: str | Path, code: int = 0) -> str:
    """Return both streams of a program's output; fail with it on another exit code."""
    done = subprocess.run(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == code, f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def linter(name: str) -> Path:
    """Return a linter that `scripts/peers` installs; skip the test where it is missing."""
    path = PEERS / "linters" / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not here: scripts/peers installs it")
    return path


@contextmanager
def started(folder: Path, line: Sequence[str], **variables: str) -> Iterator[NodeProcess]:
    """Yield a node by a command line of its own, once it listens; free ports, `cfnode` on the PATH."""
    ports = {"CFNODE_RPC_PORT": "0", "CFNODE_PORT": "0", "CFNODE_PROMETHEUS_PORT": "0"}
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    log = folder / "node.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            list(line),
            env=environment(folder) | ports | path | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            cwd=folder,
        )
    node = NodeProcess(process, log)
    try:
        node.wait_until_listening()
        yield node
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=LIMIT_S)
