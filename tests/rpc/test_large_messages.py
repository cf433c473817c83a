"""Messages of 15 MiB of any shape: what they are answered, and that none holds the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cfnode.core.jsonrpc import (
    LARGE,
    MAX_FILLING,
    MAX_ID_BYTES,
    MAX_JSON_VALUES,
    MAX_NON_ASCII_BYTES,
    Incoming,
    RefusedMessage,
    RpcBatch,
    RpcCall,
    parse,
)
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.convert import BYTES, MAX_STORAGE_KEY_BYTES, TEXT, U64, excerpt, listed, read_key
from cfnode.rpc.table.rows import Method, Param
from cfnode.rpc.v1.parameters import read_key_text
from tests.rpc.clients import Http, StandIn, WebSocket, served
from tests.rpc.steps import MAX_STEP, longest_step

SIZE = 15 * 1024 * 1024
ROOM = SIZE - 100
ATTEMPTS = 5
"""Other processes of the machine make memory slow at times: one attempt below the bound is enough."""


def take(node: StandIn, *params: Any) -> int:
    """Return the number of arguments."""
    return len(params)


ROWS = (
    *METHODS,
    Method("test_bytes", take, params=(Param("data", BYTES),)),
    Method("test_text", take, params=(Param("text", TEXT),)),
    Method("test_number", take, params=(Param("number", U64),)),
    Method("test_list", take, params=(Param("keys", listed(BYTES, 4096)),)),
)


def call(params: bytes, *, method: bytes = b"test_bytes", identity: bytes = b"1") -> bytes:
    """Return the text of a call."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (identity, method, params)


