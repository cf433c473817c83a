"""The main net without a reachable peer: what a broker sees on the first day, behind a wrong firewall."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cfnode.cli.client import CallRefused
from cfnode.store.keystore import Keystore
from tests.process import NodeProcess, running_node
from tests.support.waiting import wait_until

GENESIS = "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
STATE_ROOT = "0xceb969ab679b7db5c793e8d0aa42c6284c0c05e183a728440946660810ee3b8d"
PEER = "12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF"
REFUND = {"retry_duration": 10, "refund_address": "0x" + "02" * 20, "min_price": "0x0"}
CHANNEL = "ETH", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 10, None, None, None, REFUND


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """Yield a light-RPC node of the main net that may connect to one address only, where no node listens."""
    folder = tmp_path_factory.mktemp("alone")
    Keystore(folder / "base" / "chains" / "Chainflip-Berghain" / "keystore").insert("brok", "//Broker")
    with closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))
        flags = (
            "--chain=berghain",
            "--sync=light-rpc",
            "--listen-addr=/ip4/127.0.0.1/tcp/0",
            "--reserved-only",
            f"--reserved-nodes=/ip4/127.0.0.1/tcp/{closed.getsockname()[1]}/p2p/{PEER}",
        )
        with running_node(folder, *flags) as node:
            yield node


def error_of(node: NodeProcess, method: str, *params: Any) -> dict[str, Any]:
    """Return the error of a call."""
    with pytest.raises(CallRefused) as refused:
        node.call(method, *params)
    return refused.value.error


def test_calls_about_genesis_are_answered(alone: NodeProcess) -> None:
    """Answer calls about genesis without a peer."""
    assert alone.call("system_health") == {"peers": 0, "isSyncing": True, "shouldHavePeers": True}
    assert alone.call("chain_getBlockHash", 0) == alone.call("chain_getFinalizedHead") == GENESIS
    header = alone.call("chain_getHeader")
    assert (header["number"], header["stateRoot"]) == ("0x0", STATE_ROOT)
    assert alone.call("chain_getBlock")["block"]["extrinsics"] == []
    assert alone.call("chain_getBlockHash", 1) is None
    assert alone.call("system_chain") == "Chainflip-Berghain"
    assert alone.call("system_chainType") == "Live"
    assert alone.call("system_properties")["ss58Format"] == 2112
    assert alone.call("system_nodeRoles") == ["Full"]
    assert alone.call("system_syncState")["currentBlock"] == 0
    assert {"broker_registerAccount", "state_getStorage", "cf_environment"} <= set(
        alone.call("rpc_methods")["methods"]
    )


def test_what_needs_a_state_is_answered_as_for_one_that_is_gone(alone: NodeProcess) -> None:
    """Answer calls that need a state as for a discarded one."""
    gone = f"State already discarded for {GENESIS}"
    by_runtime_api = ("state_getMetadata", "state_getRuntimeVersion")
    for method, *params in (
        ("state_getStorage", "0x00"),
        ("state_getMetadata",),
        ("state_getRuntimeVersion",),
        ("state_call", "Core_version", "0x"),
        ("state_getKeysPaged", "0x", 1),
    ):
        layer = "Api called for an unknown Block" if method in by_runtime_api else "UnknownBlock"
        assert error_of(alone, method, *params) == {"code": 4003, "message": f"Client error: {layer}: {gone}"}
    unknown = "Unknown block: State already discarded for " + GENESIS
    for method in ("cf_environment", "cf_accounts", "cf_flip_supply"):
        refused = error_of(alone, method)
        assert (refused["code"], "still the genesis block" in refused["message"]) == (-32000, True)
        assert error_of(alone, method, GENESIS) == {"code": -32022, "message": unknown}


def test_a_broker_call_hears_what_the_node_waits_for_and_why(alone: NodeProcess) -> None:
    """Answer a broker's call with what the node waits for, and why."""
    wait_until(lambda: PEER in error_of(alone, "broker_register_account")["message"])
    for method, *params in (
        ("broker_register_account",),
        ("broker_requestSwapDepositAddress", *CHANNEL),
        ("author_submitExtrinsic", "0x00"),
    ):
        error = error_of(alone, method, *params)
        assert error["code"] == -32000
        assert f"Waiting for peers: no peer is connected yet ({PEER}: " in error["message"]
        assert "isSyncing" in error["message"]


def test_the_log_names_the_reason_for_waiting_and_retries_back_off(alone: NodeProcess) -> None:
    """Log why the node waits and when it tries again, ever later, and dial no boot node."""
    wait_until(lambda: f"Cannot reach {PEER}, next try in 10 s" in alone.log)
    assert f"Cannot reach {PEER}, next try in 5 s" in alone.log
    wait_until(lambda: "⏩ Waiting for peers (0 peers), best: #0" in alone.log)
    assert "boot" not in alone.log


def test_it_stops_cleanly(alone: NodeProcess) -> None:
    """Stop cleanly by SIGTERM."""
    assert alone.stop(signal.SIGTERM) == 0
    assert "Traceback" not in alone.log
