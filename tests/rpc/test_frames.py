"""WebSocket frames and pieces of bodies that carry little: their limits, and what they cost others."""

from __future__ import annotations

import json
import logging
from itertools import count, islice

import pytest
import trio

from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.rows import Method
from cfnode.serving.frames import (
    CONTROL_WINDOW_S,
    FRAMES_A_TURN,
    FREE_FRAGMENTS,
    MAX_CONTROL_FRAMES,
    MIN_FRAGMENT,
    WebSocketFrameBudget,
    text_frame_head,
)
from cfnode.web.bodies import FREE_PIECES, MIN_PIECE_BYTES
from tests.rpc.clients import Http, WebSocket, served
from tests.rpc.steps import MAX_STEP, longest_step
from tests.support.waiting import LIMIT_S

POLICY = 1008
HEALTH = b'{"jsonrpc":"2.0","id":1,"method":"system_health"}'


def frame(payload: bytes, opcode: int, *, final: bool = True) -> bytes:
    """Return a short frame masked with zeros."""
    return bytes([opcode | (0x80 if final else 0), 0x80 | len(payload)]) + bytes(4) + payload


async def close_code(ws: WebSocket) -> int:
    """Return everything up to the close frame, and its code."""
    while True:
        data = ws._take_frame()
        if data is None:
            await ws._more()
        elif data[0] == 8:
            return int.from_bytes(data[1][:2], "big")


@pytest.mark.parametrize(
    ("name", "flood"),
    [
        ("fragments of one byte", frame(b"x", 1, final=False) + frame(b"x", 0, final=False) * 9_000),
        ("empty fragments", frame(b"", 1, final=False) + frame(b"", 0, final=False) * 10_000),
        ("pongs", frame(b"", 10) * 10_000),
        ("pings", frame(b"", 9) * 10_000),
        ("pings with a payload", frame(b"p" * 125, 9) * 500),
    ],
)
async def test_too_many_small_frames_end_the_connection_and_delay_no_other_client(
    name: str, flood: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Close a WebSocket that sends many tiny frames, while others are answered."""
    caplog.set_level(logging.DEBUG, "cfnode.serving")
    async with served(METHODS) as port, WebSocket(port) as ws, WebSocket(port) as other:
        with longest_step() as steps, trio.fail_after(LIMIT_S):
            await ws.stream.send_all(flood)
            assert await close_code(ws) == POLICY
            assert "result" in await other.call("system_health")
        assert steps.length < MAX_STEP, steps.task
    assert "closing a WebSocket: " in caplog.text


async def test_a_message_in_pieces_of_a_sensible_size_is_read() -> None:
    """Read a message in pieces of a sensible size, with pings between them."""
    text = HEALTH + b" " * 100_000
    async with served(METHODS) as port, WebSocket(port) as ws:
        for start in range(0, len(text), 300):
            await ws.send(text[start : start + 300], opcode=0 if start else 1, final=start + 300 >= len(text))
            if start % 30_000 == 0:
                await ws.send(b"", opcode=9)
        while (received := await ws.frame())[0] == 10:
            pass
        assert json.loads(received[1])["id"] == 1


async def test_of_many_pings_in_one_read_few_are_answered_the_last_among_them() -> None:
    """Answer few of many pings in one read, the last one among them."""
    pings = [b"%d" % number for number in range(MAX_CONTROL_FRAMES)]
    answered: list[bytes] = []
    async with served(METHODS) as port, WebSocket(port) as ws:
        await ws.stream.send_all(b"".join(frame(ping, 9) for ping in pings))
        while pings[-1] not in answered:
            opcode, payload = await ws.frame()
            assert opcode == 10
            answered.append(payload)
    assert len(answered) <= len(pings) // FRAMES_A_TURN + 1


def test_the_fragments_of_a_message_are_counted_against_its_bytes() -> None:
    """Count a message's fragments against its bytes, and free a whole message from the count."""
    budget = WebSocketFrameBudget()
    for _ in range(FREE_FRAGMENTS):
        assert budget.fragment(1, ends_frame=True, ends_message=False) is None
    assert budget.fragment(MIN_FRAGMENT, ends_frame=True, ends_message=False) is None
    assert budget.fragment(1, ends_frame=False, ends_message=False) is None, "a read, no frame of the client"
    assert budget.fragment(1, ends_frame=True, ends_message=False) == "fragments too small"
    budget = WebSocketFrameBudget()
    for _ in range(10 * FREE_FRAGMENTS):
        assert budget.fragment(1, ends_frame=True, ends_message=True) is None, "each is a message"


def test_control_frames_are_counted_over_time() -> None:
    """Count control frames over time."""
    budget = WebSocketFrameBudget()
    for second in islice(count(0.0, 0.01 + CONTROL_WINDOW_S / MAX_CONTROL_FRAMES), 10 * MAX_CONTROL_FRAMES):
        assert budget.control(second) is None
    later = 1000.0
    assert [budget.control(later) for _ in range(MAX_CONTROL_FRAMES)] == [None] * MAX_CONTROL_FRAMES
    assert budget.control(later) == "too many control frames"


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 15_000_000])
def test_the_head_of_a_frame_is_that_of_another_implementation(size: int) -> None:
    """Write the head of a frame as another implementation does, at each edge of its length."""
    from wsproto.frame_protocol import FrameProtocol

    assert text_frame_head(size) + b"x" * size == FrameProtocol(client=False, extensions=[]).send_data(
        "x" * size
    )


