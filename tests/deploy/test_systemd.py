"""The unit is accepted by systemd's own tools, and its command line runs with its environment."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.deploy.programs import DEPLOY, output_of, program, started
from tests.process import NodeProcess, environment, running_node
from tests.support.deploy.units import (
    INSTALLED,
    LEDGER,
    SERVICE,
    UNIT,
    allowed_calls,
    traced_calls,
    values,
    variables,
)

pytestmark = pytest.mark.world

BROKER = DEPLOY / "systemd" / "cfnode.service.d" / "broker.conf"
MAX_EXPOSURE = 3.0
PUBLIC = "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return the unit with its drop-in, for a program that exists: `cfnode` of this environment."""
    here = str(Path(sys.executable).with_name("cfnode"))
    folder = tmp_path / "units"
    (folder / "cfnode.service.d").mkdir(parents=True)
    for file in (UNIT, LEDGER, SERVICE, BROKER):
        target = folder / file.relative_to(UNIT.parent)
        target.write_text(file.read_text().replace(INSTALLED, here))
    return folder / UNIT.name


def test_systemd_accepts_the_units_and_the_drop_in(unit: Path) -> None:
    """Accept the units and the drop-in by systemd without a word."""
    for unit_path in (unit, unit.with_name(LEDGER.name), unit.with_name(SERVICE.name)):
        assert output_of(program("systemd-analyze", "systemd"), "verify", "--man=no", unit_path) == ""


@pytest.mark.parametrize("unit_file", [UNIT, LEDGER, SERVICE], ids=lambda file: file.stem)
def test_the_unit_is_well_confined(unit_file: Path) -> None:
    """Confine each unit to an exposure of at most 3.0."""
    text = output_of(program("systemd-analyze", "systemd"), "security", "--offline=true", unit_file)
    match = re.search(rf"exposure level for {re.escape(unit_file.name)}: ([0-9.]+)", text)
    assert match is not None, text
    assert float(match[1]) <= MAX_EXPOSURE


def test_a_node_needs_no_system_call_that_the_unit_forbids(tmp_path: Path) -> None:
    """Make no system call that the node's unit forbids."""
    allowed, strace, trace = allowed_calls(UNIT), program("strace"), tmp_path / "trace"
    flags = ("--dev", "--dev-seal=instant", "--rpc-port=0", "--port=0", "--prometheus-port=0", "--tmp")
    traced = (strace, "-f", "-c", "-o", str(trace), "-U", "name", sys.executable, "-m", "cfnode", "run")
    with (tmp_path / "log").open("w") as log:
        tracer = subprocess.Popen((*traced, *flags), env=environment(tmp_path), stderr=log)
    node = NodeProcess(tracer, tmp_path / "log")
    try:
        node.wait_until_listening()
        node.call("dev_newBlock")
        children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
        subprocess.run(["kill", "-INT", children[0]], check=True)
        assert tracer.wait(timeout=60) == 0, node.log
    finally:
        if tracer.poll() is None:
            tracer.kill()
            tracer.wait(timeout=60)
    used = traced_calls(trace)
    assert {"openat", "sendto", "mmap"} <= used
    assert used - allowed == set()


def test_the_command_line_of_the_unit_runs_with_its_environment(tmp_path: Path) -> None:
    """Start ready with the unit's command line and environment, and stop by its signal."""
    settings = variables(values(UNIT, "Environment"))
    settings |= variables((UNIT.parent / "cfnode.env").read_text().splitlines())
    (start,) = values(UNIT, "ExecStart")
    base = tmp_path / "state"
    settings = {name: value.replace("/var/lib/cfnode", str(base)) for name, value in settings.items()}
    settings |= {"CFNODE_DEV": "1", "CFNODE_CHAIN": "dev"}
    with started(
        tmp_path, start.replace(INSTALLED, f"{sys.executable} -m cfnode").split(), **settings
    ) as node:
        assert httpx.get(f"{node.url}/health/readiness").status_code == 200
        assert (base / "chains").is_dir()
        assert node.stop(getattr(signal, values(UNIT, "KillSignal")[0])) == 0


def test_the_drop_in_gives_the_node_a_broker(tmp_path: Path) -> None:
    """Give the node a broker by the drop-in, at each start of the service."""
    key = tmp_path / "credentials" / "signing_key_file"
    key.parent.mkdir()
    key.write_text("//Alice")
    key.chmod(stat.S_IRUSR)
    (line,) = values(BROKER, "ExecStartPre")
    base = tmp_path / "base"
    words = line.replace(INSTALLED, f"{sys.executable} -m cfnode").replace("%d", str(key.parent)).split()
    variables = {"CFNODE_BASE_PATH": str(base), "CFNODE_CHAIN": "dev"}
    for _ in range(2):  # each start of the service inserts the key again
        subprocess.run(words, env=environment(tmp_path) | variables, check=True, timeout=60)
    (stored,) = (base / "chains" / "dev" / "keystore").iterdir()
    assert stored.name == f"62726f6b{PUBLIC}"
    with running_node(tmp_path, f"--base-path={base}", "--dev", "--dev-seal=instant") as node:
        assert node.call("broker_register_account").startswith("0x")
