"""Compact numbers and the cursor: one form each, and never past the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.scale import ByteCursor, ScaleError, decode_compact, encode_compact

EDGES = [
    (0, "00"),
    (1, "04"),
    (63, "fc"),
    (64, "0101"),
    (16383, "fdff"),
    (16384, "02000100"),
    (2**30 - 1, "feffffff"),
    (2**30, "0300000040"),
    (2**32 - 1, "03ffffffff"),
    (2**64 - 1, "13ffffffffffffffff"),
    (2**128 - 1, "33" + "ff" * 16),
    (2**536 - 1, "ff" + "ff" * 67),
]

numbers = st.one_of(st.integers(0, 2**14 + 9), st.integers(0, 2**64), st.integers(0, 2**536 - 1))


@pytest.mark.parametrize(("number", "form"), EDGES)
def test_the_form_at_each_edge(number, form):
    """Encode the numbers at the edges of each compact form in their bytes."""
    assert encode_compact(number).hex() == form
    assert decode_compact(bytes.fromhex(form), 0) == (number, len(form) // 2)


@given(numbers, st.binary(max_size=3), st.binary(max_size=3))
def test_every_compact_is_decoded_at_any_offset(number, before, after):
    """Decode every compact number at any offset and return where it ends."""
    form = encode_compact(number)
    assert decode_compact(before + form + after, len(before)) == (number, len(before) + len(form))


@given(st.binary(max_size=70))
def test_what_decodes_is_the_only_form_of_its_number(data):
    """Decode only the one form that a number is encoded to: two forms would give two hashes."""
    try:
        number, end = decode_compact(data, 0)
    except ScaleError:
        return
    assert encode_compact(number) == data[:end]


@pytest.mark.parametrize(
    "form", ["0100", "fd00", "02000000", "feff0000", "0300000000", "03ffffff3f", "070000004000"]
)
def test_a_longer_form_than_needed_is_refused(form):
    """Refuse a longer form than the number needs."""
    with pytest.raises(ScaleError, match="shortest form"):
        decode_compact(bytes.fromhex(form), 0)


@pytest.mark.parametrize("form", ["", "01", "0200", "03ffff", "ff00"])
def test_a_form_that_is_cut_short_is_refused(form):
    """Refuse a form that is cut short."""
    with pytest.raises(ScaleError, match="ends too early"):
        decode_compact(bytes.fromhex(form), 0)


@pytest.mark.parametrize("number", [-1, 2**536, True, 1.5, "1", None])
def test_what_has_no_compact_form_is_refused(number):
    """Refuse what has no compact form: negative, too large or not an int."""
    with pytest.raises(ScaleError, match="compact"):
        encode_compact(number)


def test_a_cursor_reads_one_value_after_the_other():
    """Read one value after the other of each kind with a cursor."""
    cursor = ByteCursor(
        bytes.fromhex("010200030000000400000000000000" + "05" + "00" * 15 + "180c61626308c3a9")
    )
    assert (cursor.u8(), cursor.u16(), cursor.u32(), cursor.u64(), cursor.u128()) == (1, 2, 3, 4, 5)
    assert cursor.compact() == 6
    assert cursor.bytes() == b"abc"
    assert cursor.remaining == 3
    assert cursor.text() == "é"
    cursor.finish()


def test_a_cursor_refuses_trailing_bytes():
    """Refuse bytes behind the last value."""
    with pytest.raises(ScaleError, match="2 bytes follow"):
        ByteCursor(b"ab").finish()


def test_a_cursor_refuses_a_count_that_the_rest_cannot_hold():
    """Refuse a count of items that the remaining bytes cannot hold, before a list is allocated."""
    cursor = ByteCursor(encode_compact(10) + bytes(39))
    with pytest.raises(ScaleError, match="expected 40 bytes at offset 1, 39 left"):
        cursor.count(item_size=4)
    assert cursor.count(item_size=3) == 10


@given(
    st.binary(max_size=40),
    st.lists(st.sampled_from(["u8", "u128", "boolean", "compact", "count", "bytes", "text"])),
)
def test_no_input_makes_a_cursor_raise_another_error_or_run_past_the_end(data, steps):
    """Raise nothing but a ScaleError for any reads of any bytes, and never pass their end."""
    cursor = ByteCursor(data)
    try:
        for step in steps:
            getattr(cursor, step)()
    except ScaleError:
        pass
    assert 0 <= cursor.offset <= len(data)
