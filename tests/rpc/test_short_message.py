"""A WebSocket message that comes in one frame and one piece is answered as with wsproto, byte for byte."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Event, Message, TextMessage

from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.convert import TEXT, U32
from cfnode.rpc.table.rows import Method, Param, Subscription
from cfnode.serving import connection as connection_module
from cfnode.serving.frames import MAX_SHORT_MESSAGE_BYTES, FrameBoundary, short_message
from tests.rpc.clients import WebSocket, served
from tests.support.waiting import LIMIT_S

MARK = b"\x81\x84\1\2\3\4" + bytes(byte ^ mask for byte, mask in zip(b"next", b"\1\2\3\4", strict=True))
"""The message `next`, masked."""

masks = st.one_of(st.just(bytes(4)), st.binary(min_size=4, max_size=4))


def frame(
    payload: bytes, first: int = 0x81, mask: bytes | None = b"\1\2\3\4", width: int | None = None
) -> bytes:
    """Return a frame with this first byte; `width`: bytes of its length after the second byte."""
    size = len(payload)
    if width is None:
        width = 0 if size < 126 else 2 if size < 1 << 16 else 8
    short = {0: size, 2: 126, 8: 127}[width]
    head = bytes((first, short | (0x80 if mask is not None else 0)))
    head += size.to_bytes(width, "big") if width else b""
    if mask is None:
        return head + payload
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def events(*pieces: bytes) -> list[Event]:
    """Return wsproto's events for received bytes."""
    protocol = Connection(ConnectionType.SERVER)
    received: list[Event] = []
    for piece in pieces:
        protocol.receive_data(piece)
        received += protocol.events()
    return received


def is_whole_text(received: list[Event]) -> bool:
    """Return whether these events are one whole text message, and no more."""
    return len(received) == 1 and isinstance(received[0], TextMessage) and received[0].message_finished


@given(st.text(max_size=300), masks)
def test_each_text_in_one_frame_is_short(text: str, mask: bytes) -> None:
    """Read each text in one frame without the protocol library."""
    assert short_message(frame(text.encode(), mask=mask)) == text.encode()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_534 // 4, MAX_SHORT_MESSAGE_BYTES])
def test_a_message_up_to_the_limit_is_short(size: int) -> None:
    """Read a message up to the limit, as wsproto sees it."""
    data = frame(b"x" * size)
    assert short_message(data) == b"x" * size
    assert is_whole_text(events(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        frame(b"text")[:-1],
        frame(b"text") + b"x",
        frame(b"text") + frame(b"text"),
        frame(b"text", mask=None),
        frame(b"x" * (MAX_SHORT_MESSAGE_BYTES + 1)),
        frame(b"x" * 70_000),
        frame(b"text", 0x01),
        frame(b"text", 0x80),
        frame(b"text", 0x82),
        frame(b"text", 0x88),
        frame(b"text", 0x89),
        frame(b"text", 0x8A),
        frame(b"text", 0xC1),
        frame(b"text", 0xA1),
        frame(b"text", 0x83),
        frame(b"text", width=2),
        frame(b"text", width=8),
        frame(b"x" * 300, width=8),
        frame(b"\xff"),
        frame("é".encode()[:1]),
        frame(b"\xed\xa0\x80"),
    ],
)
def test_anything_unusual_is_left_to_wsproto(data: bytes) -> None:
    """Leave anything unusual to wsproto: fragments, control frames, other widths, bad text."""
    assert short_message(data) is None


