"""A whole node on a chain whose runtime is the official WebAssembly (spec 100), asked over JSON-RPC."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.ss58 import encode
from tests.process import NodeProcess, running_node, until

ALICE = Keypair.from_suri("//Alice")
ADDRESS = encode(ALICE.public)
FLAGS = ("--dev", "--dev-seal=instant", "--no-prometheus")


@pytest.fixture
def spec(berghain_spec: Path, tmp_path: Path) -> Path:
    """Return a specification of the official runtime."""
    path = tmp_path / "mine.json"
    arguments = ["build-spec", "--chain", str(berghain_spec), "-o", str(path)]
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    return path


def remark(node: NodeProcess, nonce: int) -> str:
    """Return a signed remark, in hex."""
    metadata = decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))
    genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
    call = metadata.call_codec.encode(("System", ("remark", {"remark": b"over JSON-RPC"})))
    extrinsic = sign_extrinsic(
        metadata, call, ALICE, nonce=nonce, era=IMMORTAL, era_hash=genesis, genesis_hash=genesis,
        spec_version=100, transaction_version=10,
    )  # fmt: skip
    return f"0x{extrinsic.hex()}"


def head(node: NodeProcess) -> int:
    """Return the number of the best block."""
    return int(node.call("chain_getHeader")["number"], 16)


def test_a_node_authors_the_official_runtime_and_continues_after_a_restart(
    spec: Path, tmp_path: Path
) -> None:
    """Author, dry-run and finalize in the official runtime, and continue after a restart."""
    with running_node(tmp_path, f"--chain={spec}", *FLAGS) as node:
        assert node.call("state_getRuntimeVersion")["specVersion"] == 100
        assert node.call("system_accountNextIndex", ADDRESS) == 0
        assert len(node.call("cf_accounts")) == 5
        assert int(node.call("cf_flip_supply")[0], 16) == (90_000_000 + 20_000) * 10**18
        assert node.call("cf_auction_state")["blocks_per_epoch"] == 14_400
        assert node.call("system_dryRun", remark(node, 0)) == "0x0000"
        first = head(node)
        for nonce in range(5):
            node.call("author_submitExtrinsic", remark(node, nonce))
            until(lambda count=nonce + 1: head(node) >= first + count)
        last = head(node)
        assert last >= first + 5
        until(lambda: node.call("chain_getFinalizedHead") == node.call("chain_getBlockHash", last))
        assert node.stop() == 0
    with running_node(tmp_path, f"--chain={spec}", *FLAGS, log_name="again.log") as node:
        assert head(node) >= last
        node.call("author_submitExtrinsic", remark(node, 5))
        until(lambda: head(node) > last)
        assert node.call("state_getRuntimeVersion")["specVersion"] == 100
