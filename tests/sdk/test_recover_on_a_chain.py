"""A transfer fails on a development chain, and one command recovers it on a local EVM chain."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.core import ss58
from cfnode.core.hashing import keccak_256
from cfnode.core.keys import Keypair
from cfnode.sdk.recovery import FetchFailedCall, FindCallsOf, FindFailedCalls, NeedsArchive
from tests.conftest import ROOT
from tests.documentation import block
from tests.process import NodeProcess
from tests.sdk.anvil import Evm, evm_chain, require_anvil, require_eth_account
from tests.sdk.loopback import Loopback
from tests.sdk.place import node_with_broker
from tests.support.sdk.failed_swaps import (
    BLOCKS,
    BTC,
    NO_SERVER,
    RECEIVER,
    REFUND,
    client,
    fail_a_transfer,
    failed_swap,
    forgetful,
)
from tests.support.sdk.recover_command import ETHER

pytestmark = pytest.mark.world

ALICE, ALICE_STASH = (
    ss58.encode(Keypair.from_suri(name, "sr25519").public) for name in ("//Alice", "//Alice//stash")
)
MESSAGE = "0xdeadc0de"


@pytest.fixture
def anvil() -> None:
    """Skip a test that needs a local EVM chain before its node starts."""
    require_anvil()


on_an_evm_chain = pytest.mark.usefixtures("anvil")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """Yield a development chain that makes blocks when asked, with a registered broker."""
    require_eth_account()
    with node_with_broker(tmp_path) as running:
        yield running


def place_contracts(evm: Evm, node: NodeProcess, chain: str, broadcast_id: int) -> int:
    """Place key manager and vault where the State Chain names them; return the payload's amount in wei."""
    with client(node) as sdk:
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


def recover(node: NodeProcess | Loopback, *arguments: str) -> Result:
    """Return the command against a node, with a swap service that does not answer unless another is named."""
    return CliRunner().invoke(cli, ["recover", "--backend", NO_SERVER, *arguments, "--node", node.url])


@on_an_evm_chain
@pytest.mark.parametrize(("chain", "chain_id"), [("Ethereum", 10_997), ("Arbitrum", 412_346)])
def test_from_the_failure_to_the_receivers_balance(
    chain: str, chain_id: int, node: NodeProcess, key: Path, tmp_path: Path
) -> None:
    """Recover by the printed command, in a terminal; the receiver gets the amount, and only once."""
    name = chain.lower()
    with evm_chain(chain_id, tmp_path / "anvil.log") as evm:
        number, channel = failed_swap(node, chain)
        amount = place_contracts(evm, node, chain, number)
        send = ("--eth-rpc", evm.url, "--key", str(key))
        command = printed_command(node, channel)
        assert command[:3] == ["recover", name, "--for"]
        asked = in_a_terminal([*command, *send], "Send it?", "y")
        assert f"ETH on {chain}" in asked
        assert "Done:" in asked, asked
        assert evm.balance(RECEIVER) == amount > 0

        again = recover(node, name, str(number), *send, "--yes", "--json")
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output
        assert evm.balance(RECEIVER) == amount


@on_an_evm_chain
@pytest.mark.parametrize(("chain", "chain_id"), [("Ethereum", 10_997), ("Arbitrum", 412_346)])
def test_a_rotation_between_the_failure_and_its_recovery(
    chain: str, chain_id: int, node: NodeProcess, key: Path, tmp_path: Path
) -> None:
    """Exit 15 while the State Chain offers a signature of the retired key; then the payment."""
    with evm_chain(chain_id, tmp_path / "anvil.log") as evm:
        number = fail_a_transfer(node, chain)
        amount = place_contracts(evm, node, chain, number)
        name, send = chain.lower(), ("--eth-rpc", evm.url, "--key", str(key), "--yes", "--json")
        rotated = CliRunner().invoke(cli, ["dev", "rotate", "--json", "--url", node.url])
        assert rotated.exit_code == 0, rotated.output
        report = json.loads(rotated.stdout)
        assert report["epoch"] == node.call("cf_current_epoch") == 2

        def refused(*options: str) -> None:
            result = recover(node, name, str(number), *options)
            assert result.exit_code == ExitCode.KEY_ROTATED, result.output
            message = json.loads(result.stdout)["error"]["message"]
            assert "the payload is not signed by the State Chain's current key" in message

        refused("--json")
        (call,) = (transaction for transaction in report["transactions"] if transaction["chain"] == chain)
        evm.send(call["data"], to=call["contract"])
        refused(*send)
        assert evm.balance(RECEIVER) == 0
        node.call("dev_newBlock")
        done = recover(node, name, str(number), *send)
        assert (done.exit_code, evm.balance(RECEIVER)) == (0, amount), done.output
        again = recover(node, name, str(number), *send)
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output


