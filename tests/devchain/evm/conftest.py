"""A local EVM chain for each test."""

from __future__ import annotations

import pytest

from tests.support.devchain.local_evm import LocalEvm, local_evm, require_py_evm


@pytest.fixture
def local() -> LocalEvm:
    """Return a local EVM; skip the test without py-evm."""
    require_py_evm()
    return local_evm()
