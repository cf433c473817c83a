"""JSON-RPC over WebSocket: calls, batches, subscriptions and their limits, and clients that misbehave."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio
import trio.testing

from cfnode.core.jsonrpc import RpcError
from cfnode.rpc.answering.session import SUBSCRIPTION_BYTES
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.convert import TEXT
from cfnode.rpc.table.rows import Method, Param, Subscription
from cfnode.serving import server
from cfnode.serving.memory_budget import MemoryBudgets
from tests.rpc.clients import StandIn, WebSocket, served
from tests.support.rpc.rows import COUNT
from tests.support.waiting import LIMIT_S


async def flood(node: StandIn) -> AsyncGenerator[str, None]:
    """Push as fast as it can."""

    async def messages() -> AsyncGenerator[str, None]:
        while True:
            yield "x" * 50_000
            await trio.lowlevel.checkpoint()

    return messages()


async def stumble(node: StandIn) -> AsyncGenerator[int, None]:
    """Yield two messages, and then fail as by a bug."""

    async def messages() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        raise ZeroDivisionError

    return messages()


FLOOD = Subscription(
    "test_subscribeFlood", flood, notification="test_flood", unsubscribe="test_unsubscribeFlood"
)
STUMBLE = Subscription("test_stumble", stumble, notification="test_stumbled", unsubscribe="test_unstumble")
ROWS = (*METHODS, COUNT, FLOOD, STUMBLE)


async def test_calls_are_answered_in_order() -> None:
    """Answer calls in their order."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        assert ws.status == 101
        for _ in range(3):
            assert (await ws.call("system_health"))["result"]["isSyncing"] is False
        assert (await ws.call("nothing"))["error"]["code"] == -32601


async def test_a_batch_of_one_is_answered_with_an_array_of_one() -> None:
    """Answer a batch of one with an array of one."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        await ws.send(b'[{"jsonrpc":"2.0","id":"u-1","method":"system_health","params":[]}]')
        answer = await ws.message()
        assert isinstance(answer, list)
        assert [entry["id"] for entry in answer] == ["u-1"]


async def test_binary_messages_are_read_like_text() -> None:
    """Read binary messages as text."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"system_health"}', opcode=2)
        assert (await ws.message())["id"] == 1


@pytest.mark.parametrize("body", [b"{", b"[" * 30_000, b"", b'{"a":' * 30_000])
async def test_what_is_no_json_is_a_parse_error_and_the_connection_stays(body: bytes) -> None:
    """Answer what is not JSON with a parse error, and keep the connection."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        await ws.send(body)
        assert (await ws.message())["error"]["code"] == -32700
        assert "result" in await ws.call("system_health")


async def test_a_subscription_gives_its_id_first_then_its_messages_until_unsubscribed() -> None:
    """Send a subscription's id, then its messages, until it is ended once."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"test_subscribeCount","params":[2]}')
        identity = (await ws.message())["result"]
        assert len(identity) == 16
        for number in range(3):
            message = await ws.message()
            assert message["method"] == "test_count"
            assert message["params"] == {"subscription": identity, "result": number}
        assert (await ws.call("test_unsubscribeCount", identity))["result"] is True
        assert (await ws.call("test_unsubscribeCount", identity))["result"] is False
        assert (await ws.call("test_unsubscribeCount", 5))["result"] is False
        assert (await ws.call("test_unsubscribeCount"))["result"] is False


async def test_who_reads_may_have_more_subscriptions_than_messages_may_wait() -> None:
    """Allow more subscriptions than messages may wait to a client that reads."""
    call = {"jsonrpc": "2.0", "method": "test_subscribeCount", "params": [2]}
    async with served(ROWS, message_buffer=4) as port, WebSocket(port) as ws:
        await ws.send(json.dumps([call | {"id": number} for number in range(100)]).encode())
        ids = {entry["result"] for entry in await ws.message()}
        notifications = [await ws.notification() for _ in range(300)]
    assert len(ids) == 100
    assert {notification["subscription"] for notification in notifications} == ids
    assert (
        sorted(notification["result"] for notification in notifications) == [0] * 100 + [1] * 100 + [2] * 100
    )


