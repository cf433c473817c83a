"""Protobuf messages and length-prefixed frames."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.protobuf import (
    Frames,
    Message,
    bytes_field,
    decode_varint,
    encode_varint,
    framed,
    uint_field,
)

BERGHAIN = bytes.fromhex("8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9")
fields = st.lists(
    st.tuples(st.integers(1, 2**29 - 1), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=40)))
)


def encode(items: list[tuple[int, int | bytes]]) -> bytes:
    """Encode fields: numbers as varints, bytes with their length."""
    return b"".join(bytes_field(n, v) if isinstance(v, bytes) else uint_field(n, v) for n, v in items)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=8))
def test_a_varint_is_read_as_it_was_written(number: int, before: bytes) -> None:
    """Read back a varint at any offset."""
    data = before + encode_varint(number)
    assert decode_varint(data, len(before)) == (number, len(data))


def test_a_varint_beyond_64_bits_or_without_an_end_is_refused() -> None:
    """Refuse a varint beyond 64 bits or without an end, and to write a negative one."""
    for data in (b"", b"\x80", b"\x80" * 10, b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x01"):
        with pytest.raises(RemoteError, match="varint"):
            decode_varint(data)
    with pytest.raises(ValueError, match="does not fit"):
        encode_varint(-1)


@given(fields)
def test_a_message_is_read_as_it_was_written(items: list[tuple[int, int | bytes]]) -> None:
    """Read back a message of any fields in their order."""
    assert Message.decode(encode(items)).fields == tuple(items)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_otherwise_than_by_a_remote_error(data: bytes) -> None:
    """Answer any bytes with a message or a RemoteError."""
    with contextlib.suppress(RemoteError):
        Message.decode(data)


def test_the_block_request_of_a_light_client_is_read_field_by_field() -> None:
    """Read a light client's block request field by field, and absent fields as 0 or None."""
    request = Message.decode(bytes.fromhex("0880808098011220") + BERGHAIN + bytes.fromhex("30403801"))
    assert request.uint(1) == 0x13000000
    assert request.data(2) == BERGHAIN
    assert request.uint(6) == 64
    assert request.uint(7) == 1
    assert request.uint(5) == 0
    assert request.data(3) is None


def test_the_last_of_a_repeated_field_counts_and_all_are_kept() -> None:
    """Take the last of a repeated field, as protobuf demands, and give all on request."""
    message = Message.decode(
        uint_field(1, 5) + bytes_field(2, b"a") + bytes_field(2, b"b") + uint_field(1, 6)
    )
    assert message.uint(1) == 6
    assert message.data(2) == b"b"
    assert message.repeated(2) == [b"a", b"b"]


def test_fields_of_fixed_width_are_skipped_over() -> None:
    """Skip fields of fixed width, which no protocol of Substrate has."""
    message = Message.decode(bytes.fromhex("0d01020304110102030405060708") + uint_field(3, 9))
    assert message.uint(3) == 9


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x01", "field number 0"),
        (b"\x0b", "wire type 3"),
        (b"\x0a\x05abc", "2 bytes too early"),
        (uint_field(1, 1) * 5, "more than 4 fields"),
    ],
)
def test_a_malformed_message_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """Refuse a malformed message and say why."""
    with pytest.raises(RemoteError, match=reason):
        Message.decode(data, max_fields=4)


def test_a_field_of_the_wrong_kind_is_named() -> None:
    """Name the field that holds another kind of value than expected."""
    message = Message.decode(uint_field(1, 1) + bytes_field(2, b"x"))
    with pytest.raises(RemoteError, match="field 1 holds a number"):
        message.data(1)
    with pytest.raises(RemoteError, match="field 2 holds bytes"):
        message.uint(2)


@given(st.lists(st.binary(max_size=300), max_size=6), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_frames_come_whole_however_they_are_cut(messages: list[bytes], cuts: list[int]) -> None:
    """Read frames whole, however the stream is cut."""
    stream, frames, got = b"".join(framed(message) for message in messages), Frames(300), []
    index = 0
    while stream:
        size = cuts[index % len(cuts)]
        frames.feed(stream[:size])
        stream, index = stream[size:], index + 1
        while (message := frames.next()) is not None:
            got.append(message)
    assert got == messages
    assert not frames.partial


def test_a_frame_over_its_limit_is_refused_before_its_body_comes() -> None:
    """Refuse a frame over its limit as soon as its length is known, before memory is taken for it."""
    frames = Frames(10)
    frames.feed(b"\x0b")
    with pytest.raises(RemoteError, match="11 bytes, 10 are allowed"):
        frames.next()
    endless = Frames(10)
    endless.feed(b"\x80" * 5)
    with pytest.raises(RemoteError, match="more than 5 bytes"):
        endless.next()
