"""The image and the compose file pass linters; each of their command lines runs here, without a container."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfnode.cli.client import CallRefused
from tests.conftest import ROOT
from tests.deploy.programs import DEPLOY, linter, output_of, started
from tests.e2e.conftest import OFFICIAL_FLAGS
from tests.lengths import only_whole
from tests.process import command
from tests.support.deploy.containers import BASE, CHAIN, COMPOSE, DOCKERFILE, KEYS, folder, keystore, moved

pytestmark = pytest.mark.world

__all__ = ["folder"]  # a fixture


SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
PROFILES = {"node": "rpc-node", "node-with-broker": "broker", "node-with-lp": "lp"}
PUBLIC = "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
KEY_FILES = {"node": [], "node-with-broker": [f"62726f6b{PUBLIC}"], "node-with-lp": [f"6c717072{PUBLIC}"]}
YAML_STYLE = """
extends: default
rules: {line-length: {max: 140}, document-start: disable, braces: {max-spaces-inside: 1}}
"""


def test_hadolint_accepts_the_dockerfile() -> None:
    """Accept the Dockerfile without a word of hadolint."""
    assert output_of(linter("hadolint"), DOCKERFILE) == ""


def test_the_compose_file_follows_the_specification() -> None:
    """Accept the compose file by the specification's schema."""
    output_of(linter("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", COMPOSE)


def test_yamllint_accepts_every_file_for_deployment() -> None:
    """Accept every YAML file for deployment by yamllint, the compose file and the manifests among them."""
    files = [path for pattern in ("*.yml", "*.yaml") for path in DEPLOY.rglob(pattern)]
    assert {COMPOSE, DEPLOY / "kubernetes" / "cfnode.yaml"} < set(files)
    assert output_of(linter("yamllint"), "--strict", "--config-data", YAML_STYLE, *files) == ""


def test_the_compose_file_has_the_official_profiles_and_is_closed() -> None:
    """Offer the official profiles, with local ports, no capabilities and a read-only file system."""
    nodes = {name: service for name, service in SERVICES.items() if name not in ("ledger", "service")}
    assert {name: service["profiles"] for name, service in nodes.items()} == {
        name: [profile] for name, profile in PROFILES.items()
    }
    for service in nodes.values():
        assert service["ports"] == ["127.0.0.1:9944:9944"]
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
        assert "user" not in service
    assert re.search(r"^USER 10110:10110$", DOCKERFILE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "node-with-broker" else [only_whole]) for name in PROFILES],
)
def test_each_command_line_of_the_compose_file_runs(name: str, folder: Path) -> None:
    """Run each command line of the compose file twice: the second insertion of a key must not fail."""
    service = SERVICES[name]
    line = shlex.split(moved(service["command"], folder))
    for _ in range(2):  # the container is created again: the key is there already
        with started(folder, [service.get("entrypoint", "cfnode"), *line]) as node:
            assert node.call("system_health")["isSyncing"] is True
            assert keystore(folder) == KEY_FILES[name]
            assert ("Broker key found in the keystore" in node.log) == (name == "node-with-broker")
            assert ("LP key found in the keystore" in node.log) == (name == "node-with-lp")
            listed = node.call("rpc_methods")["methods"]
            assert ("lp_set_limit_order" in listed) == (name == "node-with-lp")
            with pytest.raises(CallRefused, match="unsafe"):
                node.call("author_insertKey", "brok", "//Alice", "0x" + "00" * 32)
            assert node.stop(getattr(signal, service["stop_signal"])) == 0


@pytest.mark.parametrize(
    "key_type", ["brok", pytest.param("lqpr", marks=only_whole), pytest.param(None, marks=only_whole)]
)
def test_the_official_command_lines_run_with_the_alias(key_type: str | None, folder: Path) -> None:
    """Run the official node's command lines under its program's name, with and without a key."""
    program, chain, base = "/usr/local/bin/chainflip-node", f"--chain={CHAIN}", f"--base-path={BASE}"
    role = "lp" if key_type == "lqpr" else "broker"
    secret = f"--suri=0x$(cat {KEYS}/{role}/signing_key_file)"
    insert = f"{program} key insert {chain} {base} {secret} --key-type={key_type} --scheme=sr25519 && "
    run = " ".join(("exec", program, base, chain, *OFFICIAL_FLAGS))
    script = moved((insert if key_type else "") + run, folder)
    with started(folder, ["/bin/sh", "-c", script]) as node:
        assert node.call("system_health")["isSyncing"] is True
        assert len(keystore(folder)) == (1 if key_type else 0)
        listed = node.call("rpc_methods")["methods"]
        assert ("broker_withdraw_fees" in listed) == (key_type == "brok")
        assert ("lp_set_limit_order" in listed) == (key_type == "lqpr")
        assert node.stop(signal.SIGINT) == 0


def test_the_default_command_of_the_image_serves_and_is_healthy(folder: Path) -> None:
    """Serve with the image's default command, and pass its health check only while it serves."""
    text = DOCKERFILE.read_text()
    entry, default, check = (
        json.loads(re.findall(rf"{name} (\[.*\])", text)[-1])
        for name in ("ENTRYPOINT", r"\nCMD", r"HEALTHCHECK[^\[]*CMD")
    )
    chain, base = f"--chain={folder}/chain.json", f"--base-path={folder}/base"
    with started(folder, [*entry, *default, chain, base]) as node:
        probe = [sys.executable, *(part.replace("http://127.0.0.1:9944", node.url) for part in check[1:])]
        assert subprocess.run(probe, check=False, timeout=60).returncode == 0
        assert node.stop() == 0
    assert subprocess.run(probe, check=False, stderr=subprocess.DEVNULL, timeout=60).returncode == 1


def test_the_image_has_the_chain_at_the_official_path() -> None:
    """Write the official specification to the official path of the image."""
    (line,) = re.findall(r"cfnode (export-chain-spec .*) > (\S+)", DOCKERFILE.read_text())
    assert line[1] == CHAIN
    printed = subprocess.run(command(*line[0].split()), capture_output=True, check=True, timeout=60).stdout
    assert json.loads(printed)["id"] == "Chainflip-Berghain"


def test_the_build_copies_only_what_the_ignore_rules_let_through() -> None:
    """Copy only files into the image that the ignore rules let through and that exist."""
    rules = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().splitlines()
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    assert "*" in rules
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
    for source in (name for line in copied for name in line.split()):
        assert any(fnmatch(source, rule) for rule in allowed), source
        assert (ROOT / source).exists(), source