@given(st.binary(max_size=40), st.text(max_size=200), st.integers(0, 12), st.integers(0, 12), masks)
def test_what_is_short_is_one_message_to_wsproto_and_leaves_nothing(
    junk: bytes, text: str, start: int, length: int, mask: bytes
) -> None:
    """Read as short only what wsproto sees as one whole message with nothing left over."""
    data = frame(text.encode(), mask=mask)
    for mixed in (junk, data[:start] + junk + data[start + length :], data[:start] + data[start + length :]):
        message = short_message(mixed)
        if message is not None:
            first, second = events(mixed, MARK)
            assert isinstance(first, TextMessage) and first.message_finished
            assert first.data.encode() == message
            assert isinstance(second, TextMessage) and second.data == "next"


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Return well-formed frames: messages in one or more frames, with control frames anywhere."""
    frames: list[bytes] = []
    for text in draw(st.lists(st.text(max_size=200), max_size=6)):
        pieces = [text, *draw(st.lists(st.text(max_size=5), max_size=3))]
        for index, piece in enumerate(pieces):
            first = (0 if index else 1) | (0x80 if index == len(pieces) - 1 else 0)
            frames.append(frame(piece.encode(), first, draw(masks)))
            if draw(st.booleans()):
                frames.append(frame(b"ping", draw(st.sampled_from((0x89, 0x8A))), draw(masks)))
    return frames


@given(conversations(), st.lists(st.integers(0, 1500), max_size=20))
def test_the_boundaries_of_messages_are_those_that_wsproto_sees(frames: list[bytes], cuts: list[int]) -> None:
    """Find the boundaries of messages where wsproto finds them, however the bytes are cut."""
    data, ends, total, is_open = b"".join(frames), {0}, 0, False
    for frame in frames:
        total += len(frame)
        if not frame[0] & 0x08:
            is_open = not frame[0] & 0x80
        if not is_open:
            ends.add(total)
    boundary, start = FrameBoundary(), 0
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        boundary.follow(data[start:cut])
        assert boundary.is_at_message == (cut in ends)
        start = cut
        if boundary.is_at_message:
            wsproto_events = [
                event for event in events(data[:cut], MARK) if isinstance(event, Message | CloseConnection)
            ]
            assert isinstance(wsproto_events[-1], TextMessage) and wsproto_events[-1].data == "next"


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Raise for no bytes."""
    boundary = FrameBoundary()
    for piece in pieces:
        boundary.follow(piece)
        short_message(piece)


async def ticks(node: object, count: int) -> AsyncGenerator[Any, None]:
    """Yield `count` messages at once."""

    async def all_of_them() -> AsyncGenerator[Any, None]:
        for number in range(count):
            yield number
        await trio.sleep_forever()

    return all_of_them()


async def slow(node: object, text: str) -> str:
    """Return the text after other tasks had their turn."""
    await trio.lowlevel.checkpoint()
    return text


