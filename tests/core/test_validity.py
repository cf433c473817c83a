"""The runtime's answers about transactions, byte by byte."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.scale import ScaleError, encode_compact
from cfnode.core.validity import INVALID, Invalid, UnknownValidity, ValidTransaction, decode_validity

tags = st.lists(st.binary(max_size=70), max_size=4)


def encode_tags(given_tags: list[bytes]) -> bytes:
    """Encode a list of tags."""
    return encode_compact(len(given_tags)) + b"".join(encode_compact(len(tag)) + tag for tag in given_tags)


@given(st.integers(0, 2**64 - 1), tags, tags, st.integers(0, 2**64 - 1), st.booleans())
def test_a_valid_answer_is_read_whole(
    priority: int, requires: list[bytes], provides: list[bytes], longevity: int, propagate: bool
) -> None:
    """Read every field of a valid answer, and refuse a byte more or less."""
    data = b"\0" + priority.to_bytes(8, "little") + encode_tags(requires) + encode_tags(provides)
    data += longevity.to_bytes(8, "little") + bytes([propagate])
    assert decode_validity(data) == ValidTransaction(
        priority, tuple(requires), tuple(provides), longevity, propagate
    )
    with pytest.raises(ScaleError):
        decode_validity(data + b"\0")
    with pytest.raises(ScaleError):
        decode_validity(data[:-1])


def test_each_reason_has_its_substrate_name() -> None:
    """Give each reason the name that Substrate has for it, with the number of a custom one."""
    plain = [decode_validity(bytes([1, 0, index])) for index in range(13) if index != 7]
    assert [str(answer) for answer in plain] == [name for name in INVALID if name != "Custom"]
    assert decode_validity(b"\1\0\1") == Invalid("Payment")
    assert decode_validity(b"\1\0\7\x2a") == Invalid("Custom", 42)
    assert str(Invalid("Custom", 42)) == "Custom(42)"
    assert decode_validity(b"\1\1\0") == UnknownValidity("CannotLookup")
    assert decode_validity(b"\1\1\2\5") == UnknownValidity("Custom", 5)


@given(st.binary(max_size=40))
def test_no_bytes_raise_anything_but_a_scale_error(data: bytes) -> None:
    """Answer any bytes with a validity or a ScaleError."""
    with contextlib.suppress(ScaleError):
        decode_validity(data)
