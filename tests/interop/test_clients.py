"""Programs written by others use a development node as they would use the official one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfnode.core import ss58
from cfnode.core.hashing import twox_128
from cfnode.core.keys import Keypair
from tests.process import NodeProcess, running_node
from tests.support.interop.programs import SCRIPTS, report_of, script_of

pytestmark = pytest.mark.world


def storage_key(pallet: str, item: str) -> str:
    """Return the beginning of all keys of a storage item."""
    return "0x" + (twox_128(pallet.encode()) + twox_128(item.encode())).hex()


def test_polkadot_api_reads_follows_and_submits(
    dev_node: NodeProcess, node_modules: Path, tmp_path: Path
) -> None:
    """Read, follow and submit with @polkadot/api."""
    report = report_of("node", script_of("polkadot_api.mjs", node_modules, tmp_path), dev_node.ws_url)
    assert report["genesis"] == dev_node.call("chain_getBlockHash", 0)
    assert report["providers"] == 1
    assert report["heads"] == list(range(report["heads"][0], report["heads"][0] + 3))
    assert report["statuses"][0] == "Ready"
    assert report["statuses"][-1] == "Finalized"
    assert "system.Remarked" in report["events"]
    assert "system.ExtrinsicSuccess" in report["events"]
    assert report["nonceAfter"] == report["nonce"] + 1


def test_papi_follows_reads_calls_and_submits_over_the_new_interface(
    dev_node: NodeProcess, node_modules: Path, tmp_path: Path
) -> None:
    """Read, call and submit with polkadot-api over chainHead and transaction methods alone."""
    if not (node_modules / "polkadot-api").exists():
        pytest.skip("polkadot-api is not among the Node.js peers: scripts/peers installs it")
    report = report_of("node", script_of("papi.mjs", node_modules, tmp_path), dev_node.ws_url)
    first = report["finalized"][0]
    assert report["finalized"] == [first, first + 1, first + 2]
    assert report["chain"] == dev_node.call("system_chain")
    assert report["providers"] == 1
    accounts = dev_node.call("state_getKeysPaged", storage_key("System", "Account"), 1000)
    assert report["accounts"] == len(accounts)
    assert report["specVersion"] == dev_node.call("state_getRuntimeVersion")["specVersion"]
    assert dev_node.call("chain_getHeader", report["parent"]) is not None
    assert report["extrinsics"] >= 1
    assert report["fee"] > 0
    assert report["steps"][:2] == ["signed", "broadcasted"]
    assert report["steps"][-1] == "finalized"
    assert report["ok"] is True
    assert "System.Remarked" in report["events"]
    assert dev_node.call("chain_getHeader", report["finalizedIn"]) is not None
    assert report["nonceAfter"] == report["nonce"] + 1
    names = ("follow", "header", "body", "call", "storage", "unpin")
    assert {f"chainHead_v1_{name}" for name in names} | {"transaction_v1_broadcast"} <= set(report["asked"])
    assert not {name for name in report["asked"] if name.startswith(("state_", "author_"))}


def test_papi_does_the_same_over_the_methods_that_nodes_had_before(
    dev_node: NodeProcess, node_modules: Path, tmp_path: Path
) -> None:
    """Read, call and submit with polkadot-api over the methods that nodes had before, and no others."""
    if not (node_modules / "@polkadot-api" / "ws-middleware").exists():
        pytest.skip("polkadot-api is not among the Node.js peers: scripts/peers installs it")
    report = report_of("node", script_of("papi.mjs", node_modules, tmp_path), dev_node.ws_url, "legacy")
    first = report["finalized"][0]
    assert report["finalized"] == [first, first + 1, first + 2]
    assert report["chain"] == dev_node.call("system_name"), "as the library has it from older methods"
    assert report["providers"] == 1
    accounts = dev_node.call("state_getKeysPaged", storage_key("System", "Account"), 1000)
    assert report["accounts"] == len(accounts)
    assert report["specVersion"] == dev_node.call("state_getRuntimeVersion")["specVersion"]
    assert report["fee"] > 0
    assert report["steps"][:2] == ["signed", "broadcasted"]
    assert report["steps"][-1] == "finalized"
    assert report["ok"] is True
    assert "System.Remarked" in report["events"]
    assert report["nonceAfter"] == report["nonce"] + 1
    assert {"chain_subscribeAllHeads", "state_call", "author_submitExtrinsic"} <= set(report["asked"])
    assert not {name for name in report["asked"] if name.startswith(("chainHead_", "transaction"))}


def test_a_broadcast_that_papi_stops_is_not_in_the_next_block(node_modules: Path, tmp_path: Path) -> None:
    """Stop a broadcast before its block: the transaction must not appear in it."""
    if not (node_modules / "polkadot-api").exists():
        pytest.skip("polkadot-api is not among the Node.js peers: scripts/peers installs it")
    with running_node(tmp_path, "--dev", "--dev-seal=manual") as node:
        account = ss58.encode(Keypair.from_suri("//Alice").account, 2112)
        nonce = node.call("system_accountNextIndex", account)
        report = report_of("node", script_of("papi_stop.mjs", node_modules, tmp_path), node.ws_url)
        assert report["steps"] == ["signed", "broadcasted"]
        assert report["asked"].count("transaction_v1_broadcast") == 1
        assert report["asked"].count("transaction_v1_stop") == 1
        assert report["inBlock"] == node.call("chain_getBlock", report["block"])["block"]["extrinsics"]
        assert len(report["inBlock"]) == 1, "the block has the time alone"
        assert report["extrinsic"] not in report["inBlock"]
        assert node.call("system_accountNextIndex", account) == nonce


def test_async_substrate_interface_reads_follows_and_submits(
    dev_node: NodeProcess, async_substrate_interface: Path
) -> None:
    """Read, follow and submit with async-substrate-interface."""
    alice = Keypair.from_suri("//Alice", "sr25519")
    assert alice.seed is not None
    report = report_of(
        str(async_substrate_interface),
        str(SCRIPTS / "async_substrate_interface_peer.py"),
        dev_node.ws_url,
        ss58.encode(alice.public),
        alice.seed.hex(),
    )
    assert report["genesis"] == dev_node.call("chain_getBlockHash", 0)
    assert report["chain"] == dev_node.call("system_chain")
    assert report["specVersion"] == dev_node.call("state_getRuntimeVersion")["specVersion"]
    assert report["providers"] == 1
    accounts = dev_node.call("state_getKeysPaged", storage_key("System", "Account"), 1000)
    assert report["accounts"] == len(accounts)
    assert report["fee"] > 0
    assert report["heads"] == list(range(report["heads"][0], report["heads"][0] + 3))
    assert report["success"] is True
    assert report["finalized"] is True
    assert "System.Remarked" in report["events"]


def test_substrate_interface_reads_follows_and_submits(
    dev_node: NodeProcess, substrate_interface: Path
) -> None:
    """Read, follow and submit with substrate-interface."""
    report = report_of(
        str(substrate_interface), str(SCRIPTS / "substrate_interface_peer.py"), dev_node.ws_url
    )
    assert report["genesis"] == dev_node.call("chain_getBlockHash", 0)
    assert report["providers"] == 1
    assert report["heads"] == list(range(report["heads"][0], report["heads"][0] + 3))
    assert report["success"] is True
    assert report["finalized"] is True
    assert "System.Remarked" in report["events"]
