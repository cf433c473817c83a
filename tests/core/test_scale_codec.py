"""The codec's rules: what values look like, what it refuses, and how it says so."""

from __future__ import annotations

import pytest

from cfnode.core.scale import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Field,
    Primitive,
    ScaleError,
    Sequence,
    Tuple,
    Variant,
    Variants,
)
from tests.core.scale_tables import codec_of, fields

U8, U32, U64, STR, BOOL, CHAR = (Primitive(name) for name in ("u8", "u32", "u64", "str", "bool", "char"))


# What values look like


@pytest.mark.parametrize(
    ("definitions", "value", "encoded"),
    [
        ([U8], 255, "ff"),
        ([Primitive("i16")], -2, "feff"),
        ([Primitive("i256")], -1, "ff" * 32),
        ([Primitive("u256")], 1, "01" + "00" * 31),
        ([BOOL], True, "01"),
        ([CHAR], "é", "e9000000"),
        ([STR], "é", "08c3a9"),
        ([U8, Sequence(0)], b"ab", "086162"),
        ([U8, Array(2, 0)], b"ab", "6162"),
        ([U32, Sequence(0)], [1, 2], "080100000002000000"),
        ([U32, Array(2, 0)], [1, 2], "0100000002000000"),
        ([Tuple(())], (), ""),
        ([Composite(())], (), ""),
        ([U8, BOOL, Tuple((0, 1))], (7, False), "0700"),
        ([U8, Composite((Field(None, 0),))], 7, "07"),
        ([U8, Composite(fields(a=0))], {"a": 7}, "07"),
        ([U8, BOOL, Composite((Field(None, 0), Field(None, 1)))], (7, True), "0701"),
        (
            [U64, Array(4, 0), (Composite((Field(None, 1),)), "primitive_types::U256")],
            2**255,
            "00" * 31 + "80",
        ),
        ([U32, Compact(0)], 64, "0101"),
        ([U32, Composite(fields(parts=0)), Compact(1)], 64, "0101"),
        ([Tuple(()), Compact(0)], (), ""),
        ([Variants((Variant("A", (), 9),))], "A", "09"),
        ([U8, Variants((Variant("A", (Field(None, 0),), 9),))], ("A", 7), "0907"),
        ([U8, Variants((Variant("A", fields(x=0, y=0), 9),))], ("A", {"x": 1, "y": 2}), "090102"),
        ([U8, Variants((Variant("A", (Field(None, 0),) * 2, 9),))], ("A", (1, 2)), "090102"),
        ([U8, (Composite(()), "o::Lsb0"), BitSequence(0, 1)], [True, False, True], "0c05"),
        ([U8, (Composite(()), "o::Msb0"), BitSequence(0, 1)], [True, False, True], "0ca0"),
        ([Primitive("u16"), (Composite(()), "o::Lsb0"), BitSequence(0, 1)], [False] * 9 + [True], "280002"),
        ([Primitive("u16"), (Composite(()), "o::Msb0"), BitSequence(0, 1)], [True] + [False] * 9, "280080"),
    ],
)
def test_a_value_and_its_bytes(definitions, value, encoded):
    """Encode a value of each type in its known bytes and decode it again."""
    codec = codec_of(*definitions)
    assert codec.encode(value).hex() == encoded
    assert codec.decode(bytes.fromhex(encoded)) == value


def test_a_variant_that_is_named_like_an_options_is_none_the_less_its_own():
    """Decode an enum with a variant Some as an enum, unless it is the type Option."""
    codec = codec_of(U8, (Variants((Variant("Max", (), 0), Variant("Some", (Field(None, 0),), 1))), "Amount"))
    assert codec.decode(b"\x01\x05") == ("Some", 5)
    assert codec.decode(b"\x00") == "Max"


def test_lists_and_tuples_and_any_bytes_are_taken():
    """Accept lists for tuples and any bytes-like value, in both directions."""
    pairs = codec_of(U8, Tuple((0, 0)), Sequence(1))
    assert pairs.encode([[1, 2]]) == pairs.encode(((1, 2),)) == pairs.encode([(1, 2)]) == b"\x04\x01\x02"
    octets = codec_of(U8, Sequence(0))
    assert (
        octets.encode(bytearray(b"a")) == octets.encode(memoryview(b"a")) == octets.encode(b"a") == b"\x04a"
    )
    assert octets.decode(bytearray(b"\x04a")) == octets.decode(memoryview(b"\x04a")) == b"a"


def test_decode_from_goes_on_where_the_last_value_ended():
    """Decode a value at an offset and return where it ends, and refuse a negative offset."""
    codec = codec_of(U32)
    assert codec.decode_from(b"\xff\x01\0\0\0\xff", 1) == (1, 5)
    with pytest.raises(ScaleError, match="before the input"):
        codec.decode_from(b"\0\0\0\0", -4)


