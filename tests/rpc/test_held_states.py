"""What a follower holds stays readable: beyond the window, on a branch that has lost, in a new executor."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
import trio

from cfnode.rpc.v1.follow import Follow
from cfnode.rpc.v1.operations import Event
from cfnode.store import finality
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.chain_head import Head, followed
from tests.support.rpc.storage import NUMBER
from tests.support.waiting import LIMIT_S

WINDOW = 3
SOME = [{"key": NUMBER, "type": "value"}]


async def number_in(head: Head, block: str) -> tuple[int, int]:
    """Return the block's number by its storage and by its header; the executor has to answer too."""
    items, done = await head.done("storage", block, SOME)
    assert done["event"] == "operationStorageDone"
    (called,) = await head.done("call", block, "Core_version", "0x")
    assert called["event"] == "operationCallDone", called
    ((_, value),) = [(item["key"], item["value"]) for item in items["items"]]
    header = bytes.fromhex((await head.call("header", block))[2:])
    return int.from_bytes(bytes.fromhex(value[2:]), "little"), header[32] >> 2


async def final_blocks(served: Served, head: Head, count: int) -> list[str]:
    """Make so many blocks final, one by one; the client lets go of each."""
    made = []
    for _ in range(count):
        block = await served.call("dev_newBlock", {"finalize": True})
        while (event := await head.event())["event"] != "finalized":
            assert event["event"] != "stop"
        made.append(block)
        if len(made) > 1:
            await head.call("unpin", [made[-2]])
    return made


async def test_a_state_that_is_held_stays_when_its_window_has_gone_by(make_served: MakeServed) -> None:
    """Keep a held block's state when its window has gone by, and discard it when it is let go."""
    served = await make_served(pruning=WINDOW)
    async with served.websocket() as ws:
        head = await followed(ws)
        await head.event()
        first = await served.call("dev_newBlock", {"finalize": True})
        await head.events(3)
        later = await final_blocks(served, head, 3 * WINDOW)
        assert await number_in(head, first) == (1, 1)
        assert (await head.done("body", first))[0]["event"] == "operationBodyDone"
        await head.call("unpin", [first, await served.call("chain_getBlockHash", 0)])
        await final_blocks(served, head, 1)
        for block in (first, later[0]):
            error = await served.error("state_getStorage", NUMBER, block)
            assert error["message"] == f"Client error: UnknownBlock: State already discarded for {block}"
        assert await served.call("state_getStorage", NUMBER, later[-1]) == f"0x{3 * WINDOW + 1:02x}000000"


