"""What cannot be read is refused in the words of the official node, with line and column.

`serde.json` is what its own readers say: rows of a Rust type, the `params` as text, and the value or the
error data that jsonrpsee-types 0.24.10 gives with impl-serde 0.5.0 and serde_json 1.0.140. A type after `2:`
stands second, behind bytes; the length of no account id is right; `Named` is an object of `key` (bytes), and
optionally `count` (u32), `who` (an account) and `inner`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import Call, InvalidParams
from cfnode.rpc.convert import (
    ACCOUNT,
    BOOL,
    BYTES,
    HASH,
    TEXT,
    U16,
    U32,
    U64,
    bounded_integer,
    listed,
    read_members,
)
from cfnode.rpc.dispatch import read_arguments
from cfnode.rpc.table import Method, Param, Reader

VECTORS: list[list[str]] = json.loads(Path(__file__).with_name("serde.json").read_text())


def _read_inner(value: Any) -> Any:
    return read_members(value, {"a": (U16.read, False), "who": (ACCOUNT.read, True)})


READERS = {
    "Bytes": BYTES,
    "H256": HASH,
    "u32": U32,
    "i32": Reader("i32", bounded_integer(2**31 - 1, -(2**31))),
    "u64": U64,
    "bool": BOOL,
    "String": TEXT,
    "Account": ACCOUNT,
    "Vec<Bytes>": listed(BYTES, 10),
    "Vec<Account>": listed(ACCOUNT, 10),
}
NAMED = (
    Param("key", BYTES),
    Param("count", U32, optional=True),
    Param("who", ACCOUNT, optional=True),
    Param("inner", Reader("{a, who?}", _read_inner), optional=True),
)


def _params(kind: str) -> tuple[Param, ...]:
    if kind == "Named":
        return NAMED
    place, _, name = kind.rpartition(":")
    optional = name.startswith("Option<")
    param = Param(
        "value", READERS[name.removeprefix("Option<").removesuffix(">") if optional else name], optional
    )
    return (Param("first", BYTES), param) if place else (param,)


def _answer(kind: str, params: str) -> Any:
    """What the reader of a kind gives, or the data of its error."""
    call = jsonrpc.parse(f'{{"jsonrpc":"2.0","method":"m","id":1,"params":{params}}}', 1)
    assert isinstance(call, Call)
    row = Method("m", lambda node, *values: values[-1], params=_params(kind))
    try:
        return read_arguments(row, call)[-1]
    except InvalidParams as error:
        return f"error {json.dumps(error.data, ensure_ascii=False)}"


@pytest.mark.parametrize(("kind", "params", "expected"), VECTORS, ids=lambda text: text[:40])
def test_each_value_is_read_or_refused_as_the_official_node_does_it(
    kind: str, params: str, expected: str
) -> None:
    assert _written(kind, _answer(kind, params)) == expected


def _written(kind: str, answer: Any) -> str:
    """An answer as Rust's Debug writes it."""
    if isinstance(answer, bytes):
        name = kind.removeprefix("Option<").removesuffix(">")
        return f"ok Some({name}({list(answer)}))" if name != kind else f"ok {name}({list(answer)})"
    if isinstance(answer, list):
        return f"ok [{', '.join(f'Bytes({list(entry)})' for entry in answer)}]"
    return answer if str(answer).startswith("error") else f"ok {json.dumps(answer)}"


@pytest.mark.parametrize("text", ["0x" + "z" * 70_000, "a" * 70_000])
def test_no_place_is_looked_for_in_many_bytes(text: str) -> None:
    wrong = "0" if text[0] == "0" else "1"
    answer = _answer("H256" if wrong == "1" else "Bytes", json.dumps([text]))
    assert answer.startswith('error "invalid') and "at line" not in answer


def test_an_error_repeats_a_thousand_characters_of_a_text() -> None:
    answer = _answer("u32", json.dumps(["a" * 2000]))
    assert answer == f'error "invalid type: string \\"{"a" * 1024}…\\", expected u32 at line 1 column 2002"'
