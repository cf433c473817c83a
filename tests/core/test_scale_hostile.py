"""What hostile bytes, hostile values and hostile type tables cost: a clear error, soon."""

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
    Compact,
    Composite,
    Field,
    Primitive,
    ScaleError,
    Sequence,
    Tuple,
    TypeRegistry,
    Variant,
    Variants,
    encode_compact,
)
from cfnode.core.scale.compiler import MAX_SCALE_DEPTH
from cfnode.core.scale.metadata import decode_metadata, encode_metadata
from cfnode.core.scale.shapes import MAX_EMPTY_ITEMS
from tests.core.scale_tables import codec_of, fields, hand_made, hand_made_metadata, table
from tests.lengths import examples

U8, U32, STR, BOOL = (Primitive(name) for name in ("u8", "u32", "str", "bool"))


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
    """Refuse a length of four billion at once, without memory for it."""
    with pytest.raises(ScaleError):
        codec_of(*definitions).decode(encode_compact(2**32 - 1))


def test_items_without_content_are_read_up_to_a_cap():
    """Read items that take no bytes up to a cap: any number of them fits in four bytes."""
    codec = codec_of(Tuple(()), Sequence(0))
    assert codec.decode(encode_compact(MAX_EMPTY_ITEMS)) == [()] * MAX_EMPTY_ITEMS
    with pytest.raises(ScaleError, match="without content"):
        codec.decode(encode_compact(MAX_EMPTY_ITEMS + 1))


def test_a_table_that_doubles_with_each_row_costs_one_step_a_row():
    """Decode a table whose size doubles with each row in one step a row, not in 2^200."""
    empty = codec_of(Tuple(()), *(Tuple((i, i)) for i in range(200)))
    assert empty.decode(b"")[0][1] == empty.decode(b"")[1][0]
    with pytest.raises(ScaleError, match="ends too early"):
        codec_of(U8, *(Tuple((i, i)) for i in range(200))).decode(bytes(100))


NEST = (BOOL, Sequence(2), (Variants((Variant("In", (Field(None, 1),), 1), Variant("End", (), 0))), "Nest"))


def nested(depth: int) -> Any:
    """Return a value that is nested in its own type."""
    value: Any = "End"
    for _ in range(depth):
        value = ("In", [value])
    return value


def test_a_value_may_enter_its_own_type_up_to_a_cap():
    """Let a value enter its own type up to a cap, in both directions."""
    codec = codec_of(*NEST)
    deep = nested(MAX_SCALE_DEPTH)
    assert codec.decode(codec.encode(deep)) == deep
    with pytest.raises(ScaleError, match="nested too deeply"):
        codec.encode(nested(MAX_SCALE_DEPTH + 1))
    with pytest.raises(ScaleError, match="nested too deeply"):
        codec.decode(b"\x01\x04" * 100_000 + b"\0")


def test_a_type_that_contains_only_itself_has_no_value():
    """Refuse a type that contains only itself: it has no value."""
    for definition in (Composite(fields(me=0)), Tuple((0, 0)), Array(2, 0), Composite((Field(None, 0),))):
        with pytest.raises(ScaleError, match="nested too deeply"):
            codec_of(definition).decode(bytes(10))


def test_types_nested_deeper_than_pythons_stack_raise_a_scale_error():
    """Raise a ScaleError, not a RecursionError, for types nested deeper than Python's stack."""
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
    """Refuse a broken type each time it is asked for, not only the first time."""
    registry = table(*definitions)
    with pytest.raises(ScaleError):
        registry.codec(len(definitions) - 1)
    with pytest.raises(ScaleError):
        registry.codec(len(definitions) - 1)


def test_a_table_with_one_id_twice_is_refused():
    """Refuse a table in which an id occurs twice."""
    row = table(U8).types[0]
    with pytest.raises(ScaleError, match="same id"):
        TypeRegistry([row, row])


def test_a_broken_part_does_not_spoil_the_rest_of_a_cycle():
    """Keep sound types usable next to a broken cycle, and name the missing type each time."""
    # 0 <-> 1 is a cycle that also needs the missing type 9; 2 is sound.
    registry = table(Sequence(1), Tuple((0, 9)), U8)
    for _ in range(2):
        with pytest.raises(ScaleError, match="no type 9"):
            registry.codec(0)
        with pytest.raises(ScaleError, match="no type 9"):
            registry.codec(1)
    assert registry.codec(2).decode(b"\5") == 5


def test_several_threads_compile_one_table():
    """Compile one table from several threads to working codecs."""
    for _ in range(20):
        registry = hand_made()
        with ThreadPoolExecutor(4) as threads:
            codecs = list(threads.map(lambda row, r=registry: r.codec(row.id), registry.types * 4))
        tree = next(codec for codec in codecs if codec.name == "Tree")
        assert tree.decode(b"\xc8\x04\x07\x01") == ("Branch", (["Bud"], True))


@settings(max_examples=examples(300))
@given(st.integers(0, len(hand_made().types) - 1), st.binary(max_size=80))
def test_no_bytes_make_a_codec_raise_another_error(type_id, data):
    """Answer any bytes, for each kind of type, with a value that survives or a ScaleError."""
    codec = HAND_MADE.codec(type_id)
    try:
        value, end = codec.decode_from(data, 0)
    except ScaleError:
        return
    assert codec.decode(codec.encode(value)) == value
    assert end <= len(data)


@settings(max_examples=examples(300))
@given(st.integers(0, 2311), st.binary(max_size=200))
def test_no_bytes_make_a_codec_of_the_runtime_raise_another_error(metadata_v15, type_id, data):
    """Answer any bytes, for each type of the runtime, with a value that survives or a ScaleError."""
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


@settings(max_examples=examples(300))
@given(st.integers(0, len(hand_made().types) - 1), anything)
def test_no_value_makes_a_codec_raise_another_error(type_id, value):
    """Answer any value, for each kind of type, with bytes that survive or a ScaleError."""
    codec = HAND_MADE.codec(type_id)
    try:
        encoded = codec.encode(value)
    except ScaleError:
        return
    assert codec.encode(codec.decode(encoded)) == encoded


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32))
def test_no_change_to_metadata_makes_its_decoder_raise_another_error(seed):
    """Answer damaged metadata with metadata whose types can be used, or a ScaleError."""
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
_RUNTIME: list[TypeRegistry] = []


def _runtime(metadata: bytes) -> TypeRegistry:
    if not _RUNTIME:
        _RUNTIME.append(decode_metadata(metadata).registry)
    return _RUNTIME[0]


def _small_metadata() -> list[bytes]:
    metadata = hand_made_metadata()
    return [encode_metadata(metadata), encode_metadata(replace(metadata, version=14))]


SMALL_METADATA = _small_metadata()