def many_keys(count: int) -> bytes:
    """Return an object of many long keys, nearly as large as a message may be."""
    return b"{%b}" % b",".join(b'"%d%b":1' % (key, b"x" * (ROOM // count - 12)) for key in range(count))


SHAPES = {
    "hex": (lambda: call(b'["0x%b"]' % (b"ab" * (ROOM // 2))), None),
    "bad hex": (lambda: call(b'["0x%bxx"]' % (b"ab" * (ROOM // 2))), -32602),
    "text": (lambda: call(b'["%b"]' % (b"x" * ROOM), method=b"test_text"), -32602),
    "accents": (lambda: call(b'["%b"]' % ("é".encode() * (ROOM // 2)), method=b"test_text"), -32007),
    "four bytes a character": (
        lambda: call('["😀{}"]'.format("x" * ROOM).encode(), method=b"test_text"),
        -32007,
    ),
    "text for a number": (lambda: call(b'["%b"]' % (b"x" * ROOM), method=b"test_number"), -32602),
    "text for a list": (lambda: call(b'["%b"]' % (b"x" * ROOM), method=b"test_list"), -32602),
    "digits": (lambda: call(b"[%b]" % (b"1" * ROOM)), -32602),
    "decimals": (lambda: call(b"[1.%b]" % (b"1" * ROOM)), -32602),
    "keys": (lambda: call(many_keys(MAX_JSON_VALUES - 10)), -32602),
    "keys for a number": (
        lambda: call(b"[%b]" % many_keys(MAX_JSON_VALUES - 10), method=b"test_number"),
        -32602,
    ),
    "too many values": (lambda: call(b"[%b1]" % (b"1," * (ROOM // 2))), -32007),
    "too many escapes": (lambda: call(b'["%b"]' % (b"\\n" * (ROOM // 2))), -32007),
    "too many spaces": (lambda: call(b"[%b]" % (b" " * ROOM)), -32007),
    "nesting": (lambda: call(b"[" * (ROOM // 2) + b"]" * (ROOM // 2)), -32007),
    "a method's name": (lambda: call(b"[]", method=b"m" * ROOM), -32601),
    "an id": (lambda: call(b"[]", identity=b'"%b"' % (b"i" * ROOM)), -32600),
    "an id of digits": (lambda: call(b"[]", identity=b"1" * ROOM), -32600),
    "a string": (lambda: b'"%b"' % (b"x" * ROOM), -32700),
    "no call": (lambda: b'{"a":"%b"}' % (b"x" * ROOM), -32600),
    "a string in a batch": (lambda: b'["%b"]' % (b"x" * ROOM), None),
    "a batch of strings": (lambda: b"[%b]" % b",".join([b'"%b"' % (b"x" * (ROOM // 101))] * 100), None),
}

ORDINARY = {"keys", "too many values", "an id"}
"""Shapes of an ordinary run, one for each stage at which a message is refused."""


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[] if shape in ORDINARY else [pytest.mark.world]) for shape in SHAPES]
)
async def test_no_message_holds_the_loop(shape: str) -> None:
    """Answer a message of 15 MiB of any shape without holding the event loop."""
    make, code = SHAPES[shape]
    body = make()
    assert len(body) <= SIZE
    async with served(ROWS) as port, Http(port) as http, WebSocket(port) as ws:
        for _ in range(ATTEMPTS):
            with longest_step() as steps:
                over_http = (await http.post(body)).json()
                await ws.send(body)
                over_websocket = await ws.message()
            assert over_http == over_websocket
            assert isinstance(over_http, list) or over_http.get("error", {}).get("code") == code
            if steps.length < MAX_STEP:
                break
        assert steps.length < MAX_STEP, steps.task
        assert "result" in await ws.call("system_health")


async def test_text_that_ends_in_bytes_that_are_none_is_refused_over_both_transports() -> None:
    """Refuse text that ends in bytes that are not UTF-8, over both transports."""
    body = call(b'["%b\xff"]' % (b"x" * ROOM), method=b"test_text")
    async with served(ROWS) as port, Http(port) as http, WebSocket(port) as ws:
        with longest_step() as steps:
            assert (await http.post(body)).json()["error"]["code"] == -32007
            await ws.send(body)
            opcode, reason = await ws.frame()
            assert (opcode, int.from_bytes(reason[:2], "big")) == (8, 1007)
        assert steps.length < MAX_STEP, steps.task


def test_an_error_repeats_the_beginning_of_a_value_and_looks_at_no_more() -> None:
    """Repeat the beginning of a wrong value, and read no more of it."""

    class Unread(list[Any]):
        def __iter__(self) -> Any:
            yield from ("x", {"a": None, "b": [1.5, True]})
            yield "y" * 200
            raise AssertionError("read on")

    value = Unread()
    assert excerpt(value) == "['x', {'a': None, 'b': [1.5, True]}, '" + "y" * 42 + "…"
    assert excerpt({"a": ["b", 2]}) == repr({"a": ["b", 2]})
    assert excerpt([]) + excerpt({}) + excerpt("") == "[]{}''"
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    assert excerpt(deep) == "[" * 80 + "…"
    assert excerpt("x" * 10_000_000) == "'" + "x" * 79 + "…"
    assert excerpt({"k" * 1000: 1}) == "{'" + "k" * 78 + "…"


@pytest.mark.parametrize("read", [read_key, read_key_text])
def test_a_storage_key_is_as_long_as_a_trie_has_them(read: Callable[[Any], Any]) -> None:
    """Accept a storage key as long as a trie has them, and no longer."""
    assert read("0x" + "ab" * MAX_STORAGE_KEY_BYTES) in (
        b"\xab" * MAX_STORAGE_KEY_BYTES,
        "0x" + "ab" * MAX_STORAGE_KEY_BYTES,
    )
    with pytest.raises(ValueError, match=f"at most {MAX_STORAGE_KEY_BYTES} bytes of hex"):
        read("0x" + "ab" * (MAX_STORAGE_KEY_BYTES + 1))


def test_pieces_are_read_like_the_whole() -> None:
    """Parse a message in pieces as the whole."""
    body = call(b'["0xab"]')
    incoming = Incoming()
    for place in range(0, len(body), 7):
        incoming.add(body[place : place + 7])
    assert incoming.parse(100) == parse(body, 100)
    assert incoming.size == len(body)


def test_a_message_with_too_much_in_it_is_not_kept() -> None:
    """Drop the bytes of a message that has too much in it, and refuse it."""
    for filling, limit in ((b",", MAX_JSON_VALUES), (b" ", MAX_FILLING), (b"\\", MAX_FILLING)):
        incoming = Incoming()
        for _ in range(limit // 1024 + 2):
            incoming.add(filling * 1024)
        assert incoming._data == b""
        refused = incoming.parse(100)
        assert isinstance(refused, RefusedMessage)
        assert refused.error.code == -32007
        assert str(limit) in refused.error.data


def test_long_messages_are_ascii_and_short_ones_anything() -> None:
    """Accept any text in a short message, and only ASCII in a long one."""
    for character in ("é", "😀", "\\u00e9"):
        text = call(f'["{character * 100}"]'.encode())
        assert isinstance(parse(text, 100), RpcCall)
        incoming = Incoming()
        for place in range(0, len(text), 3):
            incoming.add(text[place : place + 3])
        incoming.add(b" ")
        assert isinstance(incoming.parse(100), RpcCall)
        incoming.add(b"x" * MAX_NON_ASCII_BYTES)
        refused = incoming.parse(100)
        assert isinstance(refused, RefusedMessage)
        assert (
            refused.error.data
            == f"Exceeded max limit of {MAX_NON_ASCII_BYTES} bytes of other text than ASCII"
        )


def test_an_id_is_as_long_as_clients_need() -> None:
    """Bound the length of an id."""
    assert isinstance(parse(call(b"[]", identity=b'"%b"' % (b"i" * (MAX_ID_BYTES - 2))), 100), RpcCall)
    refused = parse(call(b"[]", identity=b'"%b"' % (b"i" * (MAX_ID_BYTES - 1))), 100)
    assert isinstance(refused, RefusedMessage)
    assert (refused.id, refused.error.code) == (b"null", -32600)
    batch = parse(b"[%b]" % call(b"[]", identity=b"1" * (MAX_ID_BYTES + 1)), 100)
    assert isinstance(batch, RpcBatch)
    assert isinstance(batch.entries[0], RefusedMessage)


def test_a_large_call_knows_that_it_is() -> None:
    """Mark a large call as such: it is read in another way."""
    small, large = parse(call(b"[1]"), 100), parse(call(b'["%b"]' % (b"x" * LARGE)), 100)
    assert isinstance(small, RpcCall)
    assert isinstance(large, RpcCall)
    assert (small.is_large, large.is_large) == (False, True)
