"""The peers written by others: where they are, and one development node they all talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.lively import Life
from tests.process import NodeProcess, running_node
from tests.sdk.place import node_with_broker


@pytest.fixture(scope="session")
def dev_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a development chain with a block each half second."""
    with running_node(tmp_path_factory.mktemp("interop"), "--dev", "--dev-block-time=500") as node:
        yield node


@pytest.fixture(scope="session")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Yield a development chain with a broker, on which much has happened."""
    with node_with_broker(tmp_path_factory.mktemp("lively")) as node:
        yield Life(node).begin()
