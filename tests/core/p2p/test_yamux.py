"""Streams over one connection: two sessions against each other, and hostile frames."""

from __future__ import annotations

import contextlib
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.p2p.errors import FloodError, LocalError, RemoteError
from cfnode.core.p2p.yamux import (
    INITIAL_WINDOW,
    DataReceived,
    Event,
    GoneAway,
    Pong,
    StreamEnded,
    StreamOpened,
    StreamReset,
    WindowGrown,
    YamuxSession,
)
from cfnode.core.p2p.yamux.budget import (
    BYTES_PER_FRAME,
    CREDIT_PER_SECOND,
    FRAMES_PER_TURN,
    MAX_FRAME_CREDIT,
    STREAM_OPENING_FRAMES,
)
from cfnode.core.p2p.yamux.frames import (
    ACK,
    DATA,
    FIN,
    FRAME_HEADER,
    MAX_FRAME_BODY_BYTES,
    PING,
    RST,
    SYN,
    WINDOW,
)
from cfnode.core.p2p.yamux.session import EXTRA_WINDOWS, MAX_INBOUND, MAX_UNREAD_REPLIES


def frame(kind: int, flags: int, stream: int, value: int, body: bytes = b"") -> bytes:
    """Return one frame's bytes."""
    return FRAME_HEADER.pack(0, kind, flags, stream, value) + body


def carry(source: YamuxSession, sink: YamuxSession) -> list[Event]:
    """Carry all frames of one session to the other and return the events there."""
    return sink.receive_data(b"".join(source.frames_to_send()))


def opened(window: int = INITIAL_WINDOW) -> tuple[YamuxSession, YamuxSession, int]:
    """Return a dialer and a listener with one stream of the dialer open between them."""
    dialer, listener = YamuxSession(dialer=True), YamuxSession(dialer=False)
    stream = dialer.open(window)
    assert carry(dialer, listener)[0] == StreamOpened(stream)
    carry(listener, dialer)
    return dialer, listener, stream


def test_a_stream_is_opened_by_the_bytes_of_the_specification() -> None:
    """Open streams with the frames of the specification.

    Odd ids for the dialer, even ones for the listener.
    """
    dialer = YamuxSession(dialer=True)
    assert dialer.open() == 1
    assert dialer.open(window=INITIAL_WINDOW + 0x10000) == 3
    first, second = dialer.frames_to_send()
    assert first.hex() == "000100010000000100000000"
    assert second.hex() == "000100010000000300010000"
    listener = YamuxSession(dialer=False)
    assert listener.receive_data(first) == [StreamOpened(1)]
    assert listener.frames_to_send() == [bytes.fromhex("000100020000000100000000")]
    assert listener.open() == 2


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.binary(min_size=1, max_size=400)), max_size=12),
    st.integers(1, 900),
)
def test_each_stream_gets_its_own_bytes_in_order(writes: list[tuple[int, bytes]], size: int) -> None:
    """Deliver each stream its own bytes in order, and its end last."""
    dialer, listener = YamuxSession(dialer=True), YamuxSession(dialer=False)
    streams = [dialer.open() for _ in range(4)]
    sent, got = defaultdict(bytes), defaultdict(bytes)
    for index, data in writes:
        assert dialer.send(streams[index], data) == len(data)
        sent[streams[index]] += data
    for stream in streams:
        dialer.finish(stream)
    wire, ended = b"".join(dialer.frames_to_send()), []
    for start in range(0, len(wire), size):
        for event in listener.receive_data(wire[start : start + size]):
            match event:
                case DataReceived(stream, data):
                    got[stream] += data
                case StreamEnded(stream):
                    ended.append(stream)
    assert got == sent
    assert ended == streams


