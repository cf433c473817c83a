"""An object in which a member stands twice is refused in the words of the official node.

`serde_repeated.json` is what serde 1.0, jsonrpsee-types 0.24.10 and serde_json 1.0.149 answered for the types
below: rows of a type, the `params`, and the data of the error, or `ok`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import InvalidParams, RpcCall
from cfnode.rpc.answering.arguments import read_arguments
from cfnode.rpc.table import broker_params
from cfnode.rpc.table.convert import U16, U32, bounded_integer, read_text
from cfnode.rpc.table.rows import Method, Param, Reader
from cfnode.rpc.table.serde import invalid_type
from cfnode.rpc.table.serde_members import MAX_CHECKED
from cfnode.rpc.table.serde_types import Read, SerdeStruct, enum, tagged, untagged

VECTORS: list[list[str]] = json.loads((Path(__file__).parent / "serde_repeated.json").read_text())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise invalid_type(value, "a string")
    return read_text(value)


_u32: Read = U32.read
_inner = SerdeStruct("struct Inner", {"a": (U16.read, False), "who": (_text, True)})
_flat = SerdeStruct(
    "struct variant TF::Bitcoin",
    {"z": (_u32, False), "a": (U16.read, False), "who": (_text, True)},
    is_flat=True,
)
READERS: dict[str, Read] = {
    "Inner": _inner,
    "Enum": enum("E", {"A": None, "B": _u32, "C": {"x": (_u32, False)}}),
    "Tagged": tagged("T", "chain", {"Bitcoin": {"x": (_u32, False), "y": (_u32, True)}, "Ethereum": _inner}),
    "Untagged": untagged("data did not match any variant of untagged enum U", _u32, _inner),
    "TaggedFlat": tagged("TF", "chain", {"Bitcoin": _flat}),
}
NAMED = (
    Param("key", Reader("text", _text)),
    Param("count", U32, optional=True),
    Param("some_one", Reader("text", _text), optional=True),
    Param("inner", Reader("{a, who?}", _inner), optional=True),
)


def _read(params: tuple[Param, ...], text: str) -> Any:
    call = jsonrpc.parse(f'{{"jsonrpc":"2.0","method":"m","id":1,"params":{text}}}', 1)
    assert isinstance(call, RpcCall)
    try:
        return read_arguments(Method("m", lambda node, *values: values, params=params), call)
    except InvalidParams as error:
        return f"error {json.dumps(error.data, ensure_ascii=False)}"


def _answer(kind: str, text: str) -> Any:
    return _read(NAMED if kind == "Named" else (Param("value", Reader(kind, READERS[kind])),), text)


@pytest.mark.parametrize(("kind", "params", "expected"), VECTORS, ids=lambda text: text[:60])
def test_the_second_member_is_refused_where_serde_refuses_it(kind: str, params: str, expected: str) -> None:
    """Refuse a repeated member exactly where serde refuses it."""
    answer = _answer(kind, params)
    assert (answer if isinstance(answer, str) else "ok") == expected


def test_each_way_to_refuse_is_among_the_rows() -> None:
    """Have rows for each way of reading, many of which refuse."""
    assert {kind for kind, _, _ in VECTORS} == {*READERS, "Named"}
    assert sum("duplicate field" in expected for _, _, expected in VECTORS) > 15


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (
            broker_params.CCM,
            '[{"message":"0x","gas_budget":1,"gas_budget":2}]',
            'error "duplicate field `gas_budget` at line 1 column 43"',
        ),
        (
            broker_params.DCA,
            '[{"number_of_chunks":2,"chunk_interval":2,"number_of_chunks":2}]',
            'error "duplicate field `number_of_chunks` at line 1 column 59"',
        ),
        (broker_params.ASSET, '[{"chain":"Ethereum","asset":"ETH","other":1,"other":2}]', ["Eth"]),
    ],
)
def test_parameters_of_swaps_name_a_member_once(read: Reader, text: str, expected: Any) -> None:
    """Name the repeated member of a swap's parameters with its position."""
    assert _read((Param("value", read),), text) == expected


def test_a_further_name_of_a_parameter_is_not_taken_from_another() -> None:
    """Read a further name of a parameter, but not one that is another parameter's own."""
    params = (
        Param("hash", Reader("text", _text)),
        Param("at", Reader("text", _text), True, ("hash", "block")),
    )
    assert _read(params, '{"hash":"a","at":"b"}') == ["a", "b"]
    assert _read(params, '{"hash":"a","block":"b"}') == ["a", "b"]
    assert _read(params, '{"hash":"a","block":"b","at":"c"}') == (
        'error "duplicate field `at` at line 1 column 28"'
    )


@pytest.mark.parametrize("second", ['"chain":"Ethereum"', '"asset":"BTC"'])
def test_an_asset_with_two_chains_or_symbols_is_none(second: str) -> None:
    """Refuse an asset with two chains or symbols."""
    answer = _read((Param("asset", broker_params.ASSET),), f'[{{"chain":"Ethereum","asset":"ETH",{second}}}]')
    assert answer.startswith('error "Expected a valid asset specifier.')


def test_long_parameters_are_not_looked_through() -> None:
    """Skip the search for repeated members in long parameters: it would cost a pass over them."""

    def answer(padding: int) -> Any:
        return _answer("Inner", f'[{{"a":1,"b":"{"x" * padding}","a":2}}]')

    assert answer(1000) == 'error "duplicate field `a` at line 1 column 1017"'
    assert "duplicate field" in answer(MAX_CHECKED - 100)
    assert answer(MAX_CHECKED) == [{"a": 2, "who": None}]


def test_deep_values_are_looked_through_or_the_message_is_refused() -> None:
    """Search deep values for repeated members, or refuse the message as a whole."""
    for depth in range(100, 1_000, 10):
        text = f'[{{"a":1,"b":{"[" * depth}{"]" * depth},"a":2}}]'
        if isinstance(jsonrpc.parse(f'{{"jsonrpc":"2.0","method":"m","id":1,"params":{text}}}', 1), RpcCall):
            place = f"line 1 column {15 + 2 * depth}"
            assert _answer("Inner", text) == f'error "duplicate field `a` at {place}"'


def test_a_number_keeps_its_value_when_it_is_read_for_repeated_members() -> None:
    """Keep a number's value when its text is searched for repeated members."""
    read = Reader("integer", bounded_integer(2**256 - 1))
    text = f'[{{"x":1,"y":2}}, {2**256 - 1}]'
    assert _read((Param("first", Reader("object", lambda value: value)), Param("value", read)), text) == [
        {"x": 1, "y": 2},
        2**256 - 1,
    ]
