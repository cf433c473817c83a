"""The manifests follow the schemas of Kubernetes, fit together, and their containers' arguments run here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from cfnode import __version__
from tests.deploy.programs import DEPLOY, linter, output_of, started
from tests.process import command
from tests.support.deploy.containers import folder, keystore, moved

pytestmark = pytest.mark.world

__all__ = ["folder"]

MANIFESTS = DEPLOY / "kubernetes" / "cfnode.yaml"
VERSION = "1.30.0"
DOCUMENTS: dict[str, Any] = {
    manifest["kind"]: manifest for manifest in yaml.safe_load_all(MANIFESTS.read_text())
}
POD: Any = DOCUMENTS["StatefulSet"]["spec"]["template"]["spec"]
(NODE,), (KEY,) = POD["containers"], POD["initContainers"]


def test_each_manifest_follows_its_schema(tmp_path: Path) -> None:
    """Accept each manifest by its schema, and refuse one with a mistyped field."""
    output_of(linter("kubernetes-validate"), "--strict", "--kubernetes-version", VERSION, MANIFESTS)
    broken = tmp_path / "broken.yaml"
    broken.write_text(MANIFESTS.read_text().replace("replicas: 1", "replicaz: 1"))
    output_of(linter("kubernetes-validate"), "--strict", "--kubernetes-version", VERSION, broken, code=1)


def test_there_is_one_node_with_the_brokers_key() -> None:
    """Run one node with the broker's key: two would use one account's nonces at once."""
    assert DOCUMENTS["StatefulSet"]["spec"]["replicas"] == 1


def test_the_parts_belong_together() -> None:
    """Select the pod by equal labels everywhere, mount volumes that exist, and hold no secret."""
    labels = DOCUMENTS["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    for selector in (
        DOCUMENTS["StatefulSet"]["spec"]["selector"]["matchLabels"],
        DOCUMENTS["Service"]["spec"]["selector"],
        DOCUMENTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        DOCUMENTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert selector == labels
    volumes = {volume["name"] for volume in POD["volumes"]} | {"chaindata"}
    for container in (NODE, KEY):
        assert container["image"] == f"cfnode:{__version__}"
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "Secret" not in DOCUMENTS, "keys are never in a manifest"


def test_the_arguments_of_both_containers_run_and_the_probes_answer(folder: Path) -> None:
    """Run the arguments of both containers, and answer the probes under their host names alone."""
    insert = [moved(argument, folder) for argument in KEY["args"]]
    subprocess.run(command(*insert), check=True, timeout=60)
    assert len(keystore(folder)) == 1
    line = [sys.executable, "-m", "cfnode", *(moved(argument, folder) for argument in NODE["args"])]
    with started(folder, line) as node:
        assert "Broker key found in the keystore" in node.log

        def status(path: str, host: str) -> int:
            return httpx.get(node.url + path, headers={"host": host}).status_code

        def probed(name: str) -> int:
            probe = NODE[name]["httpGet"]
            (header,) = probe["httpHeaders"]
            assert header == {"name": "Host", "value": "localhost:9944"}
            return status(probe["path"], node.url.removeprefix("http://").replace("127.0.0.1", "localhost"))

        assert probed("startupProbe") == probed("livenessProbe") == 200
        assert probed("readinessProbe") == 500, "it has no peers"
        assert status("/health", "cfnode.cfnode.svc:9944") == 200
        assert status("/health", "evil.example") == 403
        assert node.stop() == 0
