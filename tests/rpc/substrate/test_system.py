"""system_*, rpc_methods and payment_* on a running node."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import trio

from cfnode import __version__
from cfnode.core import ss58
from cfnode.devchain.chain import run
from cfnode.devchain.config import DevConfig
from cfnode.devchain.serving import serve
from cfnode.node.config import Config, NetworkConfig, RpcConfig
from cfnode.rpc.methods import EVERYWHERE
from cfnode.store.keystore import Keystore
from tests.rpc.clients import Http
from tests.rpc.conftest import ALICE, Served, config_for
from tests.support.waiting import LIMIT_S


async def test_a_node_returns_its_name_version_and_chain(served_node: Served) -> None:
    """Return the node's name, version, chain, properties, roles and peer id."""
    assert await served_node.call("system_name") == "Chainflip Node"
    assert (await served_node.call("system_version")).startswith(f"{__version__}-")
    assert await served_node.call("system_chain") == "Chainflip-Dev"
    assert await served_node.call("system_chainType") == "Development"
    properties = await served_node.call("system_properties")
    assert (properties["ss58Format"], properties["tokenDecimals"], properties["tokenSymbol"]) == (
        2112,
        18,
        "FLIP",
    )
    assert await served_node.call("system_nodeRoles") == ["Authority"]
    assert await served_node.call("system_localPeerId") == served_node.node.local_peer_id


async def test_a_lone_development_node_is_in_step_and_ready(served_node: Served) -> None:
    """Report a lone development node as synced and ready."""
    assert await served_node.call("system_health") == {
        "peers": 0,
        "isSyncing": False,
        "shouldHavePeers": False,
    }
    assert (await served_node.http.request("GET", "/health/readiness")).status == 200
    assert await served_node.call("system_syncState") == {
        "startingBlock": 0,
        "currentBlock": 1,
        "highestBlock": 1,
    }


async def test_a_lone_node_has_no_peers(served_node: Served) -> None:
    """Report no peers of a lone node."""
    assert await served_node.call("system_peers") == []
    assert await served_node.call("system_reservedPeers") == []
    state = await served_node.call("system_unstable_networkState")
    assert state["peerId"] == served_node.node.local_peer_id
    assert state["connectedPeers"] == {}


async def test_a_reserved_peer_is_called_at_once_and_can_be_taken_back(
    served_node: Served, nursery: trio.Nursery, tmp_path: Path
) -> None:
    """Dial a reserved peer at once, list it, and take it back."""
    config = config_for(tmp_path / "other", RpcConfig(), 128)
    other = await nursery.start(run, config, DevConfig(seal="manual"))
    here, there = served_node.node.local_peer_id, other.local_peer_id
    address = str(other.network.addresses[0].with_peer(there))
    assert await served_node.call("system_addReservedPeer", address) is None
    assert await served_node.call("system_reservedPeers") == [there]
    with trio.fail_after(LIMIT_S):
        while not (other.peers and await served_node.call("system_peers")):  # noqa: ASYNC110
            await trio.sleep(0.01)
    assert set(other.network.peers) == {here}
    assert await served_node.call("system_peers") == [
        {
            "peerId": there,
            "roles": "AUTHORITY",
            "bestHash": "0x" + other.chain.genesis_hash.hex(),
            "bestNumber": 0,
        }
    ]
    assert (await served_node.call("system_health"))["peers"] == 1
    state = await served_node.call("system_unstable_networkState")
    assert state["connectedPeers"][there]["endpoint"]["dialing"].startswith("/ip4/127.0.0.1/tcp/")
    assert await served_node.call("system_removeReservedPeer", there) is None
    assert await served_node.call("system_reservedPeers") == []


async def test_what_is_no_peer_is_refused_with_the_reason(served_node: Served) -> None:
    """Refuse what is not a peer's address or id, with the reason."""
    for method, text, reason in (
        ("system_addReservedPeer", "/ip4/1.2.3.4/tcp/1", "needs its peer id"),
        ("system_addReservedPeer", "1.2.3.4", "begins with /"),
        ("system_removeReservedPeer", "12D3", "52 base58 characters"),
    ):
        error = await served_node.error(method, text)
        assert error["code"] == 2002
        assert reason in error["message"]


async def test_rpc_methods_lists_every_name_sorted(served_node: Served) -> None:
    """List every method and alias, sorted and once."""
    methods = (await served_node.call("rpc_methods"))["methods"]
    assert methods == sorted(set(methods))
    for row in EVERYWHERE:
        assert {row.name, *row.aliases} <= set(methods)
    assert {"broker_registerAccount", "dev_newBlock", "chain_unsubscribeNewHead", "rpc_methods"} <= set(
        methods
    )


