"""Each kind of failed payout on each EVM chain: found by each of its names, and paid to the wei."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.core.hashing import keccak_256
from cfnode.devchain.runtime.config import CONTRACTS
from cfnode.swaps.checksums import checksum_address
from tests.process import NodeProcess
from tests.sdk.anvil import Evm, evm_chain, require_anvil, require_eth_account
from tests.sdk.place import node_with_broker
from tests.support.sdk.failed_swaps import BLOCKS, BTC, NO_SERVER, REFUND
from tests.support.sdk.payloads import raw
from tests.support.sdk.recover_command import ETHER

ARBITRUM = CONTRACTS["Arbitrum"]
BSC = CONTRACTS["Bsc"]
ETHEREUM = CONTRACTS["Ethereum"]
pytestmark = pytest.mark.world

CHAINS = {
    "Ethereum": (10_997, "ETH", "USDC"),
    "Arbitrum": (412_346, "ETH", "USDC"),
    "Bsc": (343, "BNB", "USDT"),
}
"""Id, coin and a token of each chain."""
BEDS = {"Ethereum": ETHEREUM, "Arbitrum": ARBITRUM, "Bsc": BSC}
"""The contracts of each chain, as the development chain has them."""
NEVER = hex(2**255)
"""A price that no pool gives."""
NUMBERS = count(0xF00D)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a development chain with a broker."""
    require_anvil()
    require_eth_account()
    with node_with_broker(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture(scope="module")
def evm_of(node: NodeProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Evm]]:
    """Yield the local EVM chain of a chain, with contracts that have the State Chain's key."""
    running: dict[str, Evm] = {}
    with ExitStack() as stack:

        def evm_of(chain: str) -> Evm:
            if chain not in running:
                log = tmp_path_factory.mktemp(chain) / "anvil.log"
                running[chain] = evm = stack.enter_context(evm_chain(CHAINS[chain][0], log))
                at = BEDS[chain]
                places = (f"0x{at.key_manager.hex()}", f"0x{at.vault.hex()}")
                evm.deploy_bed_at(*places, raw(node.call("cf_eth_vault")[0]), 10_000 * ETHER)
            return running[chain]

        yield evm_of


@dataclass
class Story:
    """A payout that failed: what it is found by, and who is to be paid."""

    names: list[str]
    receivers: list[str]


