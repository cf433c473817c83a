"""The peers written by others: where they are, and one development node they all talk to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PEERS
from tests.process import NodeProcess, running_node


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The folder of the Node.js peers."""
    path = PEERS / "node" / "node_modules"
    if shutil.which("node") is None or not (path / "@polkadot" / "api").exists():
        pytest.skip("the Node.js peers are not here: scripts/peers installs them (needs node and npm)")
    return path


@pytest.fixture(scope="session")
def dev_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A development chain with a block each half second."""
    with running_node(tmp_path_factory.mktemp("interop"), "--dev", "--dev-block-time=500") as node:
        yield node
