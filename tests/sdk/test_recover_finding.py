"""`cfnode recover --for`: each name of a swap leads to that swap's own payout, and to no other one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery import read_owner
from cfnode.sdk.recovery.batch_logs import calls_for_batch
from cfnode.sdk.recovery.owner import Account, Address, Channel, Swap, Transaction
from cfnode.sdk.recovery.services import payments_of_status, services
from tests.process import NodeProcess
from tests.sdk.loopback import Request, page, serving
from tests.sdk.place import node_with_broker
from tests.sdk.scripted import NODE, Script, session
from tests.support.sdk.failed_swaps import BLOCKS, BTC, RECEIVER, REFUND, failed_swap, forgetful
from tests.support.sdk.payloads import payload_of, vector

ETH = {"chain": "Ethereum", "asset": "ETH"}
MAINNET = "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"


@dataclass(frozen=True)
class TwoSwaps:
    """Two swaps of one amount to one address: the first failed, the second was paid. A third is unpaid."""

    node: NodeProcess
    failed: int
    channels: tuple[str, str, str]
    addresses: tuple[str, str, str]
    batch: int
    transaction: str


@pytest.fixture(scope="module")
def swaps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoSwaps]:
    """Yield a node with a failed, a paid and an unpaid swap to one receiver."""
    with node_with_broker(tmp_path_factory.mktemp("swaps")) as node:
        failed, channel = failed_swap(node, "Ethereum")
        node.call("dev_failReceiver", RECEIVER, ETH, False)
        paid = opened(node)
        node.call("dev_deposit", paid["address"], BTC, 10**8)
        for _ in range(BLOCKS):
            node.call("dev_newBlock")
            if len(successes := broadcasts(node)) > 1:
                break
        unpaid = opened(node)
        batch, transaction = min(successes.items())
        status = httpx.get(f"{node.url}/v2/swaps/{channel}").json()
        first = status["depositChannel"]["depositAddress"]
        names = (
            channel,
            *(f"{channel['issued_block']}-Bitcoin-{channel['channel_id']}" for channel in (paid, unpaid)),
        )
        addresses = (first, paid["address"], unpaid["address"])
        yield TwoSwaps(node, failed, names, addresses, batch, transaction)


def opened(node: NodeProcess) -> dict[str, Any]:
    """Return a deposit channel for bitcoin to the receiver."""
    terms = {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
    channel: dict[str, Any] = node.call(
        "broker_request_swap_deposit_address", BTC, ETH, RECEIVER, 0, None, None, None, terms
    )
    return channel


def broadcasts(node: NodeProcess) -> dict[int, str]:
    """Return the transactions of the broadcasts to Ethereum that succeeded."""
    best = int(node.call("chain_getHeader")["number"], 16)
    return {
        event["fields"]["broadcast_id"]: event["fields"]["transaction_ref"]
        for number in range(1, best + 1)
        for event in node.call("dev_events", node.call("chain_getBlockHash", number))
        if (event["pallet"], event["name"]) == ("EthereumBroadcaster", "BroadcastSuccess")
    }


def recover(url: str, *arguments: str) -> Result:
    """Run `cfnode recover` on the development chain."""
    return CliRunner().invoke(cli, ["recover", *arguments, "--network", "dev", "--node", url])


def number_of(result: Result) -> int:
    """Return the broadcast that a recovery found."""
    assert result.exit_code == 0, result.output
    number: int = report(result)["payload"]["broadcastId"]
    return number


def report(result: Result) -> dict[str, Any]:
    """Return a recovery's document."""
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_each_name_of_a_failed_swap_leads_to_its_own_call(swaps: TwoSwaps) -> None:
    """Lead from swap, channel, addresses and transaction to the one failed call."""
    names = ("1", swaps.channels[0], swaps.addresses[0], swaps.transaction, RECEIVER)
    for name in names:
        assert number_of(recover(swaps.node.url, "--for", name, "--json")) == swaps.failed, name
    assert number_of(recover(swaps.node.url, "ethereum", str(swaps.batch), "--json")) == swaps.failed


def test_a_swap_that_was_paid_is_not_offered_the_call_of_another_one(swaps: TwoSwaps) -> None:
    """Say that the paid swap went through instead of offering an equal call of another swap."""
    for name in ("2", swaps.channels[1], swaps.addresses[1]):
        for chain in ([], ["ethereum"]):
            result = recover(swaps.node.url, *chain, "--for", name)
            assert (result.exit_code, "went through" in result.output) == (ExitCode.NO_SUCH_CALL, True), (
                name,
                result.output,
            )


