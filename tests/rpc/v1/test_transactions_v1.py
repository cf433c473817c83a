"""transactionWatch_v1_* and transaction_v1_* on a running development node."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cfnode.core import ss58
from cfnode.core.validity import Invalid, UnknownValidity
from cfnode.node.pool.errors import (
    AlreadyImported,
    BadFormat,
    CycleDetected,
    ImmediatelyDropped,
    InvalidTransaction,
    NoTagsProvided,
    NotJudged,
    PoolError,
    TemporarilyBanned,
    TooLowPriority,
    Unactionable,
    UnknownTransaction,
)
from cfnode.rpc.table.errors import refusal_event
from tests.rpc.conftest import ALICE, Served
from tests.support.waiting import LIMIT_S


async def test_a_transaction_is_followed_until_it_is_final(served_node: Served) -> None:
    """Follow a transaction until it is final, with its place in the block."""
    extrinsic = await served_node.signed_remark()
    async with served_node.websocket() as ws:
        await ws.call("transactionWatch_v1_submitAndWatch", "0x" + extrinsic.hex())
        assert (await ws.notification())["result"] == {"event": "validated"}
        block = await served_node.call("dev_newBlock", {"finalize": True})
        events = []
        with trio.fail_after(LIMIT_S):
            while not events or events[-1]["event"] != "finalized":
                events.append((await ws.notification())["result"])
    assert [event["event"] for event in events] == ["bestChainBlockIncluded", "finalized"]
    assert {event["block"]["hash"] for event in events} == {block}
    assert events[0]["block"]["index"] == events[1]["block"]["index"] >= 1


async def test_a_transaction_that_is_refused_has_one_event(served_node: Served) -> None:
    """Send one event for a transaction that is refused."""
    async with served_node.websocket() as ws:
        await ws.call("transactionWatch_v1_submitAndWatch", "0x1234")
        event = (await ws.notification())["result"]
        assert event["event"] == "invalid"
        assert event["error"]


WATCHED_REFUSALS: list[tuple[PoolError, str]] = [
    (InvalidTransaction(Invalid("Stale")), "Invalid transaction: Transaction is outdated"),
    (InvalidTransaction(Invalid("Custom", 7)), "Invalid transaction with custom error: 7"),
    (
        UnknownTransaction(UnknownValidity("NoUnsignedValidator")),
        "Unknown transaction validity: Could not find an unsigned validator for the unsigned transaction",
    ),
    (TemporarilyBanned(), "Transaction is temporarily banned"),
    (AlreadyImported(bytes(32)), "Transaction is already imported"),
    (TooLowPriority(5, 3), "The priority of the transaction is too low (pool 5 > current 3)"),
    (CycleDetected(), "The transaction contains a cyclic dependency"),
    (ImmediatelyDropped(), "The transaction could not enter the pool because of the limit"),
    (Unactionable(), "Transaction cannot be propagated and the local node does not author blocks"),
    (NoTagsProvided(), "Transaction does not provide any tags, so the pool cannot identify it"),
    (BadFormat("x"), "Extrinsic bytes cannot be decoded"),
    (NotJudged("no\nstate"), "Verification error: Runtime error: no state"),
]


@pytest.mark.parametrize(("refusal", "text"), WATCHED_REFUSALS, ids=lambda answer: type(answer).__name__)
def test_each_refusal_has_the_text_of_its_interface(refusal: PoolError, text: str) -> None:
    """Write each refusal in the text of this interface."""
    assert refusal_event(refusal) == text


async def test_a_refused_transaction_that_is_watched_says_why_on_one_line(served_node: Served) -> None:
    """Give the reason for a refused transaction on one line, in the text of each interface."""
    extrinsic = "0x" + (await served_node.signed_remark()).hex()
    async with served_node.websocket() as ws:

        async def refused(bytes_: str) -> str:
            await ws.call("transactionWatch_v1_submitAndWatch", bytes_)
            event = (await ws.notification())["result"]
            assert event["event"] == "invalid"
            return str(event["error"])

        assert await refused("0x1234") == "Extrinsic bytes cannot be decoded"
        trap = await refused("0x00")
        assert trap.startswith("Verification error: Runtime error: Execution failed: Execution aborted")
        assert "\n" not in trap
        assert await refused("0x00") == "Transaction is temporarily banned"
        for bytes_, code in (("0x1234", 1001), ("0x00", 1012)):
            assert (await ws.call("author_submitAndWatchExtrinsic", bytes_))["error"]["code"] == code
        await ws.call("author_submitExtrinsic", extrinsic)
        assert await refused(extrinsic) == "Transaction is already imported"


async def settled(served: Served, count: int) -> None:
    """Wait until the node has so many transactions that are ready."""
    with trio.fail_after(LIMIT_S):
        while len(await served.call("author_pendingExtrinsics")) != count:
            await trio.lowlevel.checkpoint()


async def test_a_broadcast_transaction_that_left_the_pool_comes_back(served_node: Served) -> None:
    """Submit a broadcast transaction again when it has left the pool."""
    extrinsic = await served_node.signed_remark()
    async with served_node.websocket() as ws:
        await ws.call("transaction_v1_broadcast", "0x" + extrinsic.hex())
        await settled(served_node, 1)
        served_node.node.pool.remove_invalid([tx.hash for tx in served_node.node.pool.ready()])
        served_node.node.pool._bans._until.clear()
        await settled(served_node, 0)
        await served_node.call("dev_newBlock")
        await settled(served_node, 1)


async def test_a_stopped_broadcast_leaves_the_pool_and_the_next_block_does_not_have_it(
    served_node: Served,
) -> None:
    """Remove a stopped broadcast from the pool, so that its nonce is free again."""
    account = ss58.encode(ALICE.account)
    nonce = await served_node.call("system_accountNextIndex", account)
    extrinsic = "0x" + (await served_node.signed_remark()).hex()
    async with served_node.websocket() as ws:
        identity = (await ws.call("transaction_v1_broadcast", extrinsic))["result"]
        await settled(served_node, 1)
        assert (await ws.call("transaction_v1_stop", identity))["result"] is None
        assert (await ws.call("author_pendingExtrinsics"))["result"] == []
        block = await served_node.call("dev_newBlock")
        assert extrinsic not in (await served_node.call("chain_getBlock", block))["block"]["extrinsics"]
        assert await served_node.call("system_accountNextIndex", account) == nonce, (
            "it counted as the next one"
        )


async def test_what_a_connection_broadcast_stays_in_the_pool_when_it_ends(served_node: Served) -> None:
    """Keep a connection's broadcast in the pool when the connection ends."""
    extrinsic = "0x" + (await served_node.signed_remark()).hex()
    async with served_node.websocket() as ws:
        await ws.call("transaction_v1_broadcast", extrinsic)
        await settled(served_node, 1)
    block = await served_node.call("dev_newBlock")
    assert extrinsic in (await served_node.call("chain_getBlock", block))["block"]["extrinsics"]