async def test_a_reply_of_any_size_is_one_whole_frame() -> None:
    """Send a reply of any size as one whole frame."""
    rows = [Method("test_text", lambda node: "é" * 40_000), *METHODS]
    async with served(rows) as port, WebSocket(port) as ws:
        assert (await ws.call("test_text"))["result"] == "é" * 40_000
        assert "result" in await ws.call("system_health")


def chunked(port: int, chunk: bytes, times: int) -> bytes:
    """Return a request whose body is one chunk many times, without its end."""
    head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    body = (b"%x\r\n%b\r\n" % (len(chunk), chunk)) * times
    return f"{head}transfer-encoding: chunked\r\n\r\n".encode() + body


async def test_chunks_of_one_byte_are_refused_and_delay_no_other_client() -> None:
    """Refuse chunks of one byte, while other clients are answered."""
    async with served(METHODS) as port, Http(port) as http, Http(port) as other:
        with longest_step() as steps, trio.fail_after(LIMIT_S):
            await http.stream.send_all(chunked(port, b" ", FREE_PIECES + 100))
            assert (await http.answer()).status == 400
            assert "result" in await other.call("system_health")
        assert steps.length < MAX_STEP, steps.task


async def test_chunks_of_a_sensible_size_are_read() -> None:
    """Read chunks of a sensible size."""
    async with served(METHODS) as port, Http(port) as http:
        chunks = chunked(port, b" " * MIN_PIECE_BYTES, FREE_PIECES + 100)
        await http.stream.send_all(chunks + b"%x\r\n%b\r\n0\r\n\r\n" % (len(HEALTH), HEALTH))
        assert "result" in (await http.answer()).json()


async def test_pipelined_requests_and_long_heads_delay_no_other_client() -> None:
    """Serve pipelined requests and long heads while other clients are answered."""
    async with served(METHODS) as port, Http(port) as http, Http(port) as other:
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        request = f"{head}content-length: {len(HEALTH)}\r\n\r\n".encode() + HEALTH
        many = f"GET /health HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n".encode() + b"a:b\r\n" * 12_000 + b"\r\n"
        with longest_step() as steps, trio.fail_after(LIMIT_S):
            await http.stream.send_all(request * 300)
            data = b""
            while data.count(b'"result":') < 300:
                data += await http._more()
            await http.stream.send_all(many)
            assert "result" in await other.call("system_health")
        assert steps.length < MAX_STEP, steps.task


async def test_a_request_with_two_lengths_is_refused_and_the_connection_closed() -> None:
    """Refuse a request with two lengths, and close the connection."""
    async with served(METHODS) as port, Http(port) as http:
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        lengths = f"content-length: {len(HEALTH)}\r\ntransfer-encoding: chunked\r\n\r\n"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HEALTH), HEALTH)
        await http.stream.send_all(f"{head}{lengths}".encode() + body)
        answer = await http.answer()
        assert (answer.status, answer.headers["connection"], answer.body) == (400, "close", b"")
        with trio.fail_after(LIMIT_S), pytest.raises(EOFError):
            await http._more()
