"""From a generated key to deposit addresses, by the official command lines plus --dev, over HTTP."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cfnode import __version__
from cfnode.cli.client import CallRefused
from cfnode.core import ss58
from cfnode.core.scale.metadata import decode_metadata
from tests.e2e.conftest import OFFICIAL_FLAGS, Cfnode
from tests.process import NodeProcess, command, environment, running_node, until

EVM = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
TAPROOT = "bcrt1p785mga8djc3r5f7afaechlth4laxaty2rt08ncgydw4j7zv8np5suf7etv"
SOLANA = "3yKDHJgzS2GbZB9qruoadRYtq8597HZifnRju7fHpdRC"
DOT = "0x" + "2a" * 32
TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"

ETH = {"chain": "Ethereum", "asset": "ETH"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
SOURCES = {
    "Ethereum": (ETH, EVM),
    "Bitcoin": (BTC, TAPROOT),
    "Arbitrum": ({"chain": "Arbitrum", "asset": "ETH"}, EVM),
    "Solana": ({"chain": "Solana", "asset": "SOL"}, SOLANA),
    "Assethub": ({"chain": "Assethub", "asset": "USDC"}, DOT),
    "Tron": ({"chain": "Tron", "asset": "USDT"}, TRON),
}
EXTRAS: dict[str, dict[str, Any]] = {
    "regular": {},
    "DCA": {"dca_parameters": {"number_of_chunks": 4, "chunk_interval": 2}},
    "boost": {"boost_fee": 30},
    "CCM": {
        "channel_metadata": {"message": "0xdeadc0de", "gas_budget": "0x5208", "ccm_additional_data": "0x"}
    },
    "affiliates": {
        "affiliate_fees": [{"account": ss58.encode(bytes([7] * 32)), "bps": 15}],
    },
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the generated keys."""
    return tmp_path_factory.mktemp("keys")


def type_in(folder: Path, *arguments: str) -> str:
    """Run a command that has to succeed, and return its output."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment(folder), check=True
    )
    return done.stdout


def insert_key(folder: Path, keys: Path, key_type: str) -> dict[str, Any]:
    """Run `key generate` and the official `key insert` of its key; return the document of the first."""
    document: dict[str, Any] = json.loads(type_in(folder, "key", "generate", "--path", str(keys)))
    seed = (keys / "signing_key_file").read_text()
    assert seed == document["signing_key"]["secret_key"]
    arguments = (
        f"--base-path={folder}/base",
        f"--suri=0x{seed}",
        f"--key-type={key_type}",
        "--scheme=sr25519",
    )
    type_in(folder, "key", "insert", "--chain=dev", *arguments)
    return document


@pytest.fixture(scope="module")
def broker(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a registered broker: `key generate` → `key insert` → the official flags plus --dev."""
    folder = tmp_path_factory.mktemp("broker")
    document, base = insert_key(folder, keys, "brok"), f"--base-path={folder}/base"
    with running_node(folder, base, *OFFICIAL_FLAGS, "--no-telemetry", "--dev", "--dev-seal=instant") as node:
        assert node.call("broker_registerAccount").startswith("0x")
        node.account = document["signing_account_id"]
        yield node


def request_channel(node: NodeProcess, source: str, **extra: Any) -> Any:
    """Open a channel from a chain."""
    asset, refund_address = SOURCES[source]
    return node.call(
        "broker_request_swap_deposit_address",
        source_asset=asset,
        destination_asset=ETH if source != "Ethereum" else {"chain": "Arbitrum", "asset": "USDC"},
        destination_address=EVM,
        broker_commission=10,
        refund_parameters={"retry_duration": 10, "refund_address": refund_address, "min_price": "0x0"},
        **extra,
    )


def events_of(node: NodeProcess, block: int) -> list[tuple[str, str, Any]]:
    """Return (pallet, event, payload) of a block, decoded by the node's own metadata."""
    metadata = decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))
    item = metadata.storage("System", "Events")
    hash_ = node.call("chain_getBlockHash", block)
    raw = node.call("state_getStorage", "0x" + item.key().hex(), hash_)
    records = item.decode(bytes.fromhex(raw[2:]))
    return [(pallet, event, payload) for pallet, (event, payload) in (row["event"] for row in records)]