async def test_sixteen_transactions_are_broadcast_at_a_time_and_a_final_one_frees_its_place(
    served_node: Served,
) -> None:
    """Broadcast sixteen transactions at a time, and accept another when one is final or stopped."""
    first, *later = ["0x" + (await served_node.signed_remark(nonce)).hex() for nonce in (0, *range(5, 22))]
    async with served_node.websocket() as ws:

        async def broadcast(extrinsic: str) -> Any:
            return (await ws.call("transaction_v1_broadcast", extrinsic))["result"]

        begun = [await broadcast(extrinsic) for extrinsic in (first, *later[:15])]
        assert len(set(begun)) == 16
        assert await broadcast(later[15]) is None
        assert (await ws.call("transaction_v1_stop", begun[3]))["result"] is None
        assert (await ws.call("transaction_v1_stop", begun[3]))["error"]["code"] == -32602
        assert isinstance(await broadcast(later[15]), str)
        await settled(served_node, 1)
        block = await served_node.call("dev_newBlock", {"finalize": True})
        assert first in (await served_node.call("chain_getBlock", block))["block"]["extrinsics"]
        with trio.fail_after(LIMIT_S):
            while await broadcast(later[16]) is None:
                await trio.lowlevel.checkpoint()
        error = (await ws.call("transaction_v1_stop", begun[0]))["error"]
        assert error == {"code": -32602, "message": "Invalid operation id"}


async def test_a_broadcast_belongs_to_its_connection(served_node: Served) -> None:
    """Let only the own connection stop a broadcast, and refuse one over HTTP."""
    extrinsic = "0x" + (await served_node.signed_remark(5)).hex()
    async with served_node.websocket() as ws, served_node.websocket() as other:
        identity = (await ws.call("transaction_v1_broadcast", extrinsic))["result"]
        assert (await other.call("transaction_v1_stop", identity))["error"]["code"] == -32602
    assert (await served_node.error("transaction_v1_broadcast", extrinsic))["code"] == -32000
    assert (await served_node.error("transaction_v1_stop", identity))["code"] == -32602


async def test_who_sends_a_transaction_and_leaves_at_once_has_sent_it(served_node: Served) -> None:
    """Send the transaction of a client that leaves at once."""
    for count, method in enumerate(("transaction_v1_broadcast", "transactionWatch_v1_submitAndWatch"), 1):
        extrinsic = "0x" + (await served_node.signed_remark()).hex()
        async with served_node.websocket() as ws:
            await ws.call(method, extrinsic)
        await settled(served_node, count)
    with trio.fail_after(LIMIT_S):
        while any(map(len, served_node.node.pool._watchers._watched.values())):
            await trio.lowlevel.checkpoint()