def test_no_more_is_sent_than_the_window_has_room_for() -> None:
    """Send no more than the peer's window has room for, and go on when it grows."""
    dialer, listener, stream = opened()
    data, sent = bytes(INITIAL_WINDOW + 1), 0
    while size := dialer.send(stream, data[sent:]):
        assert size <= MAX_FRAME_BODY_BYTES
        sent += size
    assert sent == INITIAL_WINDOW
    received = carry(dialer, listener)
    assert sum(len(event.data) for event in received if isinstance(event, DataReceived)) == INITIAL_WINDOW
    listener.consumed(stream, 1000)
    assert listener.frames_to_send() == []
    listener.consumed(stream, INITIAL_WINDOW // 2)
    assert carry(listener, dialer) == [WindowGrown(stream)]
    assert dialer.sendable(stream) == INITIAL_WINDOW // 2 + 1000


def test_a_byte_beyond_the_window_ends_the_connection_before_the_body_comes() -> None:
    """End the connection at the header of data beyond the window, before its body is stored."""
    _, listener, stream = opened()
    with pytest.raises(RemoteError, match="its window has room for 262144"):
        listener.receive_data(frame(DATA, 0, stream, INITIAL_WINDOW + 1))


def test_large_windows_come_from_one_budget_and_return_to_it() -> None:
    """Take large windows from one budget a connection, and return them when a stream is released."""
    dialer = YamuxSession(dialer=True)
    first, second, third = (dialer.open(INITIAL_WINDOW + (20 << 20)) for _ in range(3))
    extras = [FRAME_HEADER.unpack(data)[4] for data in dialer.frames_to_send()]
    assert extras == [20 << 20, 12 << 20, 0]
    for stream in (first, second, third):
        dialer.release(stream)
    dialer.open(INITIAL_WINDOW + EXTRA_WINDOWS)
    assert FRAME_HEADER.unpack(dialer.frames_to_send()[-1])[4] == EXTRA_WINDOWS


def test_streams_beyond_the_limit_are_reset_until_ours_are_released() -> None:
    """Reset streams over the limit until we release one: a reset by the peer alone makes no room."""
    listener = YamuxSession(dialer=False)
    flood = b"".join(frame(WINDOW, SYN, 2 * n + 1, 0) for n in range(MAX_INBOUND + 3))
    assert len(listener.receive_data(flood)) == MAX_INBOUND
    flags = [FRAME_HEADER.unpack(data)[2] for data in listener.frames_to_send()]
    assert flags == [ACK] * MAX_INBOUND + [RST] * 3
    listener.receive_data(frame(WINDOW, RST, 1, 0))  # a reset by the peer frees no place yet
    assert listener.receive_data(frame(WINDOW, SYN, 1001, 0)) == []
    listener.release(1)
    assert listener.receive_data(frame(WINDOW, SYN, 1003, 0)) == [StreamOpened(1003)]


def test_data_of_a_stream_that_we_have_left_is_passed_over() -> None:
    """Discard data of a stream that we have left, and read on behind it."""
    dialer, listener, stream = opened()
    listener.release(stream)
    body = frame(DATA, 0, stream, 5, b"hello")
    assert listener.receive_data(body[:14]) == []
    assert listener.receive_data(body[14:] + frame(PING, ACK, 0, 7)) == [Pong(7)]
    assert carry(listener, dialer) == [StreamReset(stream)]


def test_leaving_in_the_middle_of_a_body_drops_its_rest() -> None:
    """Discard the rest of a body when its stream is left in the middle."""
    _, listener, stream = opened()
    body = frame(DATA, FIN, stream, 5, b"hello")
    assert listener.receive_data(body[:14]) == [DataReceived(stream, b"he")]
    listener.release(stream)
    assert listener.receive_data(body[14:]) == []


def test_a_stream_that_ended_both_ways_is_released_without_a_reset() -> None:
    """Release a stream that ended both ways without a reset."""
    dialer, listener, stream = opened()
    dialer.finish(stream)
    assert carry(dialer, listener) == [StreamEnded(stream)]
    listener.finish(stream)
    assert carry(listener, dialer) == [StreamEnded(stream)]
    dialer.release(stream)
    listener.release(stream)
    assert dialer.frames_to_send() == listener.frames_to_send() == []


@pytest.mark.parametrize("kind", [DATA, WINDOW])
def test_an_empty_second_end_of_a_stream_is_ignored(kind: int) -> None:
    """Ignore an empty second end of a stream, but refuse data after the end."""
    _, listener, stream = opened()
    assert listener.receive_data(frame(kind, FIN, stream, 0)) == [StreamEnded(stream)]
    assert listener.receive_data(frame(kind, FIN, stream, 0) * 2) == []
    with pytest.raises(RemoteError, match="after its end"):
        listener.receive_data(frame(DATA, 0, stream, 1, b"x"))


def test_pings_are_answered_and_a_peer_that_does_not_read_the_answers_is_dropped() -> None:
    """Answer pings, and drop a peer that lets the answers pile up unread."""
    session = YamuxSession(dialer=False)
    assert session.receive_data(frame(PING, SYN, 0, 0xDEADBEEF)) == []
    assert session.frames_to_send() == [bytes.fromhex("0002000200000000deadbeef")]
    with pytest.raises(RemoteError, match="does not read"):
        session.receive_data(frame(PING, SYN, 0, 1) * (MAX_UNREAD_REPLIES + 1))


FLOODS = {
    "pings": frame(PING, SYN, 0, 1),
    "pongs without a ping": frame(PING, ACK, 0, 1),
    "windows of a byte": frame(WINDOW, 0, 1, 1),
    "empty data": frame(DATA, 0, 1, 0),
    "frames of a stream that is gone": frame(WINDOW, ACK, 9, 0),
    "data of a stream that is gone": frame(DATA, 0, 9, 1, b"x"),
    "data, byte by byte": frame(DATA, 0, 1, 1, b"x"),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_frames_that_carry_nothing_use_the_credit_up(flood: bytes) -> None:
    """End a connection that floods frames without content, of whichever kind."""
    _, listener, _ = opened()
    with pytest.raises(FloodError, match="carry nothing"):
        for _ in range(round(MAX_FRAME_CREDIT * 1.1)):
            listener.receive_data(flood)
            listener.frames_to_send()


def test_streams_that_are_opened_and_reset_at_once_use_the_credit_up() -> None:
    """Charge streams that are opened and reset at once, until the credit is used up."""
    listener = YamuxSession(dialer=False)
    pairs = 0
    with pytest.raises(FloodError, match="carry nothing"):
        while True:
            number = 2 * pairs + 1
            listener.receive_data(frame(WINDOW, SYN, number, 0) + frame(WINDOW, RST, number, 0))
            listener.release(number)
            pairs += 1
    assert pairs == MAX_FRAME_CREDIT // (2 + STREAM_OPENING_FRAMES)


def test_requests_that_are_answered_cost_no_credit() -> None:
    """Charge nothing for requests that are answered."""
    dialer, listener = YamuxSession(dialer=True), YamuxSession(dialer=False)
    for _ in range(5_000):
        stream = dialer.open()
        dialer.send(stream, bytes(130))
        dialer.finish(stream)
        carry(dialer, listener)
        listener.send(stream, bytes(100))
        listener.finish(stream)
        carry(listener, dialer)
        dialer.release(stream)
        listener.release(stream)
    assert listener.budget.credit > MAX_FRAME_CREDIT - 20


def test_bytes_and_time_give_credit_again() -> None:
    """Earn credit by bytes and by time, up to its maximum."""
    _, listener, stream = opened()
    listener.receive_data(frame(PING, ACK, 0, 1) * 2_000)
    before = listener.budget.credit
    listener.receive_data(frame(DATA, 0, stream, 100 * BYTES_PER_FRAME, bytes(100 * BYTES_PER_FRAME)))
    assert listener.budget.credit == before - 1 + 100
    listener.budget.earn_time(1.5)
    assert listener.budget.credit == before - 1 + 100 + 1.5 * CREDIT_PER_SECOND
    listener.budget.earn_time(3_600)
    assert listener.budget.credit == MAX_FRAME_CREDIT


def test_many_frames_are_taken_in_slices() -> None:
    """Handle many frames in slices, so that one peer does not hold the node's loop."""
    listener = YamuxSession(dialer=False)
    opening = b"".join(frame(WINDOW, SYN, 2 * number + 1, 0) for number in range(100))
    slices = list(listener.turns(opening + frame(DATA, 0, 1, 1, b"x") * 500))
    assert max(map(len, slices)) <= FRAMES_PER_TURN
    assert sum(map(len, slices)) == 600
    assert len(slices) >= (100 * (1 + STREAM_OPENING_FRAMES) + 500) // (
        FRAMES_PER_TURN + STREAM_OPENING_FRAMES
    )


def test_after_a_farewell_no_stream_is_opened() -> None:
    """Open no stream and accept none after a farewell."""
    dialer, listener, _ = opened()
    listener.go_away(1)
    assert carry(listener, dialer) == [GoneAway(1)]
    with pytest.raises(LocalError, match="closing"):
        dialer.open()
    assert listener.receive_data(frame(WINDOW, SYN, 9, 0)) == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x01" + bytes(11), "version 1"),
        (frame(4, 0, 0, 0), "type 4"),
        (frame(DATA, 0x10, 1, 0), "flags 16"),
        (frame(DATA, SYN, 0, 0), "may not open"),
        (frame(DATA, SYN, 2, 0), "may not open"),
        (frame(DATA, SYN, 1, 0), "opened twice"),
        (frame(DATA, 0, 4, 0), "never opened"),
        (frame(DATA, FIN, 1, 1, b"x") + frame(DATA, FIN, 1, 1, b"x"), "after its end"),
        (frame(DATA, FIN, 1, 0) + frame(DATA, 0, 1, 1, b"x"), "after its end"),
        (frame(WINDOW, 0, 1, 0xFFFFFFFF), r"beyond 2\^32"),
    ],
)
def test_a_frame_against_the_rules_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """Refuse a frame against the rules and say which rule."""
    _, listener, _ = opened()
    with pytest.raises(RemoteError, match=reason):
        listener.receive_data(data)


hostile = st.builds(
    frame,
    st.integers(0, 4),
    st.sampled_from([0, SYN, ACK, FIN, RST, SYN | FIN, SYN | RST, ACK | FIN, 16]),
    st.integers(0, 6),
    st.sampled_from([0, 1, 5, INITIAL_WINDOW, 2**32 - 1]),
    st.binary(max_size=6),
)


@given(st.lists(hostile, max_size=12), st.integers(1, 50))
def test_no_frames_make_a_session_fail_otherwise_than_by_a_remote_error(
    frames: list[bytes], size: int
) -> None:
    """Answer any sequence of frames with nothing worse than a RemoteError."""
    _, listener, _ = opened()
    wire = b"".join(frames)
    with contextlib.suppress(RemoteError):
        for start in range(0, len(wire), size):
            for event in listener.receive_data(wire[start : start + size]):
                if isinstance(event, DataReceived):
                    listener.consumed(event.stream, len(event.data))
                elif isinstance(event, StreamReset | StreamEnded):
                    listener.release(event.stream)
