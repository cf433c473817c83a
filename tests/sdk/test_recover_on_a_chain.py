"""A transfer fails on a development chain, and one command recovers it on a local EVM chain."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.sdk import SwapSDK
from cfnode.sdk.recovery import FetchFailedCall, FindFailedCalls
from tests.process import NodeProcess, command, environment, running_node
from tests.sdk.anvil import USER_KEY, Evm, evm_chain, require_eth_account
from tests.sdk.test_recover_command import ETHER

RECEIVER = "0x00000000000000000000000000000000000000aa"
REFUND = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
BTC = {"chain": "Bitcoin", "asset": "BTC"}
BLOCKS = 30
"""Far more than a swap and its payout take."""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """A development chain that makes blocks when asked, with a registered broker."""
    require_eth_account()
    base = f"--base-path={tmp_path}/base"
    insert = command("key", "insert", "--chain=dev", base, "--suri=//Alice", "--key-type=brok")
    subprocess.run([*insert, "--scheme=sr25519"], env=environment(tmp_path), check=True, capture_output=True)
    with running_node(tmp_path, base, "--dev", "--dev-seal=instant") as running:
        running.call("broker_register_account")
        yield running


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(USER_KEY)
    return path


def fail_a_transfer(node: NodeProcess, chain: str, symbol: str = "ETH", receiver: str = RECEIVER) -> int:
    """Swap a bitcoin to a receiver that does not take it; the broadcast id of the fallback."""
    asset = {"chain": chain, "asset": symbol}
    terms = {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
    node.call("dev_failReceiver", receiver, asset)
    channel = node.call(
        "broker_request_swap_deposit_address", BTC, asset, receiver, 0, None, None, None, terms
    )
    node.call("dev_deposit", channel["address"], BTC, 10**8)
    with SwapSDK(network="dev", rpc_url=node.url) as sdk:
        for _ in range(BLOCKS):
            node.call("dev_newBlock")
            if found := sdk.call(FindFailedCalls(chain)):
                return found[0].broadcast_id
    raise AssertionError("no transfer failed")


def place_contracts(evm: Evm, node: NodeProcess, chain: str, broadcast_id: int) -> int:
    """Key manager and vault at the addresses that the State Chain names; what the payload pays, in wei."""
    with SwapSDK(network="dev", rpc_url=node.url) as sdk:
        failed = sdk.call(FetchFailedCall(chain, broadcast_id))
    manager, vault = "0x" + failed.key_manager.hex(), "0x" + failed.payload.vault.hex()
    x, parity = int.from_bytes(failed.aggregate_key[1:], "big"), failed.aggregate_key[0] - 2
    first = evm.deploy("KeyManager", x, parity)
    second = evm.deploy("Vault", int(manager, 16))
    for source, place, slots in ((first, manager, (x, parity)), (second, vault, (int(manager, 16),))):
        evm.call("anvil_setCode", place, evm.call("eth_getCode", source, "latest"))
        for slot, value in enumerate(slots):
            evm.call("anvil_setStorageAt", place, hex(slot), f"0x{value:064x}")
    evm.call("anvil_setBalance", vault, hex(100 * ETHER))
    assert failed.is_signed_by_current_key
    return failed.payload.transfer.amount


def recover(node: NodeProcess, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["recover", *arguments, "--node", node.url])


@pytest.mark.parametrize(("chain", "chain_id"), [("Ethereum", 10_997), ("Arbitrum", 412_346)])
def test_from_the_failure_to_the_receivers_balance(
    chain: str, chain_id: int, node: NodeProcess, key: Path, tmp_path: Path
) -> None:
    name = chain.lower()
    with evm_chain(chain_id, tmp_path / "anvil.log") as evm:
        number = fail_a_transfer(node, chain)
        amount = place_contracts(evm, node, chain, number)
        send = ("--eth-rpc", evm.url, "--key", str(key), "--yes", "--json")

        done = recover(node, name, "--for", RECEIVER, *send)
        assert done.exit_code == 0, done.output
        report = json.loads(done.stdout)
        assert (report["payload"]["broadcastId"], report["payload"]["signedByCurrentKey"]) == (number, True)
        assert evm.balance(RECEIVER) == amount > 0

        again = recover(node, name, str(number), *send)
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output
        assert evm.balance(RECEIVER) == amount


def test_a_payload_lives_for_two_epochs(node: NodeProcess) -> None:
    number = str(fail_a_transfer(node, "Ethereum"))
    first = recover(node, "ethereum", number)
    assert (first.exit_code, "signed anew in the next one" in first.output) == (0, True), first.output

    node.call("dev_nextEpoch")
    ends = set()
    for _ in range(BLOCKS):
        ends.add((result := recover(node, "ethereum", number)).exit_code)
        if result.exit_code == 0 and "offered until this one ends" in result.output:
            break
        node.call("dev_newBlock")
    assert result.exit_code == 0, result.output
    assert ends <= {0, ExitCode.BEING_SIGNED}

    node.call("dev_nextEpoch")
    for _ in range(BLOCKS):
        if (result := recover(node, "ethereum", number)).exit_code == ExitCode.EXPIRED:
            break
        assert result.exit_code == ExitCode.BEING_SIGNED, result.output
        node.call("dev_newBlock")
    assert (result.exit_code, "has expired" in result.output) == (ExitCode.EXPIRED, True)
    lost = recover(node, "ethereum", "--for", RECEIVER)
    assert (lost.exit_code, "has expired" in lost.output) == (ExitCode.NO_SUCH_CALL, True)


def test_who_is_to_be_paid_names_the_broadcast(node: NodeProcess) -> None:
    first, second = fail_a_transfer(node, "Ethereum"), fail_a_transfer_again(node)
    several = recover(node, "ethereum", "--for", RECEIVER)
    assert several.exit_code == ExitCode.USAGE
    assert f"{second} pays" in several.output and f"{first} pays" in several.output
    none = recover(node, "ethereum", "--for", "0x" + "bb" * 20)
    assert none.exit_code == ExitCode.NO_SUCH_CALL
    assert recover(node, "ethereum").exit_code == ExitCode.USAGE


def fail_a_transfer_again(node: NodeProcess) -> int:
    with SwapSDK(network="dev", rpc_url=node.url) as sdk:
        before: Any = {each.broadcast_id for each in sdk.call(FindFailedCalls("ethereum"))}
        fail_a_transfer(node, "Ethereum")
        for _ in range(BLOCKS):
            found = {each.broadcast_id for each in sdk.call(FindFailedCalls("ethereum"))} - before
            if found:
                return int(found.pop())
            node.call("dev_newBlock")
    raise AssertionError("no second transfer failed")


def test_a_tron_token_transfer_in_the_form_of_tron_wallets(node: NodeProcess) -> None:
    receiver = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
    number = fail_a_transfer(node, "Tron", "USDT", receiver)
    told = recover(node, "tron", "--for", receiver)
    assert (told.exit_code, f"USDT to {receiver}" in told.output) == (0, True), told.output
    report = json.loads(recover(node, "tron", str(number), "--json").stdout)
    assert report["payload"]["signedByCurrentKey"] is True
    assert report["tron"]["contract_address"] == report["payload"]["vault"]
    assert report["tron"]["function_selector"].startswith("transferFallback(")
    assert report["tron"]["parameter"] == report["payload"]["data"][10:]