class Teller:
    """Makes payouts fail on a development chain."""

    def __init__(self, node: NodeProcess, chain: str, evm: Evm) -> None:
        self.node = node
        self.evm = evm
        self.chain = chain
        _, coin, token = CHAINS[chain]
        self.coin, self.token = ({"chain": chain, "asset": asset} for asset in (coin, token))

    def tell(self, kind: str) -> Story:
        """Return a story of one kind."""
        return {
            "a transfer": lambda: self._transfer(self.coin),
            "a token": lambda: self._transfer(self.token),
            "a message": self._message,
            "a refund": self._refund,
            "a batch": self._batch,
        }[kind]()

    def _transfer(self, asset: dict[str, str]) -> Story:
        receiver = address()
        self.node.call("dev_failReceiver", receiver, asset)
        return self._paid(self._opened(BTC, asset, receiver), BTC, 10**7, [receiver])

    def _message(self) -> Story:
        """Make a swap to a contract that needs more gas than the engines' limit has."""
        for _ in range(list(CHAINS).index(self.chain)):
            self.evm.deploy("Listener")
        receiver = self.evm.deploy("Hungry")
        ccm = {"message": "0xdeadc0de", "gas_budget": hex(100_000), "ccm_additional_data": "0x"}
        channel = self._opened(BTC, self.coin, receiver, ccm)
        self.node.call("dev_abortBroadcast", self.chain)
        return self._paid(channel, BTC, 10**7, [receiver])

    def _refund(self) -> Story:
        receiver = address()
        self.node.call("dev_failReceiver", receiver, self.coin)
        terms = {"retry_duration": 0, "refund_address": receiver, "min_price": NEVER}
        channel = self._opened(self.coin, BTC, REFUND, terms=terms)
        return self._paid(channel, self.coin, ETHER, [receiver])

    def _batch(self) -> Story:
        """Make three swaps that end in one block: each chunk of the later ones comes a block sooner."""
        receivers = [address() for _ in range(3)]
        chunks = [{"number_of_chunks": 2, "chunk_interval": interval} for interval in (4, 3, 2)]
        channels = [
            self._opened(BTC, self.coin, receiver, dca=dca)
            for receiver, dca in zip(receivers, chunks, strict=True)
        ]
        self.node.call("dev_abortBroadcast", self.chain)
        for channel in channels[:2]:
            self.node.call("dev_deposit", channel["address"], BTC, 10**7)
        story = self._paid(channels[2], BTC, 10**7, receivers)
        return Story([*story.names, *receivers], receivers)

    def _opened(
        self, source: Any, target: Any, receiver: str, ccm: Any = None, terms: Any = None, dca: Any = None
    ) -> Any:
        terms = terms or {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
        method, more = "broker_request_swap_deposit_address", (0, ccm, None, None, terms, dca)
        return self.node.call(method, source, target, receiver, *more)

    def _paid(self, channel: Any, asset: Any, amount: int, receivers: list[str]) -> Story:
        """Pay the channel, and make blocks until its payout has failed."""
        transaction, where = next(NUMBERS).to_bytes(32, "big"), channel["address"]
        self.node.call("dev_deposit", where, asset, hex(amount), "0x" + transaction.hex())
        is_bitcoin = asset is BTC
        name = f"{channel['issued_block']}-{asset['chain']}-{channel['channel_id']}"
        for _ in range(BLOCKS):
            self.node.call("dev_newBlock")
            if recover(self.node, name).exit_code == 0:
                break
        status = httpx.get(f"{self.node.url}/v2/swaps/{name}").json()
        assert status["state"] == "FAILED", status
        receiver = receivers[-1]
        spellings = [
            receiver.lower(),
            "0X" + receiver[2:].upper(),
            checksum_address(raw(receiver)),
            *([where.upper()] if is_bitcoin else [where.lower(), "0X" + where[2:].upper(), where]),
            transaction[::-1].hex() if is_bitcoin else "0x" + transaction.hex(),
        ]
        return Story([name, name.upper(), str(status["swapId"]), *spellings], receivers)


def address() -> str:
    """Return an address that has nothing yet."""
    return checksum_address(keccak_256(next(NUMBERS).to_bytes(4, "big"))[:20])


def recover(node: NodeProcess, name: str, *arguments: str) -> Result:
    """Run `cfnode recover --for` a name."""
    return ran(node, "--for", name, *arguments)


def ran(node: NodeProcess, *arguments: str) -> Result:
    """Run `cfnode recover` without a swap service: all is found on the chain."""
    services = ("--network=dev", f"--node={node.url}", f"--backend={NO_SERVER}")
    return CliRunner().invoke(cli, ["recover", *services, "--json", *arguments])


def balance(evm: Evm, token: str | None, account: str) -> int:
    """Return an account's balance of the coin or of a token."""
    if token is None:
        return evm.balance(account)
    call = "0x" + keccak_256(b"balanceOf(address)")[:4].hex() + raw(account).hex().rjust(64, "0")
    return int(evm.call("eth_call", {"to": token, "data": call}, "latest"), 16)


def stock(evm: Evm, vault: bytes, token: str) -> None:
    """Give the vault as much of a token as it may have to pay."""
    evm.call("anvil_setCode", token, evm.call("eth_getCode", evm.deploy("Purse"), "latest"))
    mint = keccak_256(b"mint(address,uint256)")[:4].hex()
    evm.send("0x" + mint + vault.hex().rjust(64, "0") + f"{10**30:064x}", to=token)


@pytest.mark.parametrize("kind", ["a transfer", "a token", "a message", "a refund", "a batch"])
@pytest.mark.parametrize("chain", CHAINS)
def test_it_is_found_by_each_of_its_names_and_paid_to_the_wei(
    chain: str, kind: str, node: NodeProcess, evm_of: Callable[[str], Evm], key: Path
) -> None:
    """Find a payout of each kind by each of its names, one payload for all, and pay it exactly."""
    evm = evm_of(chain)
    story = Teller(node, chain, evm).tell(kind)
    payloads = {}
    for name in story.names:
        outcome = recover(node, name)
        assert outcome.exit_code == 0, (name, outcome.output)
        payload = json.loads(outcome.stdout)["payload"]
        payloads[payload["data"]] = payload
    (payload,) = payloads.values()
    token = payload["token"]
    if token is not None:
        stock(evm, BEDS[chain].vault, token)
    transfers = payload.get("transfers") or [payload]
    wanted = {transfer["recipient"]: int(transfer["amount"]) for transfer in transfers}
    assert set(wanted) == {checksum_address(raw(receiver)) for receiver in story.receivers}
    before = {receiver: balance(evm, token, receiver) for receiver in wanted}
    done = recover(node, story.names[0], "--eth-rpc", evm.url, "--key", str(key), "--yes")
    assert done.exit_code == 0, done.output
    assert {receiver: balance(evm, token, receiver) - before[receiver] for receiver in wanted} == wanted
    assert min(wanted.values()) > 0


def test_a_batch_is_recovered_by_its_number_for_all_its_receivers(
    node: NodeProcess, evm_of: Callable[[str], Evm], key: Path
) -> None:
    """One of them does not take its transfer: the others are paid."""
    evm = evm_of("Ethereum")
    story = Teller(node, "Ethereum", evm).tell("a batch")
    payload = json.loads(recover(node, story.names[0]).stdout)["payload"]
    refusing = payload["transfers"][0]["recipient"]
    evm.call("anvil_setCode", refusing, evm.call("eth_getCode", evm.deploy("Counter"), "latest"))
    services = ("--network=dev", f"--node={node.url}", f"--backend={NO_SERVER}", f"--eth-rpc={evm.url}")
    line = ["recover", "ethereum", str(payload["broadcastId"]), *services, f"--key={key}", "--yes"]
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert words.startswith("pays 3 transfers on Ethereum to ")
    for transfer in payload["transfers"]:
        assert f"{transfer['recipient']}: {transfer['amountText']}" in words
    assert "Warning: the vault would take the batch, and leave out the transfer of" in words
    assert f"to {refusing}: the receiver needs more gas than the 8,000" in words
    assert "Done: the batch of 3 transfers is in block" in words
    amounts = {transfer["recipient"]: int(transfer["amount"]) for transfer in payload["transfers"]}
    assert {amount: evm.balance(amount) for amount in amounts} == amounts | {refusing: 0}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_call_that_was_given_up_is_found_by_number_and_receiver_and_paid_to_the_wei(
    chain: str, node: NodeProcess, evm_of: Callable[[str], Evm], key: Path
) -> None:
    """Two epochs end without a new key, as they do on a development chain only."""
    evm = evm_of(chain)
    story = Teller(node, chain, evm).tell("a transfer")
    offered = json.loads(recover(node, story.names[0]).stdout)["payload"]
    for _ in range(2):
        node.call("dev_nextEpoch")
        for _ in range(5):
            node.call("dev_newBlock")
    call = (chain.lower(), str(offered["broadcastId"]))
    outcome = ran(node, *call, "--eth-rpc", evm.url)
    assert outcome.exit_code == 0, outcome.output
    payload, (receiver,) = json.loads(outcome.stdout)["payload"], story.receivers
    for name in (receiver, receiver.lower(), story.names[0]):
        by_name = recover(node, name)
        assert by_name.exit_code == 0, (name, by_name.output)
        assert json.loads(by_name.stdout)["payload"]["data"] == payload["data"], name
    assert (payload["recipient"], payload["amount"]) == (receiver, offered["amount"])
    assert (offered["lastEpoch"] is None, payload["lastEpoch"]) == (False, None)
    done = ran(node, *call, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    assert done.exit_code == 0, done.output
    assert evm.balance(receiver) == int(payload["amount"]) > 0
    assert ran(node, *call, "--eth-rpc", evm.url).exit_code == ExitCode.ALREADY_SENT
