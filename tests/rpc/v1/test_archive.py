"""chainSpec_v1_* and archive_v1_* on a running development node."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cfnode.core.hashing import blake2_256, twox_128
from cfnode.core.header import Header
from cfnode.rpc.v1 import archive, queries, storage_diff
from tests.rpc.clients import WebSocket
from tests.rpc.conftest import MakeServed, Served
from tests.support.waiting import LIMIT_S

UNKNOWN = "0x" + "77" * 32
SYSTEM = "0x" + twox_128(b"System").hex()
NUMBER = SYSTEM + twox_128(b"Number").hex()


async def events_of(ws: WebSocket, method: str, *params: Any) -> list[dict[str, Any]]:
    """Return all events of a stream with an end."""
    identity = (await ws.call(method, *params))["result"]
    events: list[dict[str, Any]] = []
    with trio.fail_after(LIMIT_S):
        while not events or not events[-1]["event"].endswith(("Done", "Error")):
            message = await ws.notification()
            assert message["subscription"] == identity
            events.append(message["result"])
    return events


async def test_the_chain_returns_its_name_genesis_and_properties(served_node: Served) -> None:
    """Return the chain's name, genesis and properties, as the older methods do."""
    assert await served_node.call("chainSpec_v1_chainName") == await served_node.call("system_chain")
    assert await served_node.call("chainSpec_v1_properties") == await served_node.call("system_properties")
    assert await served_node.call("chainSpec_v1_genesisHash") == await served_node.call(
        "chain_getBlockHash", 0
    )


async def test_a_node_that_prunes_is_no_archive(
    served_node: Served,
) -> None:
    """Offer no archive methods on a node that prunes."""
    assert (await served_node.error("archive_v1_finalizedHeight"))["code"] == -32601
    assert "archive_v1_body" not in (await served_node.call("rpc_methods"))["methods"]


async def test_an_archive_gives_blocks_and_calls(make_served: MakeServed) -> None:
    """Return blocks, bodies and calls of an archive, and None for unknown blocks."""
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


async def test_above_the_last_final_block_every_fork_is_named(make_served: MakeServed) -> None:
    """Return every fork above the last final block, and one block below it."""
    served = await make_served(pruning=None)
    genesis = await served.call("archive_v1_genesisHash")
    forks = [await served.call("dev_newBlock", {"parent": genesis}) for _ in range(2)]
    assert await served.call("archive_v1_hashByHeight", 1) == forks
    await served.call("dev_finalize", forks[1])
    assert await served.call("archive_v1_hashByHeight", 1) == forks[1:]
    assert await served.call("archive_v1_hashByHeight", 2**64 - 1) == []


async def test_an_archive_answers_questions_about_any_state(
    make_served: MakeServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer questions about any state in pages, and refuse malformed ones."""
    monkeypatch.setattr(queries, "QUERY_PAGE_ROWS", 3)
    served = await make_served(pruning=None)
    blocks = [await served.call("dev_newBlock", {"finalize": True}) for _ in range(3)]
    pairs = await served.call("state_getPairs", SYSTEM, blocks[0])
    async with served.websocket() as ws:
        below = [{"key": SYSTEM, "type": "descendantsValues"}]
        *items, done = await events_of(ws, "archive_v1_storage", blocks[0], below)
        assert [[event["key"], event["value"]] for event in items] == pairs
        assert done == {"event": "storageDone"}
        later = [{**below[0], "paginationStartKey": pairs[4][0]}, {"key": NUMBER, "type": "hash"}]
        *items, number, _ = await events_of(ws, "archive_v1_storage", blocks[0], later)
        assert [event["key"] for event in items] == [key for key, _ in pairs[5:]]
        assert number["hash"] == "0x" + blake2_256(bytes.fromhex(dict(pairs)[NUMBER][2:])).hex()
        assert (await events_of(ws, "archive_v1_storage", UNKNOWN, below))[0]["event"] == "storageError"
        assert await events_of(ws, "archive_v1_storage", blocks[0], below, "0x6e6f6e65") == [done]
        bad = await ws.call("archive_v1_storage", blocks[0], [{"key": "0x", "type": "some"}])
        assert bad["error"]["data"].startswith("unknown variant `some`, expected one of `value`")
        for query, text in (
            ({"key": "0xabc", "type": "value"}, "0xabc"),
            ({"key": NUMBER, "type": "value", "paginationStartKey": NUMBER}, "paginationStartKey is only"),
        ):
            (event,) = await events_of(ws, "archive_v1_storage", blocks[0], [query])
            assert event["error"].startswith(f"Invalid parameter: {text}")
        (event,) = await events_of(
            ws, "archive_v1_storageDiff", blocks[1], [{"key": "z", "returnType": "hash"}]
        )
        assert event == {"event": "storageDiffError", "error": "Invalid parameter: z"}
    error = await served.error("archive_v1_call", blocks[0], "Core_version", "0x0")
    assert error == {"code": 3001, "message": "Invalid parameter: 0x0"}


async def test_an_archive_returns_the_differences_between_two_states(
    make_served: MakeServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return the differences between two states, also of some keys, in pages."""
    monkeypatch.setattr(storage_diff, "QUERY_PAGE_ROWS", 3)
    served = await make_served(pruning=None)
    genesis, *blocks = [
        await served.call("chain_getBlockHash", 0),
        *[await served.call("dev_newBlock", {"finalize": True}) for _ in range(3)],
    ]
    before, after = [dict(await served.call("state_getPairs", "0x", block)) for block in (genesis, blocks[1])]
    expected = []
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            kind = "added" if key not in before else "modified" if key in after else "deleted"
            value = after.get(key, before.get(key))
            expected.append({"event": "storageDiff", "key": key, "value": value, "type": kind})
    async with served.websocket() as ws:
        *differences, done = await events_of(ws, "archive_v1_storageDiff", blocks[1], None, genesis)
        assert differences == expected
        assert {"added", "modified"} <= {event["type"] for event in differences}
        assert done == {"event": "storageDiffDone"}
        items = [
            {"key": NUMBER, "returnType": "hash"},
            {"key": SYSTEM, "returnType": "hash"},
            {"returnType": "value", "childTrieKey": "0x6e6f6e65"},
        ]
        *differences, _ = await events_of(ws, "archive_v1_storageDiff", blocks[1], items)
        keys = [event["key"] for event in differences]
        assert keys[0] == NUMBER
        assert len(keys) == len(set(keys)) > 2
        assert {event["hash"] is not None for event in differences} == {True}
        for earlier in (UNKNOWN, blocks[2]):
            (error,) = await events_of(ws, "archive_v1_storageDiff", blocks[1], None, earlier)
            assert error["event"] == "storageDiffError"


async def test_reads_of_one_connection_are_counted(
    make_served: MakeServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bound the open reads of one connection."""
    never = trio.Event()

    async def waiting(*_: Any) -> Any:
        await never.wait()

    monkeypatch.setattr(archive, "page_from", waiting)
    served = await make_served(pruning=None)
    block = await served.call("dev_newBlock")
    async with served.websocket() as ws:
        for _ in range(archive.MAX_ARCHIVE_STREAMS):
            assert "result" in await ws.call("archive_v1_storage", block, [])
        refused = await ws.call("archive_v1_storage", block, [])
        assert refused["error"]["code"] == -32006
        assert "result" in await ws.call("archive_v1_storageDiff", block)
