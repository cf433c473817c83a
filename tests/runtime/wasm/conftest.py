"""What the tests of WebAssembly runtimes share."""

from __future__ import annotations

import pytest

from cfnode.runtime.wasm.artefacts import Artefacts, directory


@pytest.fixture
def artefacts() -> Artefacts:
    """Return the compiled modules that all tests share."""
    return Artefacts(directory())
