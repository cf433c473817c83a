"""`subxt codegen` reads the development runtime's metadata, and what it writes compiles.

A name that is a keyword of Rust, or a type without a size, ends one of both: `test_rust_names.py` looks for
them without Rust.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cfnode.core.scale.metadata import encode_metadata
from tests.conftest import PEERS
from tests.devchain.runtime.differences import ours
from tests.support.interop.programs import SCRIPTS

pytestmark = pytest.mark.world

SUBXT = PEERS / "subxt" / "bin" / "subxt"
LIBRARIES = PEERS / "subxt" / "target" / "debug" / "deps"
"""The libraries of the command line, one of which is subxt, at the version that Chainflip's engine uses."""
PATIENCE_S = 1_800
"""Seconds for what takes a minute on a quiet machine."""


@pytest.fixture(scope="module")
def library() -> Path:
    """Return subxt's library."""
    libraries = sorted(LIBRARIES.glob("libsubxt-*.rlib"))
    if shutil.which("rustc") is None or not SUBXT.exists() or not libraries:
        pytest.skip("subxt is not here: scripts/peers builds it (needs cargo)")
    return libraries[0]


@pytest.mark.parametrize("release", ["2.2.9", "2.3.0"])
def test_the_code_that_subxt_generates_compiles(library: Path, release: str, tmp_path: Path) -> None:
    """Compile the code that subxt generates from each release's metadata."""
    metadata, code = tmp_path / "metadata.scale", tmp_path / "code.rs"
    metadata.write_bytes(encode_metadata(ours(release)))
    with code.open("wb") as output:
        command = [str(SUBXT), "codegen", "--file", str(metadata)]
        subprocess.run(command, stdout=output, check=True, timeout=PATIENCE_S)
    done = subprocess.run(
        [
            *("rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", f"--out-dir={tmp_path}"),
            *("-L", f"dependency={LIBRARIES}", "--extern", f"subxt={library}"),
            str(SCRIPTS / "subxt_code.rs"),
        ],
        env=os.environ | {"CFNODE_SUBXT_CODE": str(code)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "libsubxt_code.rmeta").exists()
