"""Programs written by others use a development node as they would use the official one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.process import NodeProcess

HERE = Path(__file__).parent


def report_of(*command: str, **environment: str) -> dict[str, Any]:
    """The JSON line that a peer prints last."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def test_polkadot_api_reads_follows_and_submits(
    dev_node: NodeProcess, node_modules: Path, tmp_path: Path
) -> None:
    script = tmp_path / "polkadot_api.mjs"
    script.write_text((HERE / "polkadot_api.mjs").read_text())
    (tmp_path / "node_modules").symlink_to(node_modules)
    report = report_of("node", str(script), dev_node.ws_url)
    assert report["genesis"] == dev_node.call("chain_getBlockHash", 0)
    assert report["providers"] == 1
    assert report["heads"] == list(range(report["heads"][0], report["heads"][0] + 3))
    assert report["statuses"][0] == "Ready"
    assert report["statuses"][-1] == "Finalized"
    assert "system.Remarked" in report["events"]
    assert "system.ExtrinsicSuccess" in report["events"]
    assert report["nonceAfter"] == report["nonce"] + 1


def test_substrate_interface_reads_follows_and_submits(
    dev_node: NodeProcess, substrate_interface: Path
) -> None:
    report = report_of(str(substrate_interface), str(HERE / "substrate_interface_peer.py"), dev_node.ws_url)
    assert report["genesis"] == dev_node.call("chain_getBlockHash", 0)
    assert report["providers"] == 1
    assert report["heads"] == list(range(report["heads"][0], report["heads"][0] + 3))
    assert report["success"] is True
    assert report["finalized"] is True
    assert "System.Remarked" in report["events"]