async def test_of_clients_that_subscribe_without_end_the_one_with_most_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cut off the client with most subscriptions when their memory is used up."""
    budgets = MemoryBudgets(100 * SUBSCRIPTION_BYTES)
    monkeypatch.setattr(server, "MemoryBudgets", lambda: budgets)
    call = {"jsonrpc": "2.0", "method": "test_subscribeCount", "params": [0]}
    async with served(ROWS) as port, WebSocket(port) as modest, WebSocket(port) as greedy:
        assert "result" in await modest.call("test_subscribeCount", 0)
        await greedy.send(json.dumps([call | {"id": number} for number in range(100)]).encode())
        with trio.fail_after(LIMIT_S):
            with pytest.raises((EOFError, trio.BrokenResourceError)):
                while True:
                    await greedy.message()
        assert "result" in await modest.call("test_subscribeCount", 0)
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert (len(budgets), budgets.size // SUBSCRIPTION_BYTES) == (1, 2)


async def test_a_subscription_within_a_batch_starts_after_the_batch_is_answered() -> None:
    """Start a subscription of a batch after the batch is answered."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        call = {"jsonrpc": "2.0", "method": "test_subscribeCount", "params": {"last": 0}}
        await ws.send(json.dumps([call | {"id": 1}, call | {"id": 2}]).encode())
        ids = {entry["result"] for entry in await ws.message()}
        assert {(await ws.notification())["subscription"] for _ in range(2)} == ids


async def test_a_subscription_that_is_refused_at_its_start_is_an_error() -> None:
    """Refuse a subscription at its start with an error, without using up its place."""
    async with served(ROWS, max_subscriptions=1) as port, WebSocket(port) as ws:
        error = (await ws.call("test_subscribeCount", 2_000_000))["error"]
        assert error == {"code": -32020, "message": "that is too far"}
        assert (await ws.call("test_subscribeCount"))["error"]["code"] == -32602
        assert "result" in await ws.call("test_subscribeCount", 0)


