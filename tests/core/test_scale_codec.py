"""The codec's rules: what it refuses, how it says so, and how little a hostile input costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.scale import (
    Array,
    BitSequence,
    Codec,
    Compact,
    Composite,
    Definition,
    Field,
    PortableType,
    Primitive,
    Registry,
    ScaleError,
    Sequence,
    Tuple,
    Variant,
    Variants,
    encode_compact,
)
from cfnode.core.scale.compiler import MAX_DEPTH
from cfnode.core.scale.metadata import decode_metadata, encode_metadata
from cfnode.core.scale.shapes import MAX_EMPTY_ITEMS
from tests.core.scale_tables import hand_made, hand_made_metadata


def table(*definitions: Definition | tuple[Definition, str]) -> Registry:
    """A registry of types numbered in order; a pair gives a type a name."""
    rows = [pair if isinstance(pair, tuple) else (pair, "") for pair in definitions]
    return Registry(
        [PortableType(i, tuple(name.split("::")) if name else (), (), d) for i, (d, name) in enumerate(rows)]
    )


def codec_of(*definitions: Definition | tuple[Definition, str]) -> Codec:
    """The codec of the last of these types."""
    return table(*definitions).codec(len(definitions) - 1)


U8, U32, U64, STR, BOOL, CHAR = (Primitive(name) for name in ("u8", "u32", "u64", "str", "bool", "char"))


def fields(**types: int) -> tuple[Field, ...]:
    return tuple(Field(name, type_id) for name, type_id in types.items())


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
    codec = codec_of(*definitions)
    assert codec.encode(value).hex() == encoded
    assert codec.decode(bytes.fromhex(encoded)) == value


def test_a_variant_that_is_named_like_an_options_is_none_the_less_its_own():
    codec = codec_of(U8, (Variants((Variant("Max", (), 0), Variant("Some", (Field(None, 0),), 1))), "Amount"))
    assert codec.decode(b"\x01\x05") == ("Some", 5)
    assert codec.decode(b"\x00") == "Max"


def test_lists_and_tuples_and_any_bytes_are_taken():
    pairs = codec_of(U8, Tuple((0, 0)), Sequence(1))
    assert pairs.encode([[1, 2]]) == pairs.encode(((1, 2),)) == pairs.encode([(1, 2)]) == b"\x04\x01\x02"
    octets = codec_of(U8, Sequence(0))
    assert (
        octets.encode(bytearray(b"a")) == octets.encode(memoryview(b"a")) == octets.encode(b"a") == b"\x04a"
    )
    assert octets.decode(bytearray(b"\x04a")) == octets.decode(memoryview(b"\x04a")) == b"a"


def test_decode_from_goes_on_where_the_last_value_ended():
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
        ({"id": 1, "state": {"fees": 5}}, "SwapRequest.state.fees: a list is wanted, not 5"),
        ({"id": 1, "state": {}}, "SwapRequest.state: the field 'fees' is missing"),
        ({"id": 1, "state": {"fees": [], "fee": 1}}, "SwapRequest.state: there is no field 'fee'"),
        ({"id": True, "state": {"fees": []}}, "SwapRequest.id: u32 takes an int, not True"),
        ({"id": 2**40, "state": {"fees": []}}, "SwapRequest.id: 1099511627776 does not fit in u32"),
        (
            {"id": 1 << 40000, "state": {"fees": []}},
            "SwapRequest.id: an int of 40001 bits does not fit in u32",
        ),
        ([1, 2], "SwapRequest: a dict of fields is wanted, not list of length 2"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(value, words):
    with pytest.raises(ScaleError) as caught:
        codec_of(*SWAP).encode(value)
    assert str(caught.value) == words


def test_wrong_bytes_are_named_with_their_place():
    codec = codec_of(*SWAP)
    with pytest.raises(ScaleError) as caught:
        codec.decode(codec.encode({"id": 1, "state": {"fees": [1]}})[:-1])
    assert caught.value.path == "SwapRequest.state.fees"
    assert str(caught.value).endswith("4 bytes wanted at offset 5, 3 left")


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
    with pytest.raises(ScaleError):
        codec_of(*definitions).encode(value)


@pytest.mark.parametrize(
    ("definitions", "encoded", "words"),
    [
        ([BOOL], "02", "a bool is 0 or 1"),
        ([CHAR], "00d80000", "no Unicode character"),
        ([CHAR], "00001100", "no Unicode character"),
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
    with pytest.raises(ScaleError, match=words):
        codec_of(*definitions).decode(bytes.fromhex(encoded))


# Hostile input


@pytest.mark.parametrize(
    "definitions",
    [
        [U32, Sequence(0)],
        [U8, Sequence(0)],
        [STR],
        [Tuple(()), Sequence(0)],
        [Tuple(()), Array(2, 0), Sequence(1)],
        [U8, (Composite(()), "Lsb0"), BitSequence(0, 1)],
        [U8, Array(2**32 - 1, 0)],
        [U32, Array(2**32 - 1, 0)],
        [Tuple(()), Array(2**32 - 1, 0)],
    ],
)
def test_a_length_of_four_billion_costs_nothing(definitions):
    with pytest.raises(ScaleError):
        codec_of(*definitions).decode(encode_compact(2**32 - 1))


def test_items_without_content_are_read_up_to_a_cap():
    codec = codec_of(Tuple(()), Sequence(0))
    assert codec.decode(encode_compact(MAX_EMPTY_ITEMS)) == [()] * MAX_EMPTY_ITEMS
    with pytest.raises(ScaleError, match="without content"):
        codec.decode(encode_compact(MAX_EMPTY_ITEMS + 1))


def test_a_table_that_doubles_with_each_row_costs_one_step_a_row():
    empty = codec_of(Tuple(()), *(Tuple((i, i)) for i in range(200)))
    assert empty.decode(b"")[0][1] == empty.decode(b"")[1][0]
    with pytest.raises(ScaleError, match="ends too early"):
        codec_of(U8, *(Tuple((i, i)) for i in range(200))).decode(bytes(100))


NEST = (BOOL, Sequence(2), (Variants((Variant("In", (Field(None, 1),), 1), Variant("End", (), 0))), "Nest"))


def nested(depth: int) -> Any:
    value: Any = "End"
    for _ in range(depth):
        value = ("In", [value])
    return value


def test_a_value_may_enter_its_own_type_up_to_a_cap():
    codec = codec_of(*NEST)
    deep = nested(MAX_DEPTH)
    assert codec.decode(codec.encode(deep)) == deep
    with pytest.raises(ScaleError, match="nested too deeply"):
        codec.encode(nested(MAX_DEPTH + 1))
    with pytest.raises(ScaleError, match="nested too deeply"):
        codec.decode(b"\x01\x04" * 100_000 + b"\0")


def test_a_type_that_contains_only_itself_has_no_value():
    for definition in (Composite(fields(me=0)), Tuple((0, 0)), Array(2, 0), Composite((Field(None, 0),))):
        with pytest.raises(ScaleError, match="nested too deeply"):
            codec_of(definition).decode(bytes(10))


def test_a_chain_of_types_deeper_than_python_goes_is_refused_in_words():
    chain = [U8, *(Composite(fields(inner=i)) for i in range(5000))]
    with pytest.raises(ScaleError, match="nested too deeply"):
        codec_of(*chain).decode(b"\0")
    registry = table(*chain)
    for type_id in range(5000):
        registry.codec(type_id)
    with pytest.raises(ScaleError, match="nested too deeply"):
        registry.codec(4999).decode(b"\0")


@pytest.mark.parametrize(
    "definitions",
    [
        [Sequence(9)],
        [Composite((Field("a", 9),))],
        [Compact(9)],
        [Compact(0)],
        [STR, Compact(0)],
        [Primitive("i8"), Compact(0)],
        [U8, BitSequence(0, 0)],
        [STR, (Composite(()), "Lsb0"), BitSequence(0, 1)],
    ],
)
def test_a_broken_type_is_refused_when_it_is_asked_for(definitions):
    registry = table(*definitions)
    with pytest.raises(ScaleError):
        registry.codec(len(definitions) - 1)
    with pytest.raises(ScaleError):
        registry.codec(len(definitions) - 1)


def test_a_table_with_one_id_twice_is_refused():
    row = table(U8).types[0]
    with pytest.raises(ScaleError, match="same id"):
        Registry([row, row])


def test_a_broken_part_does_not_spoil_the_rest_of_a_cycle():
    # 0 <-> 1 is a cycle that also needs the missing type 9; 2 is sound.
    registry = table(Sequence(1), Tuple((0, 9)), U8)
    for _ in range(2):
        with pytest.raises(ScaleError, match="no type 9"):
            registry.codec(0)
        with pytest.raises(ScaleError, match="no type 9"):
            registry.codec(1)
    assert registry.codec(2).decode(b"\5") == 5


def test_several_threads_compile_one_table():
    for _ in range(20):
        registry = hand_made()
        with ThreadPoolExecutor(4) as threads:
            codecs = list(threads.map(lambda row, r=registry: r.codec(row.id), registry.types * 4))
        tree = next(codec for codec in codecs if codec.name == "Tree")
        assert tree.decode(b"\xc8\x04\x07\x01") == ("Branch", (["Bud"], True))


@settings(max_examples=300)
@given(st.integers(0, len(hand_made().types) - 1), st.binary(max_size=80))
def test_no_bytes_make_a_codec_raise_another_error(type_id, data):
    codec = HAND_MADE.codec(type_id)
    try:
        value, end = codec.decode_from(data, 0)
    except ScaleError:
        return
    assert codec.decode(codec.encode(value)) == value
    assert end <= len(data)


@settings(max_examples=300)
@given(st.integers(0, 2311), st.binary(max_size=200))
def test_no_bytes_make_a_codec_of_the_runtime_raise_another_error(metadata_v15, type_id, data):
    registry = _runtime(metadata_v15)
    codec = registry.codec(type_id)
    try:
        value, end = codec.decode_from(data, 0)
    except ScaleError:
        return
    assert end <= len(data)
    assert codec.decode(codec.encode(value)) == value


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.integers(0, len(hand_made().types) - 1), anything)
def test_no_value_makes_a_codec_raise_another_error(type_id, value):
    codec = HAND_MADE.codec(type_id)
    try:
        encoded = codec.encode(value)
    except ScaleError:
        return
    assert codec.encode(codec.decode(encoded)) == encoded


@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_no_change_to_metadata_makes_its_decoder_raise_another_error(seed):
    random = Random(seed)
    damaged = bytearray(random.choice(SMALL_METADATA))
    for _ in range(random.randrange(1, 4)):
        damaged[random.randrange(len(damaged))] = random.randrange(256)
    try:
        metadata = decode_metadata(bytes(damaged))
    except ScaleError:
        return
    for row in metadata.registry.types:
        try:
            metadata.registry.codec(row.id).decode(bytes(8))
        except ScaleError:
            continue


HAND_MADE = hand_made()
_RUNTIME: list[Registry] = []


def _runtime(metadata: bytes) -> Registry:
    if not _RUNTIME:
        _RUNTIME.append(decode_metadata(metadata).registry)
    return _RUNTIME[0]


def _small_metadata() -> list[bytes]:
    metadata = hand_made_metadata()
    return [encode_metadata(metadata), encode_metadata(replace(metadata, version=14))]


SMALL_METADATA = _small_metadata()
