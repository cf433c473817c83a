"""A local EVM chain with the contracts of a payload's key, and the key of a sender on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk.anvil import USER_KEY, Evm, evm_chain, require_eth_account
from tests.support.sdk.payloads import raw, vector
from tests.support.sdk.recover_command import ETHER

__all__ = ["evm", "key"]

HELD = 90 * ETHER
"""What the vault has."""


@pytest.fixture(scope="module")
def evm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evm]:
    """Yield a chain for all tests of a file."""
    require_eth_account()
    with evm_chain(31337, tmp_path_factory.mktemp("evm") / "anvil.log") as chain:
        chain.deploy_bed(raw(vector("native-ethereum-even-key")["agg_key"]["compressed"]), HELD)
        yield chain


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Return a file with the key of an account that has funds, readable by its owner only."""
    path = tmp_path / "key"
    path.write_text(USER_KEY)
    path.chmod(0o600)
    return path
