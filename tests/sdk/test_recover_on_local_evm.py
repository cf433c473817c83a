"""Recoveries on the chains of `cfnode dev evm`: other chains, tokens, and a rotation of keys in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.core.vault_calls import selector
from tests.process import NodeProcess
from tests.sdk.place import node_with_broker
from tests.support.cli.json_schemas import SCHEMAS
from tests.support.cli.json_shapes import faults
from tests.support.devchain.local_evm import RunningEvm, require_py_evm, running_evm
from tests.support.sdk.failed_swaps import NO_SERVER, fail_a_transfer

pytestmark = pytest.mark.world

RECEIVER = "0x00000000000000000000000000000000000000bb"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a development chain with a broker."""
    require_py_evm()
    with node_with_broker(tmp_path_factory.mktemp("node")) as running:
        yield running


def recover(node: NodeProcess, evm: RunningEvm, chain: str, number: int, *flags: str) -> Result:
    """Run `cfnode recover` for a broadcast on a local EVM chain."""
    services = (
        "--network=dev",
        f"--node={node.url}",
        f"--backend={NO_SERVER}",
        f"--eth-rpc={evm.url}",
        "--json",
    )
    return CliRunner().invoke(cli, ["recover", chain, str(number), *services, *flags])


def tokens(evm: RunningEvm, symbol: str, account: str) -> int:
    """Return an account's balance of a token."""
    data = selector("balanceOf(address)") + bytes.fromhex(account[2:]).rjust(32, b"\0")
    call = {"to": evm.started["tokens"][symbol], "data": "0x" + data.hex()}
    return int(evm.call("eth_call", call, "latest"), 16)


@pytest.mark.parametrize(("chain", "symbol"), [("Arbitrum", "ETH"), ("Bsc", "USDT")])
def test_a_failed_transfer_is_paid_to_the_wei(
    node: NodeProcess, chain: str, symbol: str, tmp_path: Path
) -> None:
    """Pay exactly the amount of the payload in a coin or a token, and only once."""
    number = fail_a_transfer(node, chain, symbol, RECEIVER)
    with running_evm(tmp_path, node.url, f"--chain={chain}") as evm:

        def balance() -> int:
            if symbol == "ETH":
                return int(evm.call("eth_getBalance", RECEIVER, "latest"), 16)
            return tokens(evm, symbol, RECEIVER)

        assert balance() == 0
        done = recover(node, evm, chain.lower(), number, f"--key={evm.started['keyFile']}", "--yes")
        assert done.exit_code == 0, done.output
        report: dict[str, Any] = json.loads(done.stdout)
        assert balance() == int(report["payload"]["amount"]) > 0
        again = recover(node, evm, chain.lower(), number)
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output


def test_the_key_manager_follows_the_development_chains_keys(node: NodeProcess, tmp_path: Path) -> None:
    """Follow a rotation with the local key manager, and pay by a call with the new key's signature."""
    number = fail_a_transfer(node, "Ethereum", "ETH", RECEIVER)
    with running_evm(tmp_path, node.url) as evm:
        assert recover(node, evm, "ethereum", number).exit_code == 0
        node.call("dev_rotate")
        rotated = evm.next_event("keyRotated")
        node.call("dev_newBlock")
        done = recover(node, evm, "ethereum", number, f"--key={evm.started['keyFile']}", "--yes")
        assert done.exit_code == 0, done.output
        mined = evm.next_event("mined")
        assert (mined["blockNumber"], mined["succeeded"]) == (rotated["blockNumber"] + 1, True)
        schema = SCHEMAS["dev evm"]
        assert [fault for stage in (evm.started, rotated, mined) for fault in faults(stage, schema)] == []
        paid = int(json.loads(done.stdout)["payload"]["amount"])
        assert int(evm.call("eth_getBalance", RECEIVER, "latest"), 16) == paid


def test_a_kept_key_refuses_the_next_ones_calls(node: NodeProcess, tmp_path: Path) -> None:
    """Refuse the next key's call where the local key manager keeps the first key."""
    number = fail_a_transfer(node, "Ethereum", "ETH", RECEIVER)
    with running_evm(tmp_path, node.url, "--keep-key") as evm:
        assert recover(node, evm, "ethereum", number).exit_code == 0
        node.call("dev_rotate")
        node.call("dev_newBlock")
        refused = recover(node, evm, "ethereum", number)
        assert refused.exit_code == ExitCode.KEY_ROTATED, refused.output