def test_a_channel_without_a_deposit(swaps: TwoSwaps) -> None:
    """Say that no deposit has arrived."""
    for name in (swaps.channels[2], swaps.addresses[2]):
        result = recover(swaps.node.url, "--for", name)
        assert result.exit_code == ExitCode.NO_SUCH_CALL, result.output
        assert "no deposit has arrived" in result.output, result.output


def test_another_chain_than_the_payouts(swaps: TwoSwaps) -> None:
    """Name the chain of the payout where another one was asked for."""
    result = recover(swaps.node.url, "arbitrum", "--for", "1")
    assert result.exit_code == ExitCode.NO_SUCH_CALL
    assert "a payout on Ethereum: ask for ethereum" in result.output


@pytest.mark.world
def test_a_node_that_forgot_asks_its_own_service_and_then_an_archive_node(swaps: TwoSwaps) -> None:
    """Ask the node's events, then its service, then an archive, and list what was asked."""
    best = int(swaps.node.call("chain_getHeader")["number"], 16)
    with forgetful(swaps.node, best) as poor:
        outcome = recover(poor.url, "--for", "1")
        assert (outcome.exit_code, "pays" in outcome.output) == (0, True), outcome.output
        first, second = f"the events of {poor.url}", f"the swap service {swaps.node.url}"
        by_service = recover(poor.url, "--for", "1", "--backend", swaps.node.url, "--verbose")
        assert by_service.output.index(first) < by_service.output.index(second)
        lost = recover(poor.url, "--for", "1", "--backend", "http://127.0.0.1:1")
        assert (lost.exit_code, "name an archive node" in lost.output) == (ExitCode.NEEDS_ARCHIVE, True)
        assert lost.output.index(first) < lost.output.index("the swap service http://127.0.0.1:1 (no help")
        archive = ("--archive", swaps.node.url, "--verbose")
        third = recover(poor.url, "--for", "1", "--backend", "http://127.0.0.1:1", *archive)
        assert f"the events of the archive node {swaps.node.url}" in third.output, third.output
        address = recover(poor.url, "--for", swaps.addresses[0], "--json")
        assert number_of(address) == swaps.failed
        events, channels = report(address)["asked"]
        assert events.startswith(f"{first} (blocks ")
        assert events.endswith(f" to {best})")
        assert channels == f"the open channels of {poor.url}"
        batch = recover(poor.url, "--for", swaps.transaction, "--archive", swaps.node.url, "--json")
        assert number_of(batch) == swaps.failed
        paid = recover(poor.url, "--for", "2", "--backend", swaps.node.url)
        assert (paid.exit_code, "went through" in paid.output) == (ExitCode.NO_SUCH_CALL, True), paid.output


# What a text names


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("12", Swap),
        ("6739624-bitcoin-34009", Channel),
        (RECEIVER, Address),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", Address),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Address),
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", Address),
        ("So11111111111111111111111111111111111111112", Address),
        ("0x" + "ab" * 32, Transaction),
        ("ab" * 32, Transaction),
        ("0X" + "AB" * 32, Transaction),
        ("6739624-7", Transaction),
        ("cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8n", Account),
    ],
)
def test_the_form_of_a_name(text: str, kind: type) -> None:
    """Read a name as swap, channel, address, transaction or account by its form."""
    assert isinstance(read_owner(text), kind)


MALFORMED = (
    "hello",
    "",
    "0x12",
    "1-Nowhere-2",
    "9" * 30,
    "0xFCd3C82b154CB4717Ac98718D0Fd13EEBA3D2754",
    "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u",
    "cFHyJEHEQ1YkT9xuFnxnPWVkihpYEGjBg4WbF6vCPtSPQoE8m",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
    "x" * 5000,
)


def test_a_malformed_name_is_refused_before_anything_is_asked() -> None:
    """Refuse a malformed name, or one with a wrong checksum, before anything is asked."""

    def silent(request: Request) -> bytes:
        return page(500, b"{}")

    with serving(silent) as server:
        for text in MALFORMED:
            with pytest.raises(ValidationError):
                read_owner(text)
            result = recover(server.url, "--for", text, "--backend", server.url)
            assert result.exit_code == ExitCode.USAGE, (text, result.output)
        assert server.requests == []