async def test_what_is_held_beyond_the_bound_ends_the_follow(
    make_served: MakeServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End the follow of a client that holds blocks beyond the bound."""
    monkeypatch.setattr(finality, "MAX_HELD_BEFORE_WINDOW", 2)
    served = await make_served(pruning=WINDOW)
    async with served.websocket() as ws:
        head = await followed(ws, with_runtime=False)
        genesis = (await head.event())["finalizedBlockHashes"][0]
        await final_blocks(served, head, WINDOW + 2)
        assert (await head.done("storage", genesis, SOME))[-1]["event"] == "operationStorageDone"
        await served.call("dev_newBlock", {"finalize": True})
        events = await head.events(3)
        assert [event["event"] for event in events] == ["newBlock", "bestBlockChanged", "stop"]
        assert await head.call("body", genesis) == {"result": "limitReached"}
        await served.call("dev_newBlock", {"finalize": True})
        assert (
            "State already discarded" in (await served.error("state_getStorage", NUMBER, genesis))["message"]
        )


async def lost_branch(served: Served, head: Head) -> list[str]:
    """Return two blocks, one on the other, that lose against one that is final."""
    loser = await served.call("dev_newBlock", {"finalize": True})
    losers = [loser]
    for _ in range(2):
        losers.append(await served.call("dev_newBlock", {"parent": losers[-1]}))
    await served.call("dev_newBlock", {"parent": loser, "finalize": True})
    while (event := await head.event())["event"] != "finalized" or len(event["prunedBlockHashes"]) < 2:
        pass
    assert event["prunedBlockHashes"] == losers[1:]
    return losers[1:]


async def test_the_states_of_a_branch_that_has_lost_stay_while_its_end_is_held(
    served_node: Served,
) -> None:
    """Keep a lost branch's states while its last block is held."""
    async with served_node.websocket() as ws:
        head = await followed(ws)
        await head.events(3)
        low, high = await lost_branch(served_node, head)
        await head.call("unpin", [low])
        await final_blocks(served_node, head, 2)
        assert await number_in(head, high) == (4, 4)
        assert await served_node.call("state_getStorage", NUMBER, low) == "0x03000000"
        await head.call("unpin", [high])
        await final_blocks(served_node, head, 1)
        for block in (low, high):
            assert (await served_node.error("state_call", "Core_version", "0x", block))["code"] == 4003


async def test_a_lost_branch_that_is_too_long_ends_the_follow(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End a follow that would hold a lost branch over the limit."""
    monkeypatch.setattr(finality, "MAX_HELD_LOST_BLOCKS", 1)
    async with served_node.websocket() as ws:
        head = await followed(ws, with_runtime=False)
        await head.events(3)
        block = await served_node.call("chain_getBlockHash", 1)
        low = await served_node.call("dev_newBlock")
        high = await served_node.call("dev_newBlock")
        await served_node.call("dev_newBlock", {"parent": block, "finalize": True})
        while (event := await head.event())["event"] != "stop":
            assert not event.get("prunedBlockHashes")
        assert await served_node.call("state_getStorage", NUMBER, low) == "0x02000000"
        assert (await served_node.error("state_getStorage", NUMBER, high))["code"] == 4003


async def test_a_new_executor_is_given_what_is_held(served_node: Served) -> None:
    """Send held blocks to a new executor."""
    node = served_node.node
    async with served_node.websocket() as ws:
        head = await followed(ws)
        await head.events(3)
        _, high = await lost_branch(served_node, head)
        before = node.executor.started
        for pid in node.executor.pids:
            os.kill(pid, signal.SIGKILL)
        with trio.fail_after(LIMIT_S):
            while not await is_called(head, high):
                pass
        assert node.executor.started > before
        assert await number_in(head, high) == (4, 4)


async def is_called(head: Head, block: str) -> Any:
    """Return whether a call was answered; the one that meets the dead process is not."""
    (done,) = await head.done("call", block, "Core_version", "0x")
    return done["event"] == "operationCallDone"


async def test_a_block_pinned_twice_is_kept_until_the_second_unpin(served_node: Served) -> None:
    """Keep a block that two followers hold until both have let go."""
    async with served_node.websocket() as ws, served_node.websocket() as other:
        one, two = await followed(ws), await followed(other)
        await one.events(3)
        await two.events(3)
        low, high = await lost_branch(served_node, one)
        await one.call("unpin", [low, high])
        await final_blocks(served_node, one, 1)
        while (await two.event())["event"] != "finalized":
            pass
        assert await served_node.call("state_getStorage", NUMBER, high) == "0x04000000"
        await other.call("chainHead_v1_unfollow", two.identity)
        await served_node.call("dev_newBlock", {"finalize": True})
        assert (await served_node.error("state_getStorage", NUMBER, high))["code"] == 4003


async def test_the_states_of_unreported_blocks_are_held_for_a_slow_reader(
    served_node: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold the states of blocks that a slow reader has not been notified of yet."""
    node, release, tell = served_node.node, trio.Event(), Follow.send

    async def slow(self: Follow, event: Event) -> None:
        await tell(self, event)
        await release.wait()

    monkeypatch.setattr(Follow, "send", slow)
    async with served_node.websocket() as ws:
        head = await followed(ws)
        await head.event()
        parent = await served_node.call("dev_newBlock", {"finalize": True})
        low = await served_node.call("dev_newBlock", {"parent": parent})
        await served_node.call("dev_newBlock", {"parent": parent, "finalize": True})
        release.set()
        while (event := await head.event())["event"] != "finalized" or low not in event["prunedBlockHashes"]:
            pass
        assert await number_in(head, low) == (3, 3)
    with trio.fail_after(LIMIT_S):
        while node.store._holds.now():
            await served_node.call("system_health")