ROWS = (
    *METHODS,
    Method("echo", lambda node, text: text, params=(Param("text", TEXT),)),
    Method("slow", slow, params=(Param("text", TEXT),)),
    Method("large", lambda node, size: "é" * size, params=(Param("size", U32),)),
    Method("fails", lambda node: 1 // 0),
    Subscription(
        "tick_subscribe", ticks, notification="tick", unsubscribe="tick_end", params=(Param("n", U32),)
    ),
)


def call(method: str, *params: Any, identity: Any = 1) -> bytes:
    """Return the text of a call."""
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


CASES = {
    "a call": [frame(call("echo", "x"))],
    "calls": [frame(call("echo", f"{number}", identity=number)) for number in range(5)],
    "other text than ASCII": [
        frame(call("echo", "é𝄞")), frame('{"jsonrpc":"2.0","id":"é","method":"echo"}'.encode()),
    ],
    "an unknown method": [frame(call("nothing"))],
    "wrong parameters": [frame(call("echo", 5)), frame(call("echo"))],
    "an exception": [frame(call("fails"))],
    "a notification": [frame(b'{"jsonrpc":"2.0","method":"echo","params":["x"]}'), frame(call("echo", "y"))],
    "a batch": [frame(b"[" + call("echo", "x") + b"," + call("echo", "y") + b"]")],
    "no JSON": [frame(b"{"), frame(b""), frame(call("echo", "z"))],
    "several in one read": [frame(call("echo", "x")) + frame(call("echo", "y")) + frame(call("slow", "z"))],
    "a slow call, then a quick one": [frame(call("slow", "x")) + frame(call("echo", "y"))],
    "fragments": [
        frame(call("echo", "x")[:9], 0x01), frame(call("echo", "x")[9:], 0x80), frame(call("echo", "y")),
    ],
    "a ping within a message": [
        frame(call("echo", "x")[:9], 0x01), frame(b"p", 0x89), frame(call("echo", "x")[9:], 0x80),
    ],
    "a text frame within a message": [frame(call("echo", "x")[:9], 0x01), frame(call("echo", "y"))],
    "a cut head": [frame(call("echo", "x"))[:1], frame(call("echo", "x"))[1:], frame(call("echo", "y"))],
    "a cut payload": [frame(call("echo", "x"))[:20], frame(call("echo", "x"))[20:], frame(call("echo", "y"))],
    "bytes": [frame(call("echo", "x"), 0x82), frame(call("echo", "y"))],
    "no UTF-8": [frame(call("echo", "x").replace(b'"x"', b'"\xff"'))],
    "no mask": [frame(call("echo", "x"), mask=None)],
    "a reserved bit": [frame(call("echo", "x"), 0xC1)],
    "a length of too many bytes": [frame(call("echo", "x"), width=8)],
    "a close, then a call": [frame(b"\x03\xe8", 0x88) + frame(call("echo", "x"))],
    "large answers": [frame(call("large", 9_000)), frame(call("large", 40_000)), frame(call("large", 10))],
}  # fmt: skip


async def exchange(port: int, pieces: list[bytes], *, is_slow: bool) -> bytes:
    """Return all bytes that the server sends, up to its end or its last answer; a ping is left out."""
    async with WebSocket(port) as ws:
        for piece in pieces:
            await ws.stream.send_all(piece)
            if is_slow:
                await trio.testing.wait_all_tasks_blocked(0.001)
        last = call("echo", "the last", identity="last")
        received = b""
        with trio.move_on_after(LIMIT_S) as scope:
            try:
                await trio.testing.wait_all_tasks_blocked(0.01)
                await ws.stream.send_all(frame(last))
                while b'"id":"last"' not in received:
                    if not (data := await ws.stream.receive_some(65536)):
                        break
                    received += data
            except trio.BrokenResourceError:
                received += b"reset"
        assert not scope.cancelled_caught
        return (ws._buffer + received).replace(b"\x89\0", b"")


@pytest.mark.parametrize("is_slow", [True, False], ids=["one by one", "at once"])
@pytest.mark.parametrize("name", CASES)
async def test_the_bytes_are_those_that_wsproto_and_the_session_give(
    name: str, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send the bytes that wsproto and the session would send, for each kind of conversation."""
    short: list[bytes] = []

    def recorded(data: bytes) -> bytes | None:
        if (message := short_message(data)) is not None:
            short.append(message)
        return message

    async with served(ROWS) as port:
        monkeypatch.setattr(connection_module, "short_message", recorded)
        ours = await exchange(port, CASES[name], is_slow=is_slow)
        assert short or b'"id":"last"' not in ours
        monkeypatch.setattr(connection_module, "short_message", lambda data: None)
        theirs = await exchange(port, CASES[name], is_slow=is_slow)
    if any(word in name for word in ("slow", "several", "ping")):  # in either order, but each once
        ours, theirs = bytes(sorted(ours)), bytes(sorted(theirs))
    assert ours == theirs


async def test_frames_of_answers_and_messages_never_mix() -> None:
    """A client reads late: the kernel takes only a part of an answer, while a stream has messages to send."""
    async with served(ROWS, message_buffer=2_000) as port, WebSocket(port) as ws:
        assert "result" in await ws.call("tick_subscribe", 1_000)
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                for number in range(40):
                    await ws.stream.send_all(frame(call("large", 100_000 + number, identity=f"n{number}")))
                    await trio.testing.wait_all_tasks_blocked(0.001)

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked(0.05)
            sizes, numbers = [], [notification["params"]["result"] for notification in ws._notifications]
            while len(sizes) < 40 or len(numbers) < 1_000:
                message = await ws.message()
                if "id" in message:
                    sizes.append(len(message["result"]))
                else:
                    numbers.append(message["params"]["result"])
        assert sizes == [100_000 + number for number in range(40)]
        assert numbers == list(range(1_000))


async def test_the_id_of_a_subscription_comes_before_its_messages_and_calls_go_on() -> None:
    """Send a subscription's id before its messages, and answer calls between them."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        for _ in range(20):
            await ws.stream.send_all(frame(call("tick_subscribe", 3)))
            identity = (await ws.message())["result"]
            await ws.stream.send_all(frame(call("echo", "x", identity=2)))
            messages = [await ws.message() for _ in range(4)]
            assert sorted(message["params"]["result"] for message in messages if "params" in message) == [
                0,
                1,
                2,
            ]
            assert {message["params"]["subscription"] for message in messages if "params" in message} == {
                identity
            }
            assert (await ws.call("tick_end", identity))["result"] is True
