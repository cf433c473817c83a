"""One development node for all tests of the SDK that only want to swap, and an EVM chain of each file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sdk.place import AMOUNT, BITCOIN, Place, node_with_broker
from tests.support.sdk.sending import evm, key

__all__ = ["evm", "key", "place"]


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yield a node with a broker and boost, shared by the tests."""
    with node_with_broker(tmp_path_factory.mktemp("place")) as node:
        node.call("dev_setBoost", BITCOIN, 50 * AMOUNT)
        yield Place(node, node.call("broker_register_affiliate", "0x" + "0a" * 20))