# What is refused, and in which words

SWAP = (
    U32,
    Sequence(0),
    (Composite(fields(fees=1)), "State"),
    (Composite(fields(id=0, state=2)), "pallet_cf_swapping::SwapRequest"),
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"id": 1, "state": {"fees": [1, 2, -1]}}, "SwapRequest.state.fees[2]: -1 does not fit in u32"),
        ({"id": 1, "state": {"fees": [1, "x"]}}, "SwapRequest.state.fees[1]: u32 takes an int, not 'x'"),
        ({"id": 1, "state": {"fees": 5}}, "SwapRequest.state.fees: expected a list, not 5"),
        ({"id": 1, "state": {}}, "SwapRequest.state: the field 'fees' is missing"),
        ({"id": 1, "state": {"fees": [], "fee": 1}}, "SwapRequest.state: there is no field 'fee'"),
        ({"id": True, "state": {"fees": []}}, "SwapRequest.id: u32 takes an int, not True"),
        ({"id": 2**40, "state": {"fees": []}}, "SwapRequest.id: 1099511627776 does not fit in u32"),
        (
            {"id": 1 << 40000, "state": {"fees": []}},
            "SwapRequest.id: an int of 40001 bits does not fit in u32",
        ),
        ([1, 2], "SwapRequest: expected a dict of fields, not list of length 2"),
    ],
)
def test_the_error_for_a_wrong_value_has_its_path(value, words):
    """Name the path to a wrong value: a call has hundreds of fields."""
    with pytest.raises(ScaleError) as caught:
        codec_of(*SWAP).encode(value)
    assert str(caught.value) == words


def test_the_error_for_malformed_bytes_has_their_path():
    """Name the path to malformed bytes, and the offset."""
    codec = codec_of(*SWAP)
    with pytest.raises(ScaleError) as caught:
        codec.decode(codec.encode({"id": 1, "state": {"fees": [1]}})[:-1])
    assert caught.value.path == "SwapRequest.state.fees"
    assert str(caught.value).endswith("expected 4 bytes at offset 5, 3 left")


@pytest.mark.parametrize(
    ("definitions", "value"),
    [
        ([BOOL], 1),
        ([CHAR], "ab"),
        ([CHAR], "\ud800"),
        ([STR], b"a"),
        ([STR], "\ud800"),
        ([U8, Sequence(0)], "ab"),
        ([U8, Sequence(0)], [1, 2]),
        ([U8, Array(2, 0)], b"abc"),
        ([U32, Array(2, 0)], [1]),
        ([U8, Tuple((0, 0))], [1]),
        ([U32, Compact(0)], 2**32),
        ([U32, Compact(0)], -1),
        ([Variants((Variant("A", (), 0),))], "B"),
        ([Variants((Variant("A", (), 0),))], ("A", ())),
        ([U8, Variants((Variant("A", (Field(None, 0),), 0),))], "A"),
        ([U8, Variants((Variant("A", (Field(None, 0),), 0),))], 0),
        ([U8, (Composite(()), "Lsb0"), BitSequence(0, 1)], [1, 0]),
    ],
)
def test_a_value_of_another_shape_is_refused(definitions, value):
    """Refuse a value of another shape than the type's."""
    with pytest.raises(ScaleError):
        codec_of(*definitions).encode(value)


@pytest.mark.parametrize(
    ("definitions", "encoded", "words"),
    [
        ([BOOL], "02", "a bool is 0 or 1"),
        ([CHAR], "00d80000", "not a Unicode character"),
        ([CHAR], "00001100", "not a Unicode character"),
        ([STR], "04ff", "not UTF-8"),
        ([U8, Compact(0)], "0104", "does not fit in u8"),
        ([U8, Compact(0)], "01", "ends too early"),
        ([Variants(())], "00", "no variant 0"),
        (
            [U8, (Variants((Variant("None", (), 0), Variant("Some", (Field(None, 0),), 1))), "Option")],
            "02",
            "0 or 1",
        ),
        ([U8, (Composite(()), "Lsb0"), BitSequence(0, 1)], "2400", "ends too early"),
        ([U8], "0000", "1 bytes follow the value"),
        ([U8, Sequence(0)], "0301000000", "shortest form"),
        ([U8, Sequence(0)], "0700000000" + "01", "does not fit in 32 bits"),
    ],
)
def test_bytes_that_are_no_value_are_refused(definitions, encoded, words):
    """Refuse bytes that no value of the type encodes to, and say why."""
    with pytest.raises(ScaleError, match=words):
        codec_of(*definitions).decode(bytes.fromhex(encoded))