async def test_a_stream_that_breaks_ends_alone() -> None:
    """End a stream that breaks, alone."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        identity = (await ws.call("test_stumble"))["result"]
        assert [(await ws.notification())["result"] for _ in range(2)] == [1, 2]
        assert "result" in await ws.call("system_health")
        assert (await ws.call("test_unstumble", identity))["result"] is False


async def test_one_subscription_too_many_is_refused_and_room_comes_back() -> None:
    """Refuse one subscription too many, and accept one again when another has ended."""
    async with served(ROWS, max_subscriptions=2) as port, WebSocket(port) as ws:
        ids = [(await ws.call("test_subscribeCount", 0))["result"] for _ in range(2)]
        assert (await ws.call("test_subscribeCount", 0))["error"] == {
            "code": -32006,
            "message": "Too many subscriptions on the connection",
            "data": "Exceeded max limit of 2",
        }
        assert (await ws.call("test_unsubscribeCount", ids[0]))["result"] is True
        assert "result" in await ws.call("test_subscribeCount", 0)


async def test_a_subscriber_that_stops_reading_is_cut_off_and_others_are_not() -> None:
    """Cut off a subscriber that stops reading, and no other client."""
    async with served(ROWS) as port, WebSocket(port) as slow, WebSocket(port) as other:
        await slow.send(b'{"jsonrpc":"2.0","id":1,"method":"test_subscribeFlood"}')
        with trio.fail_after(LIMIT_S), pytest.raises((EOFError, trio.BrokenResourceError)):
            while True:
                await trio.testing.wait_all_tasks_blocked(0.2)
                await slow.send(b"", opcode=10)
        assert "result" in await other.call("system_health")


async def test_a_client_that_vanishes_ends_its_pushes() -> None:
    """End the stream of a client that vanishes."""
    ended = trio.Event()

    async def watched(node: StandIn) -> AsyncGenerator[int, None]:
        async def messages() -> AsyncGenerator[int, None]:
            try:
                while True:
                    yield 1
                    await trio.sleep(0.01)  # a stream that never ends
            finally:
                ended.set()

        return messages()

    row = Subscription("test_watch", watched, notification="test_watched", unsubscribe="test_unwatch")
    async with served([row]) as port:
        async with WebSocket(port) as ws:
            await ws.call("test_watch")
            await ws.notification()
        with trio.fail_after(LIMIT_S):
            await ended.wait()


async def test_slow_calls_do_not_hold_up_quick_ones() -> None:
    """Answer quick calls while slow ones wait."""
    release = trio.Event()

    async def wait(node: StandIn) -> str:
        await release.wait()
        return "done"

    async with served([*METHODS, Method("test_wait", wait)]) as port, WebSocket(port) as ws:
        await ws.send(b'{"jsonrpc":"2.0","id":"slow","method":"test_wait"}')
        assert "result" in await ws.call("system_health")
        release.set()
        assert await ws.message() == {"jsonrpc": "2.0", "id": "slow", "result": "done"}


async def test_compression_is_never_negotiated() -> None:
    """Negotiate no compression: a small message could expand to a huge one."""
    offer = "permessage-deflate; client_max_window_bits"
    async with served(ROWS) as port, WebSocket(port, sec_websocket_extensions=offer) as ws:
        assert ws.status == 101
        assert "extensions" not in ws.handshake.lower()
        assert "result" in await ws.call("system_health")


TOO_BIG = {"code": -32007, "message": "Request is too big", "data": "Exceeded max limit of 10000"}


async def test_a_message_over_the_limit_is_refused_and_the_connection_goes_on() -> None:
    """Refuse a message over the limit, and keep the connection with its subscriptions."""
    async with served(ROWS, max_request_size=10_000) as port, WebSocket(port) as ws:
        opened = await ws.call("test_subscribeCount", 0)
        assert (await ws.notification())["result"] == 0
        await ws.send(b" " * 10_001)
        assert await ws.message() == {"jsonrpc": "2.0", "id": None, "error": TOO_BIG}
        assert "result" in await ws.call("system_health")
        assert (await ws.call("test_unsubscribeCount", opened["result"]))["result"] is True


async def test_a_call_in_one_frame_over_the_limit_is_refused_like_any_message() -> None:
    """It is short enough to be answered without the protocol library, which has the limit."""
    async with served(ROWS, max_request_size=10_000) as port, WebSocket(port) as ws:
        call = b'{"jsonrpc":"2.0","id":1,"method":"system_health"}'
        await ws.send(call.ljust(10_000))
        assert "result" in await ws.message()
        await ws.send(call.ljust(10_001))
        assert await ws.message() == {"jsonrpc": "2.0", "id": None, "error": TOO_BIG}
        assert "result" in await ws.call("system_health")


async def test_a_message_over_the_limit_in_pieces_is_refused_once_and_skipped() -> None:
    """Refuse a message over the limit in pieces once, and skip its rest."""
    async with served(ROWS, max_request_size=10_000) as port, WebSocket(port) as ws:
        await ws.send(b" " * 6_000, final=False)
        await ws.send(b" " * 6_000, opcode=0, final=False)
        assert (await ws.message())["error"] == TOO_BIG, "at once, as soon as the limit is passed"
        for _ in range(4):
            await ws.send(b" " * 6_000, opcode=0, final=False)
        await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"system_health"}', opcode=0)
        assert "result" in await ws.call("system_health")


@pytest.mark.parametrize(
    ("payload", "opcode", "is_final", "code"),
    [
        (b"\xff", 1, True, 1007),
        (b"x", 3, True, 1002),
        (b"x", 0, True, 1002),
        (b"x", 9, False, 1002),
        (b"x" * 126, 9, True, 1002),
        (b"\x03", 8, True, 1002),
    ],
)
async def test_a_malformed_frame_ends_the_connection_with_its_code(
    payload: bytes, opcode: int, is_final: bool, code: int
) -> None:
    """It ended without a close frame, so that a client did not learn why."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        await ws.send(payload, opcode=opcode, final=is_final)
        closed, reason = await ws.frame()
        assert (closed, int.from_bytes(reason[:2], "big"), len(reason) > 2) == (8, code, True)


