"""The peers written by others: where they are, and one development node they all talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.process import NodeProcess, running_node


@pytest.fixture(scope="session")
def dev_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A development chain with a block each half second."""
    with running_node(tmp_path_factory.mktemp("interop"), "--dev", "--dev-block-time=500") as node:
        yield node
