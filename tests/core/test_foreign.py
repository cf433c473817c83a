"""What another program wrote is judged before it is decoded, and each fault is a ForeignError."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.foreign import (
    ANSWER,
    ForeignError,
    JsonLimits,
    block_number,
    hex_bytes,
    hex_number,
    read_json,
    whole_number,
)

SMALL = JsonLimits(size=1_000, values=50, depth=8, filling=200, wide=300)
DIGITS = "7" * 5_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is not JSON"),
        (b"not JSON", "is not JSON"),
        (b"[1", "is not JSON"),
        (b"[]]", "is not JSON"),
        (b"NaN", "is not JSON"),
        (b"1e999", "is not JSON"),
        (b'"\\ud800"', "is not JSON"),
        (DIGITS.encode()[:900], ""),
        (b'"\xff\xfe"', "is not UTF-8 text"),
        ("\ud800", "is not UTF-8 text"),
        (b" " * 1_001, "is larger than 1000 bytes"),
        ("x" * 1_001, "is larger than 1000 bytes"),
        (b"[" + b"1," * 60 + b"1]", "has more than 50 JSON values"),
        (b"[" * 30 + b"]" * 30, "is nested more than 8 levels deep"),
        (b'{"a":' * 9 + b"1" + b"}" * 9, "is nested more than 8 levels deep"),
        (b"[" * 30, "is not JSON"),
        (b" " * 201 + b"1", "has more than 200 spaces and escapes"),
        ('"' + "ä" * 200 + '"', "has more than 300 bytes of other text than ASCII"),
    ],
)
def test_a_text_over_a_limit_or_malformed_is_refused(text: bytes | str, words: str) -> None:
    """Refuse text over a limit of size, values, depth or filling, or malformed, and say which."""
    if not words:
        assert read_json(text, SMALL) == int(text)
        return
    with pytest.raises(ForeignError, match=words):
        read_json(text, SMALL)


def test_brackets_inside_of_texts_do_not_nest() -> None:
    """Count no brackets inside of strings when the depth is measured."""
    text = json.dumps(["[" * 20, '"[' * 5, "\\", '\\"[', {"{": "}"}])
    assert read_json(text, JsonLimits(depth=2)) == json.loads(text)
    with pytest.raises(ForeignError, match="nested more than 1 levels"):
        read_json(text, JsonLimits(depth=1))


def test_a_number_of_5_000_digits_is_refused_whether_json_or_hex() -> None:
    """Refuse a number of 5,000 digits in each form, without repeating it: its conversion is quadratic."""
    for read, value in (
        (read_json, DIGITS),
        (hex_number, f"0x{DIGITS}"),
        (whole_number, f"0x{DIGITS}"),
        (whole_number, DIGITS),
        (block_number, {"number": f"0x{DIGITS}"}),
    ):
        with pytest.raises(ForeignError) as caught:
            read(value)
        assert "7777" not in str(caught.value)


@pytest.mark.parametrize("bomb", [b"[[[]]", b'{"a":{}}', b"[]", b'""', b"0"])
def test_a_bomb_of_values_costs_neither_memory_nor_time(bomb: bytes) -> None:
    """Refuse a text of too many values before it is decoded, within bounds of memory and time."""
    text = b"[" + bomb + b"," + (bomb + b",") * (ANSWER.size // (len(bomb) + 1) - 3) + bomb + b"]"
    tracemalloc.start()
    with pytest.raises(ForeignError, match="JSON values"):
        read_json(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 70 * 1024 * 1024

    def refused() -> None:
        with pytest.raises(ForeignError):
            read_json(text)

    assert spent(refused) < 20 * spent(lambda: blake2b(text).digest())


def spent(work: Callable[[], object]) -> float:
    """Return the processor time of a work, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize(
    ("value", "bits", "number"),
    [("0x0", 32, 0), ("0xffffffff", 32, 2**32 - 1), ("0x" + "f" * 64, 256, 2**256 - 1), ("0xaB", 64, 171)],
)
def test_numbers_in_hex(value: str, bits: int, number: int) -> None:
    """Read hexadecimal numbers up to their width in bits."""
    assert hex_number(value, bits) == whole_number(value, bits) == number


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.5,
        "",
        "0x",
        "ff",
        "0xg",
        "0x_1",
        " 0x1",
        "0x1 ",
        "-0x1",
        "0x\u0661",
        f"0x{2**32:x}",
        [],
    ],
)
def test_anything_else_is_no_number_in_hex(value: Any) -> None:
    """Refuse anything else as a hexadecimal number, blanks and foreign digits included."""
    with pytest.raises(ForeignError):
        hex_number(value, 32)


@pytest.mark.parametrize(
    "value", [None, True, -1, 1.5, "", "-1", "1_0", "\u0661", 2**64, str(2**64), hex(2**64)]
)
def test_anything_else_is_no_whole_number(value: Any) -> None:
    """Refuse anything else as a whole number: negative, fractional, too wide or not decimal."""
    with pytest.raises(ForeignError):
        whole_number(value, 64)


def test_bytes_in_hex_have_a_maximum_and_no_blanks() -> None:
    """Read bytes in hex up to a maximum, and refuse blanks and odd digits."""
    assert (hex_bytes("0x"), hex_bytes("0xAb", 1)) == (b"", b"\xab")
    for value in (None, 1, "", "ab", "0xa", "0x a", "0xab cd", "0xzz", "0xabcd", "0x\u0661\u0661"):
        with pytest.raises(ForeignError):
            hex_bytes(value, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**256), 2**256) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_json_text_within_the_limits_is_read_exactly(value: Any) -> None:
    """Read any JSON within the limits exactly as it was written."""
    assert read_json(json.dumps(value)) == value


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\1', max_size=200).map(str.encode))
def test_no_text_raises_anything_but_a_foreign_error(text: bytes) -> None:
    """Answer any text with the value that JSON gives it, or a ForeignError."""
    for limits in (ANSWER, SMALL, JsonLimits(depth=1)):
        try:
            value = read_json(text, limits)
        except ForeignError:
            continue
        assert value == json.loads(text)


@given(st.integers(0, 12), st.booleans())
def test_the_depth_that_is_refused_is_that_of_the_value(depth: int, is_object: bool) -> None:
    """Measure the depth that the value has, for lists and objects."""
    text = '{"a":' * depth + "1" + "}" * depth if is_object else "[" * depth + "]" * depth or "1"
    if depth <= SMALL.depth:
        read_json(text, SMALL)
    else:
        with pytest.raises(ForeignError):
            read_json(text, SMALL)