@pytest.mark.parametrize("kind", EXTRAS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_channel_of_each_kind_from_each_chain(broker: NodeProcess, source: str, kind: str) -> None:
    """Open a channel of each kind from each chain, with its terms in the block's event."""
    channel = request_channel(broker, source, **EXTRAS[kind])
    assert list(channel) == [
        "address", "issued_block", "channel_id", "source_chain_expiry_block", "channel_opening_fee",
        "refund_parameters",
    ]  # fmt: skip
    assert channel["channel_opening_fee"] == "0x0"
    assert channel["refund_parameters"]["refund_ccm_metadata"] is None
    ready = [
        payload
        for pallet, event, payload in events_of(broker, channel["issued_block"])
        if (pallet, event) == ("Swapping", "SwapDepositAddressReady")
    ]
    assert [event["channel_id"] for event in ready] == [channel["channel_id"]]
    assert ss58.encode(ready[0]["broker_id"]) == broker.account
    assert ready[0]["source_chain_expiry_block"] == channel["source_chain_expiry_block"]
    assert (ready[0]["dca_parameters"] is not None) == (kind == "DCA")
    assert ready[0]["boost_fee"] == (30 if kind == "boost" else 0)
    assert (ready[0]["channel_metadata"] is not None) == (kind == "CCM")
    assert [fee["bps"] for fee in ready[0]["affiliate_fees"]] == ([15] if kind == "affiliates" else [])


def test_what_the_chain_refuses_has_its_own_words(broker: NodeProcess) -> None:
    """Return the chain's own error for a refused channel."""
    with pytest.raises(CallRefused) as refused:
        request_channel(broker, "Bitcoin", dca_parameters={"number_of_chunks": 0, "chunk_interval": 2})
    assert refused.value.error["code"] == -32024
    assert refused.value.error["message"].startswith(
        'KnownModuleError { pallet: "Swapping", name: "ZeroNumberOfChunksNotAllowed", error: '
    )


def test_the_log_has_the_lines_that_operators_look_for(broker: NodeProcess) -> None:
    """Log the lines that operators look for, without escapes."""
    for text in (
        f"version {__version__}",
        "📋 Chain specification: ",
        "⚡  Light-RPC mode enabled",
        "Initializing Genesis block/state",
        "Local node identity is: 12D3KooW",
        "🗝️ Broker key found in the keystore, enabling Broker-related RPCs",
        "Running JSON-RPC server: addr=0.0.0.0:",
        "〽️ Prometheus exporter started at 127.0.0.1:",
        "🏆 Imported #1 (",
        "Ignoring flags that have no meaning for cfnode: --no-telemetry\n",
        "any client that reaches the port can open deposit channels at the broker's cost and withdraw",
    ):
        assert text in broker.log, f"{text!r} is missing in:\n{broker.log}"
    assert "\x1b[" not in broker.log


def test_health_has_its_three_fields(broker: NodeProcess) -> None:
    """Report health in its three fields, and a warning of the exposed broker."""
    assert broker.call("system_health") == {"peers": 0, "isSyncing": False, "shouldHavePeers": False}
    assert httpx.get(f"{broker.url}/health").json() == broker.call("system_health")
    readiness = httpx.get(f"{broker.url}/health/readiness")
    assert readiness.status_code == 200
    assert [warning["kind"] for warning in readiness.json()["warnings"]] == ["broker_exposed"]


def test_a_browser_of_any_origin_is_served(broker: NodeProcess) -> None:
    """Serve a browser of any origin under the official flags."""
    answer = httpx.options(
        broker.url,
        headers={
            "origin": "https://example.org",
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type",
        },
    )
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-headers"] == "*"


async def test_a_websocket_of_a_foreign_origin_is_accepted(broker: NodeProcess) -> None:
    """Accept a WebSocket of a foreign origin under the official flags."""
    from trio_websocket import open_websocket_url

    async with open_websocket_url(broker.ws_url, extra_headers=[("origin", "https://example.org")]) as socket:
        await socket.send_message('[{"jsonrpc":"2.0","id":"a","method":"system_chain","params":[]}]')
        answer = json.loads(await socket.get_message())
    assert answer == [{"jsonrpc": "2.0", "id": "a", "result": broker.call("system_chain")}]


def test_unsafe_methods_are_refused_and_broker_methods_are_not_among_them(broker: NodeProcess) -> None:
    """Refuse unsafe methods, and allow the broker's."""
    with pytest.raises(CallRefused) as refused:
        broker.call("author_insertKey", "brok", "//Alice", "0x" + "00" * 32)
    assert refused.value.error["code"] == -32601
    assert "unsafe" in refused.value.error["message"]


def test_metrics_stand_on_their_own_port(broker: NodeProcess) -> None:
    """Serve metrics on a port of their own."""
    port = broker.log.split("Prometheus exporter started at 127.0.0.1:")[1].split()[0]
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    assert 'substrate_block_height{chain="dev",status="best"}' in text
    assert "substrate_ready_transactions_number" in text
    assert 'cfnode_rpc_broker_exposed{chain="dev"} 1.0' in text


def test_a_liquidity_providers_command_lines_open_a_deposit_channel(tmp_path: Path) -> None:
    """Profile `lp` of the official compose file: another key type, and the same flags."""
    document = insert_key(tmp_path, tmp_path / "keys", "lqpr")
    base = f"--base-path={tmp_path}/base"
    with running_node(tmp_path, base, *OFFICIAL_FLAGS, "--dev", "--dev-seal=instant") as node:
        assert "🗝️ LP key found in the keystore, enabling LP-related RPCs" in node.log
        assert "Broker key found" not in node.log
        until(lambda: "can withdraw the assets of the liquidity provider" in node.log)
        assert node.call("lp_register_account").startswith("0x")
        assert node.call("cf_account_info", document["signing_account_id"])["role"] == "liquidity_provider"
        node.call("lp_register_liquidity_refund_address", "Ethereum", EVM)
        opened = node.call("lp_request_liquidity_deposit_address_v2", ETH)
        assert opened["response"]["deposit_address"].startswith("0x")
        pair = (ETH, {"chain": "Ethereum", "asset": "USDC"})
        with pytest.raises(CallRefused, match=r"AssetBalances\.InsufficientBalance"):
            node.call("lp_set_limit_order", *pair, "sell", 1, 0, hex(10**18), None, "InBlock")


def test_a_key_file_written_by_hand_enables_the_broker(tmp_path: Path) -> None:
    """Enable the broker by a key file that was written by hand."""
    keystore = tmp_path / "base" / "chains" / "dev" / "keystore"
    keystore.mkdir(parents=True, mode=0o700)
    public = "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
    file = keystore / f"62726f6b{public}"
    file.write_text('"//Alice"')
    file.chmod(0o600)
    with running_node(tmp_path, "--dev", "--dev-seal=instant") as node:
        assert node.call("broker_register_account").startswith("0x")


def test_a_development_chain_of_other_flags_uses_the_same_keys(tmp_path: Path, cfnode: Cfnode) -> None:
    """Use the keys of `dev` on a development chain of other flags."""
    base = f"--base-path={tmp_path}/base"
    cfnode("key", "insert", "--chain=dev", base, "--suri=//Bob")
    with running_node(tmp_path, base, "--dev", "--dev-seal=instant", "--dev-authorities=3") as node:
        assert "/chains/dev-" in node.log
        assert node.call("broker_register_account").startswith("0x")


def test_without_a_key_there_are_no_broker_methods(tmp_path: Path, cfnode: Cfnode) -> None:
    """Offer no broker methods without a key, and name both ways to give one."""
    with running_node(tmp_path, "--dev", "--dev-seal=instant") as node:
        done = cfnode("rpc", "broker_register_account", "--url", node.url)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: broker_register_account: Method not found (this node has no broker key. "
    )
    assert done.stderr.endswith(" or start the node with --dev-broker //Alice) [code -32601]\n")
