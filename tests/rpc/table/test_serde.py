"""What cannot be read is refused in the words of the official node, with line and column.

`serde.json` is what its own readers say: rows of a Rust type, the `params` as text, and the value or the
error data that jsonrpsee-types 0.24.10 gives with impl-serde 0.5.0 and serde_json 1.0.149. A type after `2:`
stands second, behind bytes; the length of no account id is right; `Named` is an object of `key` (bytes), and
optionally `count` (u32), `who` (an account) and `inner`. The text of a malformed account id is the one that
sp-core's `PublicError` prints, in the place where those readers put it.

`serde_types.json` is the same of Chainflip's own types, without the values: those of a program that declares
the types as Chainflip's node does and gives them to the same crates (and hex 0.4, bs58 0.5, array-bytes 6.2).
A `?` behind a type: it may be null.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import InvalidParams, RpcCall
from cfnode.rpc.answering.arguments import read_arguments
from cfnode.rpc.broker import affairs as broker_affairs
from cfnode.rpc.cf import calls, params, streams, vault_swaps
from cfnode.rpc.table import broker_params
from cfnode.rpc.table.convert import (
    ACCOUNT,
    BOOL,
    BYTES,
    HASH,
    NUMBER_OR_HEX,
    TEXT,
    U16,
    U32,
    U64,
    U128,
    bounded_integer,
    listed,
)
from cfnode.rpc.table.rows import Method, Param, Reader
from cfnode.rpc.table.serde_types import SerdeStruct
from cfnode.rpc.v1 import chain_head, queries

HERE = Path(__file__).parent
VECTORS: list[list[str]] = json.loads((HERE / "serde.json").read_text())
OWN: list[list[str]] = json.loads((HERE / "serde_types.json").read_text())
_read_inner = SerdeStruct("struct Inner", {"a": (U16.read, False), "who": (ACCOUNT.read, True)})


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
OWN_READERS = {
    "Accounts10": listed(ACCOUNT, 10),
    "Affiliates": broker_params.AFFILIATES,
    "Asset": broker_params.ASSET,
    "Ccm": broker_params.CCM,
    "CcmData": params.CCM_DATA,
    "Chain": params.CHAIN_PARAM.reader,
    "Dca": broker_params.DCA,
    "Details": vault_swaps.VAULT_SWAP.reader,
    "Encoding": calls.ENCODING,
    "EthCall": calls.CONTRACT_CALL,
    "Extra": vault_swaps.EXTRA,
    "Fees": params.EXCLUDE_FEES,
    "H160": params.ADDRESS20,
    "Hashes": chain_head.HASHES,
    "Metadata": broker_affairs.BOUNDS,
    "Nonce": calls.NONCE,
    "Notify": streams.BEHAVIOUR.reader,
    "NumberOrHex": NUMBER_OR_HEX,
    "Orders": params.ADDITIONAL_ORDERS,
    "Pair": params.PRICE_PAIR,
    "Queries": queries.QUERIES,
    "Query": params.one_of("All", "Mine"),
    "Range": params.TICK_RANGE.reader,
    "Refund": broker_params.REFUND,
    "Roles": params.ROLES,
    "Signature": broker_affairs.SIGNATURE,
    "TxId": broker_affairs.TX_ID,
    "U256": params.U256,
    "VecU8": params.BYTE_NUMBERS,
    "u128": U128,
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


def _answer(kind: str, text: str) -> Any:
    """Return the value of the reader of a kind, or the data of its error."""
    return _read(_params(kind), text)


def _read(wanted: tuple[Param, ...], text: str) -> Any:
    call = jsonrpc.parse(f'{{"jsonrpc":"2.0","method":"m","id":1,"params":{text}}}', 1)
    assert isinstance(call, RpcCall)
    row = Method("m", lambda node, *values: values[-1], params=wanted)
    try:
        return read_arguments(row, call)[-1]
    except InvalidParams as error:
        return f"error {json.dumps(error.data, ensure_ascii=False)}"


@pytest.mark.parametrize(("kind", "params", "expected"), VECTORS, ids=lambda text: text[:40])
def test_each_value_is_read_or_refused_as_the_official_node_does_it(
    kind: str, params: str, expected: str
) -> None:
    """Read or refuse each value as the official node's readers do, with line and column."""
    assert _written(kind, _answer(kind, params)) == expected


def _written(kind: str, answer: Any) -> str:
    """Return an answer as Rust's Debug writes it."""
    if isinstance(answer, bytes):
        name = kind.removeprefix("Option<").removesuffix(">")
        return f"ok Some({name}({list(answer)}))" if name != kind else f"ok {name}({list(answer)})"
    if isinstance(answer, list):
        return f"ok [{', '.join(f'Bytes({list(entry)})' for entry in answer)}]"
    return answer if str(answer).startswith("error") else f"ok {json.dumps(answer)}"


@pytest.mark.parametrize("kind", OWN_READERS)
def test_chainflips_types_are_read_or_refused_as_its_node_does_it(kind: str) -> None:
    """Read or refuse Chainflip's own types as its node does, with line and column."""
    rows = [row for row in OWN if row[0].removeprefix("2:").removesuffix("?") == kind]
    assert len(rows) > 2
    for name, text, expected in rows:
        param = Param("value", OWN_READERS[kind], optional=name.endswith("?"))
        answer = _read((Param("first", BYTES), param) if name.startswith("2:") else (param,), text)
        assert (text, answer if str(answer).startswith("error ") else "ok") == (text, expected)


NOTE, CALLDATA = '"note":"0xzz"', '"calldata":5'


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(NOTE, CALLDATA, "invalid hex character: z, at 2"), (CALLDATA, NOTE, "invalid type: integer `5`")],
)
def test_of_two_faults_of_a_swap_from_tron_the_first_one_is_named(
    first: str, second: str, expected: str
) -> None:
    """The official node reads `note` before the other members."""
    text = f'[{{"chain":"Tron",{first},{second},"value":"0x1","to":"T","source_token_address":null}}]'
    answer = _read((Param("value", OWN_READERS["Details"]),), text)
    assert answer.startswith(f'error "{expected}')


def test_a_fraction_as_the_budget_of_an_array_is_told_from_the_official_text_by_one_character() -> None:
    """The official node names the array's bracket."""
    answer = _read((Param("value", OWN_READERS["CcmData"]),), "[[1.5,2]]")
    assert answer == 'error "expected `,` or `}` at line 1 column 3"'


@pytest.mark.parametrize("text", ["0x" + "z" * 70_000, "a" * 70_000])
def test_no_place_is_looked_for_in_many_bytes(text: str) -> None:
    """Leave out the position in long text: the search for it would cost."""
    wrong = "0" if text[0] == "0" else "1"
    answer = _answer("H256" if wrong == "1" else "Bytes", json.dumps([text]))
    assert answer.startswith('error "invalid') and "at line" not in answer


def test_an_error_repeats_a_thousand_characters_of_a_text() -> None:
    """Repeat at most a thousand characters of a wrong text."""
    answer = _answer("u32", json.dumps(["a" * 2000]))
    assert answer == f'error "invalid type: string \\"{"a" * 1024}…\\", expected u32 at line 1 column 2002"'
