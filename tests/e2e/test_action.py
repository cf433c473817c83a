"""The steps of the guide's action for CI, as a runner carries them out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.testing import DevChain
from cfnode.testing.dev_calls import BROKER_URI
from tests.conftest import ROOT
from tests.support.ports import free_port

pytestmark = pytest.mark.world

ACTION = ROOT / "docs" / "guide" / "development-chain-action" / "action.yml"


def test_the_action_starts_a_chain_with_a_registered_broker(tmp_path: Path) -> None:
    """Start a chain with a registered broker by the action's own steps."""
    text = ACTION.read_text()
    (install,) = re.findall(r"^      run: (\S.*pip install.*)$", text, re.MULTILINE)
    assert install == 'python -m pip install "$PACKAGE"'
    (script,) = re.findall(r"^      run: \|\n((?:        .*\n)+)", text, re.MULTILINE)
    (flags,) = re.findall(r"flags:\n.*\n    default: (.*)", text)
    output, port = tmp_path / "output", free_port()
    (tmp_path / "cfnode").write_text(f'#!/bin/sh\nexec {sys.executable} -m cfnode "$@"\n')
    (tmp_path / "cfnode").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "PORT": str(port),
        "FLAGS": f"{flags} --port=0",
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", dedent(script) + 'echo "node $!"']
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    node = int(done.stdout.split()[-1])
    try:
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        assert outputs["url"] == f"http://127.0.0.1:{port}"
        assert "Running JSON-RPC server" in Path(outputs["log"]).read_text()
        with DevChain(outputs["url"]) as chain:
            assert (
                chain.rpc("cf_account_info", ss58.encode(Keypair.from_suri(BROKER_URI).public, 2112))["role"]
                == "broker"
            )
    finally:
        os.kill(node, signal.SIGINT)
