"""chainHead_v1_* on a running development node: following the head, and asking about its blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio

from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256, twox_128
from cfnode.core.header import Header
from cfnode.node.chain.events import BestChanged
from cfnode.rpc.table import pins
from cfnode.rpc.v1 import follow, operations, queries
from cfnode.rpc.v1.operations import Event
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.chain_head import Head, followed
from tests.support.rpc.storage import NUMBER
from tests.support.waiting import LIMIT_S

UNKNOWN = "0x" + "77" * 32
ACCOUNTS = "0x" + (twox_128(b"System") + twox_128(b"Account")).hex()


@pytest.fixture
async def head(served_node: Served) -> AsyncIterator[Head]:
    """Yield a follow that has read its first events: genesis final, block 1 best."""
    async with served_node.websocket() as ws:
        head = await followed(ws)
        await head.events(3)
        yield head


async def test_a_client_hears_first_what_is_there(served_node: Served) -> None:
    """Send first what is there: final blocks, then the others, then the best."""
    genesis, best = [await served_node.call("chain_getBlockHash", number) for number in (0, 1)]
    fork = await served_node.call("dev_newBlock", {"parent": genesis})
    async with served_node.websocket() as ws:
        head = await followed(ws, with_runtime=False)
        first, *blocks, chosen = await head.events(4)
    assert first == {"event": "initialized", "finalizedBlockHashes": [genesis]}
    assert blocks == [
        {"event": "newBlock", "blockHash": block, "parentBlockHash": genesis} for block in (best, fork)
    ]
    assert chosen == {"event": "bestBlockChanged", "bestBlockHash": best}


async def test_the_runtime_is_reported_for_the_final_block_and_at_each_change(served_node: Served) -> None:
    """Report the runtime of the final block, and None where a block does not change it."""
    version = await served_node.call("state_getRuntimeVersion")
    async with served_node.websocket() as ws:
        first, block, _ = await (await followed(ws)).events(3)
    assert first["finalizedBlockRuntime"] == {
        "type": "valid",
        "spec": {
            **{
                name: version[name]
                for name in ("specName", "implName", "specVersion", "implVersion", "transactionVersion")
            },
            "apis": dict(version["apis"]),
        },
    }
    assert block["newRuntime"] is None


async def test_new_best_and_final_blocks_follow_and_forks_are_pruned(served_node: Served, head: Head) -> None:
    """Send new, best and final blocks in order, and name the forks that finality has pruned."""
    genesis, one = [await served_node.call("chain_getBlockHash", number) for number in (0, 1)]
    fork = await served_node.call("dev_newBlock", {"parent": genesis})
    two = await served_node.call("dev_newBlock")
    await served_node.call("dev_finalize", two)
    events = await head.events(4)
    assert events == [
        {"event": "newBlock", "blockHash": fork, "parentBlockHash": genesis, "newRuntime": None},
        {"event": "newBlock", "blockHash": two, "parentBlockHash": one, "newRuntime": None},
        {"event": "bestBlockChanged", "bestBlockHash": two},
        {"event": "finalized", "finalizedBlockHashes": [one, two], "prunedBlockHashes": [fork]},
    ]


async def test_a_later_follow_begins_with_the_last_final_blocks(served_node: Served) -> None:
    """Begin a later follow with the last final blocks, which can be let go."""
    for _ in range(20):
        await served_node.call("dev_newBlock", {"finalize": True})
    last = [await served_node.call("chain_getBlockHash", number) for number in range(6, 22)]
    async with served_node.websocket() as ws:
        head = await followed(ws)
        first = await head.event()
        assert first["finalizedBlockHashes"] == last
        assert await head.call("unpin", last[:-1]) is None
        assert await head.code("header", last[0]) == -32801
        assert Header.decode(bytes.fromhex((await head.call("header", last[-1]))[2:])).number == 21


async def test_header_body_and_call_of_a_block_that_is_held(served_node: Served, head: Head) -> None:
    """Answer header, body and call of a held block, and a failed call by its reason."""
    block = await served_node.call("chain_getBlockHash", 1)
    header = await head.call("header", block)
    assert "0x" + blake2_256(bytes.fromhex(header[2:])).hex() == block
    extrinsics = (await served_node.call("chain_getBlock", block))["block"]["extrinsics"]
    assert await head.done("body", block) == [{"event": "operationBodyDone", "value": extrinsics}]
    output = await served_node.call("state_call", "Core_version", "0x", block)
    done = await head.done("call", block, "Core_version", "0x")
    assert done == [{"event": "operationCallDone", "output": output}]
    (failed,) = await head.done("call", block, "Core_nothing", "0x")
    text = "Execution failed: Other: Exported method Core_nothing is not found"
    assert failed == {"event": "operationError", "error": text}


async def test_a_bug_is_an_error_of_the_operation_and_others_go_on(
    served_node: Served, head: Head, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Report a bug as an error of its operation, and answer the others."""
    genesis = await served_node.call("chain_getBlockHash", 0)
    asked = [{"key": NUMBER, "type": "value"}]

    async def stumble(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(operations, "page_from", stumble)
    assert await head.done("storage", genesis, asked) == [
        {"event": "operationError", "error": "Internal error"}
    ]
    assert "bug" in caplog.text
    assert (await head.done("body", genesis))[0]["event"] == "operationBodyDone"


async def test_every_question_about_storage_is_answered(served_node: Served, head: Head) -> None:
    """Answer every kind of question about storage."""
    block = await served_node.call("chain_getBlockHash", 1)
    number = await served_node.call("state_getStorage", NUMBER, block)
    kinds = ("value", "hash", "closestDescendantMerkleValue", "descendantsValues", "descendantsHashes")
    asked = [{"key": NUMBER, "type": kind} for kind in kinds] + [{"key": UNKNOWN, "type": "value"}]
    items, done = await head.done("storage", block, asked, None)
    hashed = "0x" + blake2_256(bytes.fromhex(number[2:])).hex()
    value, value_hash, closest, below, hash_below = items["items"]
    assert value == below == {"key": NUMBER, "value": number}
    assert value_hash == hash_below == {"key": NUMBER, "hash": hashed}
    assert closest["key"] == NUMBER
    assert done == {"event": "operationStorageDone"}
    nothing = await head.done("storage", block, [{"key": UNKNOWN, "type": "closestDescendantMerkleValue"}])
    assert nothing == [{"event": "operationStorageDone"}]


async def test_a_question_without_items_finds_no_room(served_node: Served, head: Head) -> None:
    """Answer limitReached to a question without items, as the official node does."""
    block = await served_node.call("chain_getBlockHash", 1)
    assert await head.call("storage", block, []) == {"result": "limitReached"}
    assert await head.code("storage", UNKNOWN, []) == -32801
    begun = await head.call("storage", block, [{"key": NUMBER, "type": "value"}])
    assert (begun["result"], begun["operationId"]) == ("started", "0")


async def test_the_closest_merkle_value_of_everything_is_the_state_root(
    served_node: Served, head: Head
) -> None:
    """Return the state root as the closest merkle value of the empty key."""
    block = await served_node.call("chain_getBlockHash", 1)
    root = (await served_node.call("chain_getHeader", block))["stateRoot"]
    items, _ = await head.done("storage", block, [{"key": "", "type": "closestDescendantMerkleValue"}])
    assert items["items"] == [{"key": "0x", "closestDescendantMerkleValue": root}]


async def test_a_long_walk_comes_in_pages_and_waits_for_continue(
    served_node: Served, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send a long walk in pages, and wait for continue between them."""
    monkeypatch.setattr(queries, "QUERY_PAGE_ROWS", 2)
    monkeypatch.setattr(operations, "CONTINUE_BYTES", 600)
    block = await served_node.call("chain_getBlockHash", 1)
    pairs = await served_node.call("state_getPairs", "0x", block)
    wanted = [{"key": "0x", "type": "descendantsValues"}]
    begun = await head.call("storage", block, wanted)
    assert begun["discardedItems"] == 0
    walked, waits, event = [], 0, await head.event()
    while event["event"] != "operationStorageDone":
        if event["event"] == "operationWaitingForContinue":
            waits += 1
            assert await head.call("continue", begun["operationId"]) is None
        else:
            assert len(event["items"]) <= 2
            walked += [[item["key"], item["value"]] for item in event["items"]]
        event = await head.event()
    assert walked == pairs
    assert waits > 2


async def test_a_walk_that_waits_can_be_stopped(
    served_node: Served, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop a walk that waits."""
    monkeypatch.setattr(queries, "QUERY_PAGE_ROWS", 1)
    monkeypatch.setattr(operations, "CONTINUE_BYTES", 1)
    block = await served_node.call("chain_getBlockHash", 1)
    begun = await head.call("storage", block, [{"key": ACCOUNTS, "type": "descendantsHashes"}])
    events = [event["event"] for event in await head.events(2)]
    assert events == ["operationStorageItems", "operationWaitingForContinue"]
    assert await head.call("stopOperation", begun["operationId"]) is None
    assert await head.call("continue", begun["operationId"]) is None
    done = await head.done("call", block, "Core_version", "0x")
    assert done[0]["event"] == "operationCallDone"


async def test_an_operation_that_does_not_wait_must_not_be_continued(
    served_node: Served, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse to continue an operation that does not wait, and begin none over the limit."""
    never = trio.Event()

    async def waiting(*_: Any) -> bytes:
        await never.wait()
        return b""

    monkeypatch.setattr(operations, "ask_runtime", waiting)
    block = await served_node.call("chain_getBlockHash", 1)
    begun = [await head.call("call", block, "Core_version", "0x") for _ in range(16)]
    assert [operation["operationId"] for operation in begun] == [str(number) for number in range(16)]
    assert await head.code("continue", "3") == -32803
    assert await head.call("body", block) == {"result": "limitReached"}
    asked = [{"key": NUMBER, "type": "value"}] * 3
    assert await head.call("storage", block, asked) == {"result": "limitReached"}
    await head.call("stopOperation", "0")
    await head.call("stopOperation", "1")
    begun = await head.call("storage", block, asked)
    assert (begun["result"], begun["discardedItems"]) == ("started", 1)


async def test_only_blocks_that_are_held_can_be_asked_about(served_node: Served, head: Head) -> None:
    """Answer only about blocks that are held."""
    genesis, best = [await served_node.call("chain_getBlockHash", number) for number in (0, 1)]
    for method, params in (
        ("body", ()),
        ("header", ()),
        ("call", ("Core_version", "0x")),
        ("storage", ([{"key": NUMBER, "type": "value"}],)),
        ("unpin", ()),
    ):
        assert await head.code(method, UNKNOWN, *params) == -32801
    assert await head.code("unpin", [best, UNKNOWN]) == -32801
    assert (await head.answer("unpin", [best, best]))["error"] == {
        "code": -32804,
        "message": "Received duplicate hashes for the `chainHead_unpin` method",
    }
    assert await head.call("header", best) is not None
    assert await head.call("unpin", [genesis, best]) is None
    assert await head.code("unpin", best) == -32801


async def test_a_call_needs_a_follow_with_runtime(served_node: Served) -> None:
    """Refuse a call on a follow without runtime, and answer the rest."""
    block = await served_node.call("chain_getBlockHash", 1)
    async with served_node.websocket() as ws:
        head = await followed(ws, with_runtime=False)
        await head.events(3)
        assert (await head.answer("call", block, "Core_version", "0x"))["error"] == {
            "code": -32802,
            "message": "The `chainHead_follow` subscription was started with `withRuntime` set to `false`",
        }
        assert (await head.done("body", block))[0]["event"] == "operationBodyDone"


async def test_a_malformed_query_is_an_invalid_parameter(served_node: Served, head: Head) -> None:
    """Refuse a malformed query as an invalid parameter."""
    block = await served_node.call("chain_getBlockHash", 1)
    questions: tuple[Any, ...] = (
        None,
        {},
        [{}],
        [{"key": "0x"}],
        [{"key": "0x", "type": "all"}],
        [{"key": "0xabc", "type": "value"}],
        [{"key": "0x", "type": "value"}] * 1025,
    )
    for items in questions:
        assert await head.code("storage", block, items) == -32602
    page = [{"key": "0x", "type": "value", "paginationStartKey": "0x"}]
    assert (await head.call("storage", block, page))["result"] == "started"
    error = (await head.answer("storage", block, [{"key": "0xabc", "type": "value"}]))["error"]
    assert error == {"code": -32602, "message": "Invalid parameter: 0xabc"}
    error = (await head.answer("call", block, "Core_version", "zz"))["error"]
    assert error == {"code": -32602, "message": "Invalid parameter: zz"}


async def test_one_connection_follows_four_times_at_most(served_node: Served) -> None:
    """Allow four follows on a connection, and another one when one has ended."""
    async with served_node.websocket() as ws:
        heads = [await followed(ws) for _ in range(4)]
        refused = await ws.call("chainHead_v1_follow", True)
        assert refused["error"]["code"] == -32800
        assert (await ws.call("chainHead_v1_unfollow", heads[0].identity))["result"] is True
        await followed(ws)


async def test_a_follow_that_is_over_answers_as_if_there_were_no_room(served_node: Served) -> None:
    """Answer a follow that is over, or of another connection, as if there were no room."""
    block = await served_node.call("chain_getBlockHash", 1)
    async with served_node.websocket() as ws, served_node.websocket() as other:
        head = await followed(ws)
        stranger = Head(other, head.identity)
        await head.events(3)
        assert await stranger.call("header", block) is None
        await ws.call("chainHead_v1_unfollow", head.identity)
        items = [{"key": NUMBER, "type": "value"}]
        for follower in (head, stranger):
            assert await follower.call("header", block) is None
            assert await follower.call("body", block) == {"result": "limitReached"}
            assert await follower.call("storage", block, items) == {"result": "limitReached"}
            assert await follower.call("call", block, "Core_version", "0x") == {"result": "limitReached"}
            assert await follower.call("unpin", [block, block]) is None
            assert await follower.call("continue", "0") is None
            assert await follower.call("stopOperation", "0") is None
    assert await served_node.call("chainHead_v1_body", head.identity, block) == {"result": "limitReached"}


async def test_too_many_held_blocks_end_the_follow(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop a follow that holds too many blocks."""
    monkeypatch.setattr(pins, "MAX_PINNED", 3)
    async with served_node.websocket() as ws:
        head = await followed(ws)
        await head.events(3)
        await served_node.call("dev_newBlock")
        await head.events(2)
        await served_node.call("dev_newBlock")
        assert await head.event() == {"event": "stop"}
        again = await followed(ws)
        assert (await again.event())["event"] == "stop"


async def test_a_connection_that_ends_lets_go_of_its_blocks(
    make_served: MakeServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Release the blocks of a connection that ends."""
    made: list[pins.Pins] = []

    class Seen(pins.Pins):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr("cfnode.rpc.answering.dispatch.Pins", Seen)
    served = await make_served()
    await served.call("dev_newBlock")
    async with served.websocket() as ws:
        await (await followed(ws)).events(3)
        assert [len(pinned) for pinned in made] == [2]
    with trio.fail_after(LIMIT_S):
        while len(made[0]):
            await served.call("system_health")


async def test_who_lets_go_of_blocks_can_follow_for_ever(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a client that releases its blocks follow for ever."""
    monkeypatch.setattr(pins, "MAX_PINNED", 4)
    async with served_node.websocket() as ws:
        head = await followed(ws)
        first, *_ = await head.events(3)
        held = first["finalizedBlockHashes"]
        for _ in range(6):
            await served_node.call("dev_newBlock", {"finalize": True})
            new, best, final = await head.events(3)
            assert new["blockHash"] == best["bestBlockHash"] == final["finalizedBlockHashes"][-1]
            await head.call("unpin", [*held, *final["finalizedBlockHashes"][:-1]])
            held = final["finalizedBlockHashes"][-1:]


async def test_finality_that_is_far_behind_ends_the_follow(
    served_node: Served, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop a follow when finality is too far behind."""
    monkeypatch.setattr(follow, "MAX_LAG", 2)
    await served_node.call("dev_newBlock")
    await head.events(2)
    await served_node.call("dev_newBlock")
    assert await head.event() == {"event": "stop"}


async def test_a_jump_of_the_chain_ends_the_follow(served_node: Served, head: Head) -> None:
    """Stop a follow when the chain jumps."""
    there = BlockRef(b"\x77" * 32, 1000)
    served_node.node.chain._events.publish(BestChanged(there, (), (there.hash,)))
    assert await head.event() == {"event": "stop"}


async def test_a_follow_with_a_slow_reader_ends_with_stop(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop the follow of a reader that is too slow, after what it has been sent."""
    monkeypatch.setattr(follow, "CAPACITY", 2)
    release = trio.Event()
    original = follow.Follow.send

    async def slow(self: follow.Follow, event: Event) -> None:
        await original(self, event)
        await release.wait()

    monkeypatch.setattr(follow.Follow, "send", slow)
    async with served_node.websocket() as ws:
        head = await followed(ws)
        assert (await head.event())["event"] == "initialized"
        for _ in range(3):
            await served_node.call("dev_newBlock")
        release.set()
        events = [await head.event()]
        while events[-1]["event"] != "stop":
            events.append(await head.event())
    assert [event["event"] for event in events] == ["newBlock", "bestBlockChanged"] * 2 + ["stop"]