# Which services are asked


@pytest.mark.parametrize(
    ("genesis", "asked"),
    [
        (MAINNET, ("http://node.test", "https://chainflip-swap.chainflip.io")),
        ("0x" + "11" * 32, ("http://node.test",)),
    ],
)
def test_the_networks_service_is_asked_only_about_the_networks_own_chain(
    genesis: str, asked: tuple[str, ...]
) -> None:
    """Ask the network's own service only about the network's own genesis."""

    class Ask:
        steps = staticmethod(services)

    script = Script({"chain_getBlockHash": genesis, "system_chainType": "Live"})
    assert script.run(Ask, session(network="mainnet")) == asked  # type: ignore[arg-type]
    assert script.run(Ask, session(network="mainnet", backend_url=NODE)) == (NODE,)  # type: ignore[arg-type]
    alone = session(network="mainnet", rpc_url=None)
    assert script.run(Ask, alone) == ("https://chainflip-swap.chainflip.io",)  # type: ignore[arg-type]
    assert script.run(Ask, session(network="dev")) == (NODE,)  # type: ignore[arg-type]


def test_the_transaction_of_a_batch_names_its_failed_transfers() -> None:
    """Match a batch's failed transfers by receiver, token and amount of its logs."""
    call = payload_of(vector("token-ethereum-odd-key"))
    pay = call.transfer

    def log(topic: str, *topics: bytes, amount: int = pay.amount) -> dict[str, Any]:
        return {
            "address": "0x" + call.vault.hex(),
            "topics": ["0x" + topic, *("0x" + topic.rjust(32, b"\0").hex() for topic in topics)],
            "data": f"0x{amount:064x}" + "00" * 64,
        }

    token = "158555118e14c8fb6d2e41d2bf4c3c75c8bcab740492ca50f44458a2bd021715"
    native = "2c024f929e1e2dec521388b8607f880d3bb3165478e3c80b1a4c280e0130d981"
    cases: list[tuple[Any, bool]] = [
        ([log(token, pay.recipient, pay.token)], True),
        ([{"topics": 5}, None, log(token), log(token, pay.recipient, pay.token)], True),
        ([log(native, pay.recipient)], False),
        ([log(token, pay.recipient, pay.token, amount=1)], False),
        ([log(token, pay.token, pay.recipient)], False),
        ({}, False),
    ]
    for logs, is_found in cases:
        script = Script({"eth_getTransactionReceipt": {"logs": logs}})

        class Ask:
            @staticmethod
            def steps(on: ClientSession) -> Any:
                return calls_for_batch(on, NODE, b"\x01" * 32, [call])

        calls = script.run(Ask, session())  # type: ignore[arg-type]
        assert (calls == (call,)) == is_found, logs


def test_the_payments_of_a_status() -> None:
    """Read the failed output or refund from a status, and the reason where there is neither."""
    failure = {"failedAt": 1, "failedBlockIndex": "1-1", "mode": "SENDING_FAILED", "reason": {}}
    egress = {"amount": "7", "scheduledAt": 1, "scheduledBlockIndex": "1-1"}
    base = {"srcChain": "Arbitrum", "srcAsset": "USDC", "destChain": "Ethereum", "destAsset": "ETH"}
    terms = {"refundAddress": "0x" + "cc" * 20, "minPrice": "1", "retryDurationBlocks": 1}
    base |= {"state": "FAILED", "destAddress": RECEIVER, "fillOrKillParams": terms}  # type: ignore[dict-item]
    deposit = {"amount": "5"}
    sent = SwapStatus.from_json(base | {"deposit": deposit, "swapEgress": egress | {"failure": failure}})
    (payment,) = payments_of_status(sent, "x").payments
    assert (payment.chain, payment.asset, payment.amount) == ("Ethereum", "Eth", 7)
    assert payment.recipient == bytes.fromhex(RECEIVER[2:])
    refunded = SwapStatus.from_json(
        base | {"deposit": deposit, "refundEgress": egress | {"failure": failure}}
    )
    (refund,) = payments_of_status(refunded, "x").payments
    assert (refund.chain, refund.asset, refund.recipient) == ("Arbitrum", "ArbUsdc", b"\xcc" * 20)
    waiting = SwapStatus.from_json(base | {"state": "WAITING"})
    assert "no deposit has arrived" in payments_of_status(waiting, "x").reason
