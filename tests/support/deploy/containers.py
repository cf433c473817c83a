"""Containers' files and command lines, and the folder that one mounts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.programs import DEPLOY
from tests.process import command

DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
COMPOSE = DEPLOY / "docker" / "docker-compose.yml"

CHAIN = "/etc/chainflip/berghain.chainspec.json"
BASE = "/etc/chainflip/chaindata"
KEYS = "/etc/chainflip-keys"

ALICE = "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder that a container mounts: keys of a known account, and a chain without boot nodes."""
    for role in ("broker", "lp"):
        (tmp_path / "keys" / role).mkdir(parents=True)
        (tmp_path / "keys" / role / "signing_key_file").write_text(ALICE)
    with (tmp_path / "chain.json").open("w") as spec:
        subprocess.run(command("export-chain-spec", "--dev", "--light"), stdout=spec, check=True, timeout=60)
    return tmp_path


def moved(line: str, folder: Path) -> str:
    """Return a command line of a container, for the test's folder."""
    program = str(Path(sys.executable).with_name("chainflip-node"))
    renamed = {CHAIN: folder / "chain.json", BASE: folder / "base", KEYS: folder / "keys"}
    for inside, outside in renamed.items():
        line = line.replace(inside, str(outside))
    return line.replace("/usr/local/bin/chainflip-node", program)


def keystore(folder: Path) -> list[str]:
    """Return the names of the key files."""
    return sorted(path.name for path in folder.glob("base/**/keystore/*"))
