"""Methods of the new JSON-RPC interface on a running development node."""

from __future__ import annotations

import trio

from cfnode.core.header import Header
from tests.rpc.conftest import MakeServed, Served

UNKNOWN = "0x" + "77" * 32


async def test_the_chain_says_what_it_is(served_node: Served) -> None:
    assert await served_node.call("chainSpec_v1_chainName") == await served_node.call("system_chain")
    assert await served_node.call("chainSpec_v1_properties") == await served_node.call("system_properties")
    assert await served_node.call("chainSpec_v1_genesisHash") == await served_node.call(
        "chain_getBlockHash", 0
    )


async def test_a_transaction_is_followed_until_it_is_final(served_node: Served) -> None:
    extrinsic = await served_node.signed_remark()
    async with served_node.websocket() as ws:
        await ws.call("transactionWatch_v1_submitAndWatch", "0x" + extrinsic.hex())
        assert (await ws.notification())["result"] == {"event": "validated"}
        block = await served_node.call("dev_newBlock", {"finalize": True})
        events = []
        with trio.fail_after(20):
            while not events or events[-1]["event"] != "finalized":
                events.append((await ws.notification())["result"])
    assert [event["event"] for event in events] == ["bestChainBlockIncluded", "finalized"]
    assert {event["block"]["hash"] for event in events} == {block}
    assert events[0]["block"]["index"] == events[1]["block"]["index"] >= 1


async def test_a_transaction_that_is_refused_has_one_event(served_node: Served) -> None:
    async with served_node.websocket() as ws:
        await ws.call("transactionWatch_v1_submitAndWatch", "0x1234")
        event = (await ws.notification())["result"]
        assert event["event"] == "invalid"
        assert event["error"]


async def test_a_node_that_prunes_is_no_archive(
    served_node: Served,
) -> None:
    assert (await served_node.error("archive_v1_finalizedHeight"))["code"] == -32601
    assert "archive_v1_body" not in (await served_node.call("rpc_methods"))["methods"]


async def test_an_archive_gives_blocks_and_calls(make_served: MakeServed) -> None:
    served = await make_served(pruning=None)
    block = await served.call("dev_newBlock", {"finalize": True})
    assert await served.call("archive_v1_hashByHeight", 1) == [block]
    assert await served.call("archive_v1_hashByHeight", 9) == []
    assert await served.call("archive_v1_finalizedHeight") == 1
    header = await served.call("archive_v1_header", block)
    assert Header.decode(bytes.fromhex(header[2:])).number == 1
    body = (await served.call("chain_getBlock", block))["block"]["extrinsics"]
    assert await served.call("archive_v1_body", block) == body
    version = await served.call("archive_v1_call", block, "Core_version", "0x")
    assert version == {"success": True, "value": await served.call("state_call", "Core_version", "0x", block)}
    failed = await served.call("archive_v1_call", block, "Core_nothing", "0x")
    assert failed["success"] is False
    assert await served.call("archive_v1_call", UNKNOWN, "Core_version", "0x") is None
    assert await served.call("archive_v1_body", UNKNOWN) is None
