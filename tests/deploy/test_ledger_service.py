"""The ledger's unit and compose service: their command lines follow a node, with what they allow."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.deploy.programs import LIMIT_S, output_of, program
from tests.documentation import block
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.lengths import only_whole
from tests.process import NodeProcess, environment, running_node
from tests.support.deploy.containers import COMPOSE, DOCKERFILE
from tests.support.deploy.units import (
    INSTALLED,
    LEDGER,
    ONLY_AS_ROOT,
    STATE,
    allowed_calls,
    traced_calls,
    values,
    variables,
)

pytestmark = pytest.mark.world

SERVICE: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]["ledger"]


@pytest.fixture
def node(tmp_path: Path) -> Any:
    """Yield an archive node with a final block."""
    (tmp_path / "node").mkdir()
    with running_node(tmp_path / "node", "--dev", "--dev-seal=instant", "--state-pruning=archive") as running:
        running.call("dev_newBlock", {"finalize": True})
        yield running


def given(node: NodeProcess, folder: Path) -> dict[str, str]:
    """Return the environment of the unit, for a test's folder and node."""
    settings = variables(values(LEDGER, "Environment"))
    settings |= variables((LEDGER.parent / "ledger.env").read_text().splitlines())
    assert settings["CFNODE_URL"] == "http://127.0.0.1:9944"
    moved = {name: value.replace(STATE, str(folder / "state")) for name, value in settings.items()}
    return environment(folder) | moved | {"CFNODE_URL": node.url, "CFNODE_LEDGER_RUN_FIRST_BLOCK": "1"}


def start_line() -> list[str]:
    """Return the command line of the ledger's unit, for this environment's program."""
    (line,) = values(LEDGER, "ExecStart")
    return line.replace(INSTALLED, f"{sys.executable} -m cfnode").split()


def test_the_command_line_of_the_unit_follows_with_its_environment(node: NodeProcess, tmp_path: Path) -> None:
    """Follow the node with the unit's command line and environment, and check the books as the guide does."""
    settings = given(node, tmp_path)
    done = subprocess.run(
        [*start_line(), "--once"], env=settings, timeout=LIMIT_S, capture_output=True, check=False
    )
    assert (done.returncode, b"The books begin with block 1" in done.stderr) == (0, True), done.stderr
    database = settings["CFNODE_LEDGER_RUN_DATABASE"]
    assert database == f"sqlite:///{tmp_path}/state/ledger.sqlite"
    words = (
        block("docs/guide/deployment.md", "sudo cfnode ledger check")
        .replace(STATE, str(tmp_path / "state"))
        .split()
    )
    assert words[:2] == ["sudo", "cfnode"]
    text = output_of(sys.executable, "-m", "cfnode", *words[2:], "--node", node.url)
    assert text.endswith("books and chain agree\n")


def test_each_line_of_the_settings_is_a_flag(node: NodeProcess, tmp_path: Path) -> None:
    """Those that are commented out, too."""
    lines = (LEDGER.parent / "ledger.env").read_text().splitlines()
    offered = [line.lstrip("#") for line in lines if re.match(r"#?CFNODE_\w+=", line)]
    assert len(offered) == 6
    (database,) = (line for line in offered if line.startswith("CFNODE_LEDGER_RUN_DATABASE"))
    settings = given(node, tmp_path) | variables([name for name in offered if name != database])
    settings |= {"CFNODE_URL": node.url, "CFNODE_LEDGER_RUN_ARCHIVE": node.url}
    done = subprocess.run(
        [*start_line(), "--once"], env=settings, timeout=LIMIT_S, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "state" / "ledger.sqlite") as connection:
        (kept,) = connection.execute("SELECT value FROM ledger WHERE name = 'accounts'").fetchone()
    assert f"CFNODE_LEDGER_RUN_ACCOUNT={kept}" in offered


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=only_whole)])
def test_the_ledger_needs_nothing_that_the_unit_forbids(node: NodeProcess, tmp_path: Path, kind: str) -> None:
    """Make no system call that the unit forbids, and map no memory as writable and executable."""
    if kind == "sqlite":
        _trace(node, tmp_path, given(node, tmp_path))
        return
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        _trace(
            node,
            tmp_path,
            given(node, tmp_path) | {"CFNODE_LEDGER_RUN_DATABASE": server.new_database("books")},
        )


def _trace(node: NodeProcess, tmp_path: Path, settings: dict[str, str]) -> None:
    allowed, strace, trace = allowed_calls(LEDGER), program("strace"), tmp_path / "trace"
    line = [*start_line(), "--once"]
    summary = [strace, "-f", "-c", "-o", str(trace), "-U", "name", *line]
    subprocess.run(summary, env=settings, timeout=LIMIT_S, capture_output=True, check=True)
    used = traced_calls(trace)
    assert {"openat", "connect", "mmap"} <= used
    assert used - allowed <= ONLY_AS_ROOT
    assert values(LEDGER, "MemoryDenyWriteExecute") == ["yes"]
    mapped = [strace, "-f", "-e", "trace=mmap,mprotect", "-o", str(trace), *line]
    subprocess.run(mapped, env=settings, timeout=LIMIT_S, capture_output=True, check=True)
    calls = trace.read_text().splitlines()
    assert len(calls) > 100
    assert [call for call in calls if "PROT_WRITE" in call and "PROT_EXEC" in call] == []


def test_the_compose_service_is_closed_and_its_command_line_runs(node: NodeProcess, tmp_path: Path) -> None:
    """Close the compose service, and run its command line into a database of the volume."""
    assert SERVICE["profiles"] == ["ledger"]
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["read_only"] is True
    assert SERVICE["network_mode"] == "service:node-with-broker"
    assert not {"ports", "user", "privileged"} & set(SERVICE)
    (volume,) = SERVICE["volumes"]
    assert volume == f"./chainflip/ledger:{STATE}"
    assert re.search(rf"install -d -o cfnode -g cfnode -m 0700 .*{STATE} ", DOCKERFILE.read_text())
    default = re.sub(r"\$\{\w+:-(.*)\}", r"\1", SERVICE["environment"]["CFNODE_LEDGER_RUN_DATABASE"])
    database = default.replace(STATE, str(tmp_path / "state"))
    line = [sys.executable, "-m", "cfnode", *shlex.split(SERVICE["command"]), "--node", node.url, "--once"]
    settings = environment(tmp_path) | {"CFNODE_LEDGER_RUN_DATABASE": database}
    subprocess.run(line, env=settings, timeout=LIMIT_S, check=True, cwd=ROOT)
    assert (tmp_path / "state" / "ledger.sqlite").exists()


def test_an_upgrade_of_the_package_restarts_the_ledger_and_its_removal_keeps_the_books() -> None:
    """Restart the services on an upgrade, stop them on removal, and keep the books."""
    debian = LEDGER.parents[1] / "debian"
    assert (
        "try-restart cfnode.service cfnode-ledger.service cfnode-service.service"
        in (debian / "postinst").read_text()
    )
    assert (
        "disable --now cfnode.service cfnode-ledger.service cfnode-service.service"
        in (debian / "prerm").read_text()
    )
    assert "rm " not in (debian / "postrm").read_text()