def printed_command(node: NodeProcess, channel: str) -> list[str]:
    """Return the arguments of the command that the status of a failed swap prints."""
    where = ("--network=dev", f"--node={node.url}", f"--backend={node.url}")
    status = CliRunner().invoke(cli, ["swap", "status", *where, channel])
    lines = status.output.splitlines()
    program, *arguments = shlex.split(lines[lines.index("Recover it:") + 1])
    assert program == "cfnode"
    return arguments


def in_a_terminal(arguments: list[str], question: str, answer: str) -> str:
    """Return the screen of a terminal after a command that asks one question."""
    controller, terminal = pty.openpty()
    line = [sys.executable, "-m", "cfnode", *arguments]
    with subprocess.Popen(line, stdin=terminal, stdout=terminal, stderr=terminal, cwd=ROOT) as process:
        os.close(terminal)
        screen, answered = "", False
        with os.fdopen(controller, "rb", buffering=0) as stream:
            while True:
                try:
                    data = stream.read(4096)
                except OSError:  # the other end is closed
                    break
                screen += data.decode(errors="replace")
                if question in screen and not answered:
                    answered = True
                    os.write(controller, answer.encode() + b"\n")
        assert process.wait(timeout=30) == 0, screen
    return screen.replace("\r\n", "\n")


def test_a_payload_lives_for_two_epochs(node: NodeProcess) -> None:
    """Offer the payload for two epochs, then find it as given up, and report it expired after a rotation."""
    number = str(fail_a_transfer(node, "Ethereum"))
    fail_a_transfer(node, "Ethereum", receiver="0x" + "cc" * 20)
    first = recover(node, "ethereum", number, "--verbose")
    assert (first.exit_code, "signed anew in the next one" in first.output) == (0, True), first.output

    node.call("dev_nextEpoch")
    ends, sought = set(), set()
    for _ in range(BLOCKS):
        sought |= {recover(node, "ethereum", "--for", owner).exit_code for owner in (RECEIVER, "1")}
        ends.add((result := recover(node, "ethereum", number, "--verbose")).exit_code)
        if result.exit_code == 0 and "offered until this one ends" in result.output:
            break
        node.call("dev_newBlock")
    assert result.exit_code == 0, result.output
    assert ends == sought == {0, ExitCode.BEING_SIGNED}

    node.call("dev_nextEpoch")
    for _ in range(BLOCKS):
        if (result := recover(node, "ethereum", number, "--verbose")).exit_code == 0:
            break
        assert result.exit_code == ExitCode.BEING_SIGNED, result.output
        node.call("dev_newBlock")
    batch = recover(node, "ethereum", str(int(number) - 1), "--verbose")  # it leads to the call in its place
    for given_up in (result, batch):  # the epoch brought no new key
        assert given_up.exit_code == 0, given_up.output
        assert "does not list the call any more, and does not sign it again" in given_up.output
        assert "The vault takes the call until it has the next epoch's key." in given_up.output
    assert f"cfnode recover ethereum {number} --network=mainnet" in result.output
    by_receiver = recover(node, "ethereum", "--for", RECEIVER)
    assert by_receiver.exit_code == 0, by_receiver.output
    assert "does not list the call any more, and does not sign it again" in by_receiver.output

    assert CliRunner().invoke(cli, ["dev", "rotate", "--url", node.url]).exit_code == 0
    lost = recover(node, "ethereum", "--for", RECEIVER)
    assert (lost.exit_code, "have expired" in lost.output) == (ExitCode.NO_SUCH_CALL, True)
    gone = recover(node, "ethereum", number)
    assert (gone.exit_code, "has expired" in gone.output) == (ExitCode.EXPIRED, True), gone.output
    assert "never failed" not in gone.output


