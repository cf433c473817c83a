"""The program of the guide's JavaScript page, with two releases of @chainflip/sdk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.testing import DevChain, running_node
from tests.documentation import block
from tests.support.interop.chainflip_sdk import BOTH_FORMS, NEWER_FORM

pytestmark = pytest.mark.world

NAME, PROGRAM = block("docs/guide/javascript.md", "// swap.mjs").removeprefix("// ").split("\n", 1)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevChain]:
    """Yield a chain with a registered broker."""
    with running_node(tmp_path_factory.mktemp("node")) as node, DevChain(node.url) as chain:
        chain.new_block()
        chain.broker.register()
        chain.finalize()
        yield chain


@pytest.mark.parametrize("package", [BOTH_FORMS, NEWER_FORM])
def test_the_program_of_the_page_swaps_and_leaves_the_chain_as_it_was(
    package: str, chain: DevChain, node_modules: Path, tmp_path: Path
) -> None:
    """Swap with the guide's program, and leave the chain as it was."""
    if not (node_modules / package).exists():
        pytest.skip("Chainflip's SDK is not among the Node.js peers: scripts/peers installs it")
    (tmp_path / "node_modules").symlink_to(node_modules)
    (tmp_path / NAME).write_text(PROGRAM.replace("@chainflip/sdk", package))
    before = chain.rpc("chain_getBlockHash")
    done = subprocess.run(
        ["node", NAME], cwd=tmp_path, env={**os.environ, "CFNODE_URL": chain.url}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    state, amount = done.stdout.split()
    assert state == "COMPLETED"
    assert 2.5e18 < int(amount.removesuffix("n")) < 3.2e18, "0.1 BTC in wei, at the prices of genesis"
    assert chain.rpc("chain_getBlockHash") == before
