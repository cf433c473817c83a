"""Many calls wait for a block at once: each nonce is used once, and other clients are served meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from cfnode.core import ss58
from cfnode.core.extrinsic import decode_extrinsic
from cfnode.rpc.answering import session
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.rows import Access, Method
from tests.rpc.clients import StandIn, WebSocket, served
from tests.rpc.conftest import Served
from tests.support.rpc.many import EACH, requests


async def registered(served_node: Served) -> str:
    """Make the node's broker one; its address."""
    node = served_node.node
    assert node.broker is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.broker.register_account)
        await waiting_in_pool(served_node, 1)
        await served_node.call("dev_newBlock")
    return ss58.encode(node.broker.account, 2112)


async def waiting_in_pool(served_node: Served, count: int) -> None:
    """Wait until so many transactions are ready."""
    with served_node.node.pool.arrivals() as arrivals:
        while served_node.node.pool.status.ready < count:
            await anext(arrivals)


async def nonces_in(served_node: Served, block: bytes) -> list[int]:
    """Return the nonces of a block's signed transactions, in their order."""
    chain = served_node.node.chain
    metadata = (await chain.runtime_at(block)).metadata
    decoded = [decode_extrinsic(metadata, extrinsic) for extrinsic in chain.body(block) or []]
    return [extrinsic.nonce for extrinsic in decoded if extrinsic.signed is not None]


@pytest.mark.world
async def test_requests_in_messages_and_in_a_batch_share_one_block_and_are_answered_when_it_is_final(
    served_node: Served,
) -> None:
    """Answer single requests and a batch when their common block is final, with nonces in order."""
    account = await registered(served_node)
    first = await served_node.call("system_accountNextIndex", account)
    async with served_node.websocket() as one_by_one, served_node.websocket() as together:
        for request in requests(0):
            await one_by_one.send(json.dumps(request).encode())
        await together.send(json.dumps(requests(EACH)).encode())
        await waiting_in_pool(served_node, 2 * EACH)
        block = bytes.fromhex((await served_node.call("dev_newBlock"))[2:])
        number = served_node.node.chain.best.number
        for _ in range(2):
            await served_node.call("dev_newBlock")
        answers = [await one_by_one.message() for _ in range(EACH)] + await together.message()
    assert sorted(answer["id"] for answer in answers[:EACH]) == list(range(EACH))
    assert [answer["id"] for answer in answers[EACH:]] == list(range(EACH, 2 * EACH))
    assert len({answer["result"]["channel_id"] for answer in answers}) == 2 * EACH
    assert {answer["result"]["issued_block"] for answer in answers} == {number}
    assert await nonces_in(served_node, block) == list(range(first, first + 2 * EACH))
    assert await served_node.call("system_accountNextIndex", account) == first + 2 * EACH


class Blocks(StandIn):
    """A node whose calls are answered when `made` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.made = trio.Event()
        self.asked = 0


async def wait_for_block(node: Blocks) -> int:
    """Wait for a block as a broker's call does."""
    node.asked += 1
    mine = node.asked
    await node.made.wait()
    return mine


WAIT = Method("test_wait", wait_for_block, access=Access.BROKER, submits=True)


async def make_block(node: Blocks) -> str:
    """Make the block that the other calls wait for."""
    node.made.set()
    return "made"


MAKE = Method("test_make", make_block)


def call(method: str, identity: int) -> dict[str, Any]:
    """Return a call without parameters."""
    return {"jsonrpc": "2.0", "id": identity, "method": method}


async def test_a_thousand_calls_wait_for_a_block_and_do_not_hold_up_the_next_one() -> None:
    """Let a thousand calls wait for a block without holding up the call that makes it."""
    node = Blocks()
    async with served((*METHODS, WAIT, MAKE), node) as port, WebSocket(port) as ws:
        for number in range(1_000):
            await ws.send(json.dumps(call("test_wait", number)).encode())
        await ws.send(json.dumps(call("test_make", 1_000)).encode())
        answers = [await ws.message() for _ in range(1_001)]
    assert sorted(answer["id"] for answer in answers) == list(range(1_001))
    assert sorted(answer["result"] for answer in answers if answer["id"] < 1_000) == list(range(1, 1_001))


async def test_calls_beyond_what_may_wait_are_refused_at_once(monkeypatch: Any) -> None:
    """Refuse calls beyond what may wait at once, and answer the others."""
    monkeypatch.setattr(session, "WAITING_CALLS", 30)
    node = Blocks()
    async with served((*METHODS, WAIT, MAKE), node) as port, WebSocket(port) as ws:
        for number in range(40):
            await ws.send(json.dumps(call("test_wait", number)).encode())
        refused = [await ws.message() for _ in range(10)]
        node.made.set()
        answers = [await ws.message() for _ in range(30)]
    assert {answer["error"]["code"] for answer in refused} == {-32009}
    assert sorted(answer["id"] for answer in answers + refused) == list(range(40))
    assert all("result" in answer for answer in answers)


async def test_in_a_batch_too_those_that_wait_do_not_hold_up_what_they_wait_for() -> None:
    """Let calls of a batch wait without holding up the one of the batch that they wait for."""
    node = Blocks()
    entries = [call("test_wait", 0), call("system_health", 1), call("test_wait", 2), call("test_make", 3)]
    async with served((*METHODS, WAIT, MAKE), node) as port, WebSocket(port) as ws:
        await ws.send(json.dumps(entries).encode())
        answers = await ws.message()
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3]
    assert {answers[0]["result"], answers[2]["result"], answers[3]["result"]} == {1, 2, "made"}


async def test_a_batch_that_is_too_large_is_refused_although_others_of_it_wait() -> None:
    """Refuse a batch whose answer is too large, although others of it still wait."""
    entries = [call("test_wait", 0), *(call("system_health", number) for number in range(1, 20))]
    async with served((*METHODS, WAIT), Blocks(), max_response_size=500) as port, WebSocket(port) as ws:
        await ws.send(json.dumps(entries).encode())
        answer = await ws.message()
        assert answer["error"]["code"] == -32011
        assert "result" in await ws.call("system_health")