@on_an_evm_chain
def test_the_receiver_names_the_calls_that_are_not_paid_yet(
    node: NodeProcess, key: Path, tmp_path: Path
) -> None:
    """List both calls to a receiver, and after the payment of one find only the other."""
    first, second = fail_a_transfer(node, "Ethereum"), fail_a_transfer(node, "Ethereum")
    several = recover(node, "ethereum", "--for", RECEIVER)
    assert several.exit_code == ExitCode.SEVERAL_CALLS
    for number in (first, second):
        line = f"cfnode recover ethereum {number} --network=mainnet --node={node.url} --backend={NO_SERVER}"
        assert line in several.output.splitlines()
    listed = json.loads(recover(node, "--for", RECEIVER, "--json").stdout)
    assert listed["error"]["code"] == "SEVERAL_CALLS"
    assert [candidate["broadcastId"] for candidate in listed["candidates"]] == [second, first]
    assert {candidate["recipient"].lower() for candidate in listed["candidates"]} == {RECEIVER}
    none = recover(node, "ethereum", "--for", "0x" + "bb" * 20)
    assert none.exit_code == ExitCode.NO_SUCH_CALL
    assert recover(node, "ethereum").exit_code == ExitCode.USAGE

    with evm_chain(10_997, tmp_path / "anvil.log") as evm:
        amount = place_contracts(evm, node, "Ethereum", first)
        done = recover(node, "ethereum", str(first), "--eth-rpc", evm.url, "--key", str(key), "--yes")
        assert done.exit_code == 0, done.output
        left = json.loads(recover(node, "--for", RECEIVER, "--eth-rpc", evm.url, "--json").stdout)
        assert left["payload"]["broadcastId"] == second
        page_of_programs(node, evm)
        assert evm.balance(RECEIVER) > amount
        all_paid = recover(node, "--for", RECEIVER, "--eth-rpc", evm.url)
        assert (all_paid.exit_code, "already sent" in all_paid.output) == (ExitCode.ALREADY_SENT, True)


def page_of_programs(node: NodeProcess, evm: Evm) -> None:
    """Run the program of the guide's page, on this node and this chain."""
    program = block("docs/guide/recover-programs.md", "import time")
    for place, url in (("http://127.0.0.1:9944", node.url), ("http://127.0.0.1:8545", evm.url)):
        program = program.replace(place, url)
    exec(compile(program, "recover-programs.md", "exec"), {"__name__": "program"})


def test_a_tron_token_transfer_in_the_form_of_tron_wallets(node: NodeProcess, key: Path) -> None:
    """Print a call for Tron's own wallets, where a key file sends nothing."""
    receiver = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
    number = fail_a_transfer(node, "Tron", "USDT", receiver)
    result = recover(node, "tron", "--for", receiver)
    assert (result.exit_code, "USDT on Tron" in result.output) == (0, True), result.output
    outcome = recover(node, "--for", receiver, "--eth-rpc", NO_SERVER)  # it is no node of Tron, and not asked
    assert (outcome.exit_code, "Any Tron wallet" in outcome.output) == (0, True), outcome.output
    unsent = recover(node, "--for", receiver, "--eth-rpc", NO_SERVER, "--key", str(key), "--yes")
    assert unsent.exit_code == ExitCode.USAGE
    assert "nothing was sent: send the call above from a Tron wallet" in unsent.output
    report = json.loads(recover(node, "tron", str(number), "--json").stdout)
    assert report["payload"]["signedByCurrentKey"] is True
    assert report["tron"]["contract_address"] == report["payload"]["vault"]
    assert report["tron"]["function_selector"].startswith("transferFallback(")
    assert report["tron"]["parameter"] == report["payload"]["data"][10:]