async def test_endless_fragments_end_the_connection() -> None:
    """End the connection of a client whose fragments do not end."""
    async with served(ROWS, max_request_size=100_000) as port, WebSocket(port) as ws:
        await ws.send(b" ", final=False)
        with trio.fail_after(LIMIT_S), pytest.raises((EOFError, trio.BrokenResourceError)):
            while True:
                await ws.send("ü".encode() * 20_000, opcode=0, final=False)


async def test_the_server_sends_a_close_frame_when_it_stops() -> None:
    """Send a close frame with its code when the server stops."""
    async with trio.open_nursery() as nursery:
        opened: Any = trio.Event()

        async def client(port: int) -> None:
            async with WebSocket(port) as ws:
                await ws.call("system_health")
                opened.set()
                opcode, payload = await ws.frame()
                assert (opcode, int.from_bytes(payload[:2], "big")) == (8, 1001)

        async with served(ROWS) as port:
            nursery.start_soon(client, port)
            await opened.wait()


async def wait_for(node: StandIn, text: str) -> int:
    """Answer with the length of a text, once GATE is set."""
    await GATE.wait()
    return len(text)


GATE = trio.Event()
WAIT = Method("test_waitFor", wait_for, params=(Param("text", TEXT),))


async def test_what_a_connection_keeps_waiting_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the bytes of waiting calls of a connection, and free them with the answers."""
    monkeypatch.setattr("tests.rpc.test_websocket.GATE", gate := trio.Event())

    def call(identity: int) -> bytes:
        return json.dumps(
            {"jsonrpc": "2.0", "id": identity, "method": "test_waitFor", "params": ["x" * 800]}
        ).encode()

    async with served([*METHODS, WAIT], max_request_size=1000) as port, WebSocket(port) as ws:
        for identity in (1, 2, 3):
            await ws.send(call(identity))
        refused = await ws.message()
        assert refused["error"] == {"code": -32009, "message": "Server is busy, try again later"}
        assert "result" in await ws.call("system_health")
        gate.set()
        others = [await ws.message() for _ in range(2)]
        assert {answer["id"] for answer in (refused, *others)} == {1, 2, 3}
        await ws.send(call(4))
        assert (await ws.message())["result"] == 800


async def test_what_a_subscription_was_asked_with_counts_while_it_lasts() -> None:
    """Count a subscription's parameters while it lasts."""
    async with served([COUNT], max_request_size=1000) as port, WebSocket(port) as ws:
        padded = [3, "x" * 800]
        opened = [await ws.call("test_subscribeCount", *padded) for _ in range(3)]
        assert opened[2]["error"]["code"] == -32009
        await ws.call("test_unsubscribeCount", opened[0]["result"])
        with trio.fail_after(LIMIT_S):
            while "error" in await ws.call("test_subscribeCount", *padded):
                await trio.lowlevel.checkpoint()


PATIENT = Subscription(
    "test_patientFlood",
    flood,
    notification="test_patient",
    unsubscribe="test_unpatient",
    patient=True,
    max_per_connection=2,
    too_many=RpcError(-32800, "two are enough"),
)


async def test_a_patient_stream_waits_for_its_reader_and_leaves_room_to_others() -> None:
    """Let a patient stream wait for its reader, and leave room to other subscriptions."""
    async with served([PATIENT, COUNT], message_buffer=8) as port, WebSocket(port) as ws:
        for _ in range(2):
            await ws.call("test_patientFlood")
        assert (await ws.call("test_patientFlood"))["error"]["code"] == -32800
        await trio.testing.wait_all_tasks_blocked(0.01)  # nothing is read: both wait
        numbers = (await ws.call("test_subscribeCount", 3))["result"]
        received: list[int] = []
        floods = 0
        while len(received) < 4 or floods < 50:
            params = await ws.notification()
            if params["subscription"] == numbers:
                received.append(params["result"])
            else:
                floods += 1
        assert received == [0, 1, 2, 3]