async def test_the_next_index_counts_what_waits_in_the_pool(served_node: Served) -> None:
    """Count what waits in the pool into the next index: the next transaction would have a used nonce."""
    account = ss58.encode(ALICE.public)
    assert await served_node.call("system_accountNextIndex", account) == 0
    await served_node.call("author_submitExtrinsic", "0x" + (await served_node.signed_remark()).hex())
    assert await served_node.call("account_nextIndex", account) == 1
    error = await served_node.error("system_accountNextIndex", "0x" + ALICE.public.hex())
    assert error["code"] == -32602


async def test_a_dry_run_gives_the_outcome_and_changes_nothing(served_node: Served) -> None:
    """Return a dry run's outcome, and an invalid one for a wrong nonce."""
    extrinsic = "0x" + (await served_node.signed_remark()).hex()
    assert await served_node.call("system_dryRun", extrinsic) == "0x0000"
    wrong = "0x" + (await served_node.signed_remark(nonce=5)).hex()
    assert (await served_node.call("system_dryRunAt", wrong)).startswith("0x01")


async def test_what_a_transaction_would_cost(served_node: Served) -> None:
    """Return a transaction's weight and fee, whose parts add up, and refuse bad bytes officially."""
    extrinsic = "0x" + (await served_node.signed_remark()).hex()
    info = await served_node.call("payment_queryInfo", extrinsic)
    assert set(info) == {"weight", "class", "partialFee"}
    assert set(info["weight"]) == {"ref_time", "proof_size"}
    assert info["class"] == "normal"
    assert int(info["partialFee"]) > 0
    details = await served_node.call("payment_queryFeeDetails", extrinsic, None)
    assert set(details["inclusionFee"]) == {"baseFee", "lenFee", "adjustedWeightFee"}
    assert sum(int(part, 16) for part in details["inclusionFee"].values()) == int(info["partialFee"])
    for method, what in (
        ("payment_queryInfo", "Unable to query dispatch info."),
        ("payment_queryFeeDetails", "Unable to query fee details."),
        ("system_dryRun", "Unable to dry run extrinsic"),
    ):
        error = await served_node.error(method, "0x04")
        assert (error["code"], error["message"]) == (2, what)


async def test_log_filters_change_and_come_back(served_node: Served) -> None:
    """Change log filters at once and bring back those of the start."""
    logger = logging.getLogger("cfnode.runtime.grandpa")
    before = logger.level
    assert await served_node.call("system_addLogFilter", "runtime::grandpa=debug,txpool=off") is None
    assert logger.level == logging.DEBUG
    await served_node.call("system_addLogFilter", "runtime::grandpa=ERROR,txpool=4")
    assert logger.level == logging.ERROR
    assert logging.getLogger("cfnode.txpool").level == logging.DEBUG
    assert (await served_node.error("system_addLogFilter", "a=loud"))["code"] == 2000
    await served_node.call("system_resetLogFilter")
    assert logger.level == before


async def test_a_node_that_is_syncing_answers_what_genesis_allows_and_signs_nothing(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """Answer what genesis allows while the node is syncing, and sign nothing."""
    alone = NetworkConfig(port=0, reserved_only=True)
    config = Config(
        base_path=tmp_path, chain="berghain", prometheus=None, rpc=RpcConfig(port=0), network=alone
    )
    Keystore(tmp_path / "chains" / "Chainflip-Berghain" / "keystore").insert("brok", "//Broker")
    node = await nursery.start(partial(run, config))
    (address, *_) = await nursery.start(serve, node, config)
    async with Http(int(address.rpartition(":")[2])) as http:
        assert (await http.call("system_health"))["result"] == {
            "peers": 0,
            "isSyncing": True,
            "shouldHavePeers": True,
        }
        assert (await http.request("GET", "/health/readiness")).status == 500
        genesis = (await http.call("chain_getBlockHash", 0))["result"]
        assert genesis == "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"
        gone = f"Api called for an unknown Block: State already discarded for {genesis}"
        assert (await http.call("state_getMetadata"))["error"] == {
            "code": 4003,
            "message": f"Client error: {gone}",
        }
        assert (await http.call("system_accountNextIndex", ss58.encode(ALICE.public)))["error"] == {
            "code": 1,
            "message": "Unable to query nonce.",
            "data": gone,
        }
        for method, *params in (
            ("broker_register_account",),
            ("broker_withdraw_fees", {"chain": "Bitcoin", "asset": "BTC"}, "bc1q"),
            ("author_submitExtrinsic", "0x00"),
        ):
            error = (await http.call(method, *params))["error"]
            assert (error["code"], "isSyncing" in error["message"]) == (-32000, True)
        assert (await http.call("dev_newBlock"))["error"]["code"] == -32601