def failed_message(node: NodeProcess, receiver: str, budget: int) -> tuple[int, str]:
    """Swap a bitcoin to a contract, with a message that fails; the broadcast id, and the channel's id."""
    terms = {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
    ether = {"chain": "Ethereum", "asset": "ETH"}
    ccm = {"message": MESSAGE, "gas_budget": hex(budget), "ccm_additional_data": "0x"}
    channel = node.call(
        "broker_request_swap_deposit_address", BTC, ether, receiver, 0, ccm, None, None, terms
    )
    node.call("dev_abortBroadcast", "Ethereum")
    node.call("dev_deposit", channel["address"], BTC, 10**8)
    with client(node) as sdk:
        for _ in range(BLOCKS):
            node.call("dev_newBlock")
            if calls := sdk.call(FindFailedCalls("Ethereum")):
                return calls[0].broadcast_id, f"{channel['issued_block']}-Bitcoin-{channel['channel_id']}"
    raise AssertionError("no message failed")


@on_an_evm_chain
def test_a_message_that_was_never_delivered(node: NodeProcess, key: Path, tmp_path: Path) -> None:
    """Deliver a message that needed more gas than the engines spend."""
    with evm_chain(10_997, tmp_path / "anvil.log") as evm:
        listener = evm.deploy("Hungry")
        number, channel = failed_message(node, listener, 100_000)
        amount = place_contracts(evm, node, "Ethereum", number)

        result = recover(node, "ethereum", str(number))
        assert f"{len(MESSAGE) // 2 - 1} bytes, for the receiver" in result.output
        send = ("--eth-rpc", evm.url, "--key", str(key))
        done = in_a_terminal([*printed_command(node, channel), *send], "Send it?", "y")
        assert "its limit of 190004" in " ".join(done.split()), done
        assert "Done:" in done, done
        assert evm.balance(listener) == amount > 0
        received = evm.call(
            "eth_call", {"to": listener, "data": "0x" + keccak_256(b"received()")[:4].hex()}, "latest"
        )
        assert MESSAGE[2:] in received
        again = recover(node, "ethereum", str(number), "--eth-rpc", evm.url)
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output


# Which broadcast is meant?


def test_a_swap_a_channel_and_a_broker_name_the_broadcast(node: NodeProcess) -> None:
    """Find the broadcast by channel, swap and receiver, and list two for the broker."""
    other, _ = failed_swap(node, "Ethereum", receiver="0x" + "cc" * 20)
    number, channel = failed_swap(node, "Ethereum")
    for owner in (channel, channel.upper(), "2", RECEIVER):
        document = json.loads(recover(node, "ethereum", "--for", owner, "--json").stdout)
        assert document["payload"]["broadcastId"] == number, owner
    (broker,) = (account for account, _ in node.call("cf_accounts") if account == ALICE)
    both = recover(node, "ethereum", "--for", broker)
    assert both.exit_code == ExitCode.SEVERAL_CALLS
    assert all(f"cfnode recover ethereum {broadcast}" in both.output for broadcast in (number, other))


def test_who_has_no_failed_call(node: NodeProcess) -> None:
    """Say why a swap, a channel and an account have no failed call."""
    fail_a_transfer(node, "Ethereum")
    cases = {
        "9": "there is no swap 9: the State Chain's last number is 1",
        "1-Bitcoin-7": "opened no channel 7",
        ALICE_STASH: f"names {ALICE_STASH}; no call for an earlier failure is on offer",
    }
    for owner, words in cases.items():
        result = recover(node, "ethereum", "--for", owner)
        assert (result.exit_code, words in result.output) == (ExitCode.NO_SUCH_CALL, True), result.output


def test_what_a_node_has_forgotten_an_archive_node_or_the_swap_service_knows(node: NodeProcess) -> None:
    """Demand an archive for pruned events, and find the call by an archive or by the swap service."""
    number, channel = failed_swap(node, "Ethereum")
    for _ in range(3):
        node.call("dev_newBlock")
    best = int(node.call("chain_getHeader")["number"], 16)
    with forgetful(node, best - 2) as poor, client(poor) as sdk:
        for owner in (channel, "1", ALICE):
            with pytest.raises(NeedsArchive, match="name an archive node"):
                sdk.call(FindCallsOf("Ethereum", owner))
            (call,) = sdk.call(FindCallsOf("Ethereum", owner, archive=node.url))
            assert call.broadcast_id == number
        result = recover(poor, "ethereum", "--for", channel, "--json")
        assert result.exit_code == ExitCode.NEEDS_ARCHIVE
        assert json.loads(result.stdout)["error"]["code"] == "NEEDS_ARCHIVE"
        for where in (("--archive", node.url), ("--backend", node.url)):
            done = recover(poor, "ethereum", "--for", channel, "--json", *where)
            assert json.loads(done.stdout)["payload"]["broadcastId"] == number, where
