"""The JSON-RPC envelope: what is a request, what is refused with which code, what comes back unchanged."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import (
    MAX_JSON_VALUES,
    ErrorCode,
    InvalidParams,
    RefusedMessage,
    RpcBatch,
    RpcCall,
    RpcError,
    RpcMessage,
    parse_short,
)

MAX_BATCH = 5
CALL_TEXT = b'{"jsonrpc":"2.0","id":7,"method":"m","params":[1,"x"]}'


def parse(data: bytes | str) -> RpcMessage:
    """Parse a message with this file's limit for batches."""
    return jsonrpc.parse(data, MAX_BATCH)


def call_of(text: bytes) -> RpcCall:
    """Parse a message that must be a call."""
    parsed = parse(text)
    assert isinstance(parsed, RpcCall)
    return parsed


def refusal_of(text: bytes | str) -> RefusedMessage:
    """Parse a message that must be refused."""
    parsed = parse(text)
    assert isinstance(parsed, RefusedMessage)
    return parsed


@pytest.mark.parametrize("identity", [b"1", b"0", b'"a-b"', b'"\\u00e9"', b"null", b"%d" % (2**64 - 1)])
def test_an_id_comes_back_byte_for_byte(identity: bytes) -> None:
    """Return a request's id byte for byte: clients match the answer by it."""
    call = call_of(b'{"jsonrpc":"2.0","method":"m","id":%b}' % identity)
    assert not call.is_notification
    assert jsonrpc.success(call.reply_id, b"true") == b'{"jsonrpc":"2.0","id":%b,"result":true}' % identity


def test_a_call_without_an_id_is_a_notification() -> None:
    """Treat a call without an id as a notification."""
    assert call_of(b'{"jsonrpc":"2.0","method":"m"}').is_notification


def test_text_and_bytes_are_read_alike() -> None:
    """Read text and bytes of one message alike."""
    text = '{"jsonrpc":"2.0","method":"chain_getBlockHash","params":[0],"id":"é"}'
    assert parse(text) == parse(text.encode())


@pytest.mark.parametrize(
    ("params", "arguments"),
    [(b"[]", []), (b"{}", {}), (b"null", []), (b"[1,null]", [1, None]), (b'{"at":"0x00"}', {"at": "0x00"})],
)
def test_params_come_by_position_or_by_name(params: bytes, arguments: object) -> None:
    """Read params by position or by name, and absent values as an empty list."""
    call = call_of(b'{"jsonrpc":"2.0","method":"m","id":1,"params":%b}' % params)
    assert call.arguments() == arguments


@given(st.integers(min_value=-(2**300), max_value=2**300))
def test_integers_are_exact_in_both_directions(number: int) -> None:
    """Read and write integers of any size exactly: amounts exceed a double's 53 bits."""
    call = call_of(b'{"jsonrpc":"2.0","method":"m","id":1,"params":[%d]}' % number)
    assert call.arguments() == [number]
    assert json.loads(jsonrpc.encode(number)) == number


@pytest.mark.parametrize("params", [b'"text"', b"7", b"true", b"[" + b"9" * 5000 + b"]"])
def test_params_that_are_no_array_or_object_are_invalid_params(params: bytes) -> None:
    """Refuse params that are neither array nor object as Invalid params."""
    with pytest.raises(InvalidParams) as caught:
        call_of(b'{"jsonrpc":"2.0","method":"m","id":1,"params":%b}' % params).arguments()
    assert caught.value.code == ErrorCode.INVALID_PARAMS
    assert caught.value.message == "Invalid params"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"   ",
        b"{",
        b"nonsense",
        b"7",
        b'"text"',
        b"null",
        b'{"jsonrpc":"2.0","method":"m","id":NaN}',
        b'{"jsonrpc":"2.0","method":"m","id":1,"params":[NaN]}',
        b'{"jsonrpc":"2.0","method":"\\ud800","id":1}',
        b'{"jsonrpc":"2.0","method":"m","id":"\xff"}',
        b'{"jsonrpc":"2.0","method":"m","id":"\\ud800"}',
        b"[1,",
        b"\xef\xbb\xbf{}",
    ],
)
def test_malformed_json_is_a_parse_error_with_a_null_id(text: bytes) -> None:
    """Answer malformed JSON with a parse error and a null id."""
    refused = refusal_of(text)
    assert (refused.id, refused.error.code, refused.error.message) == (b"null", -32700, "Parse error")


@pytest.mark.parametrize(
    ("text", "is_no_message"), [(b"", True), (b" 7", True), (b" {", False), (b"\n[", False)]
)
def test_only_an_object_or_an_array_is_a_message(text: bytes, is_no_message: bool) -> None:
    """Take only what begins as an object or array for a message."""
    assert refusal_of(text).is_no_message is is_no_message


@pytest.mark.parametrize("depth", [1_000, 30_000, jsonrpc.MAX_JSON_VALUES - 10])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting_is_a_parse_error(depth: int, opening: bytes, closing: bytes) -> None:
    """Answer deep nesting with a parse error: it must not exhaust the stack."""
    assert sys.getrecursionlimit() <= 1_500
    bomb = opening * depth + b"1" + closing * depth
    assert refusal_of(bomb).error.code == -32700
    within = refusal_of(b'{"jsonrpc":"2.0","method":"m","id":1,"params":' + bomb + b"}")
    assert within.error.code == -32700


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        (b"{}", b"null"),
        (b"[]", b"null"),
        (b'{"jsonrpc":"1.0","method":"m","id":3}', b"3"),
        (b'{"method":"m","id":3}', b"3"),
        (b'{"jsonrpc":"2.0","id":"x"}', b'"x"'),
        (b'{"jsonrpc":"2.0","method":5,"id":1}', b"1"),
        (b'{"jsonrpc":"2.0","method":"m","id":true}', b"null"),
        (b'{"jsonrpc":"2.0","method":"m","id":1.5}', b"null"),
        (b'{"jsonrpc":"2.0","method":"m","id":-7}', b"null"),
        (b'{"jsonrpc":"2.0","method":"m","id":18446744073709551616}', b"null"),
        (b'{"jsonrpc":"2.0","method":"m","id":%b}' % (b"9" * 40), b"null"),
        (b'{"jsonrpc":"2.0","method":5,"id":1.5}', b"null"),
        (b'{"jsonrpc":"2.0","method":"m","id":[1]}', b"null"),
    ],
)
def test_json_that_is_not_a_request_is_an_invalid_request(text: bytes, identity: bytes) -> None:
    """Answer JSON that is not a request as invalid, with its id where the id is a legal one."""
    refused = refusal_of(text)
    assert (refused.id, refused.error.code, refused.error.message) == (identity, -32600, "Invalid request")


def test_the_last_of_two_equal_keys_wins() -> None:
    """Take the last of two equal keys."""
    assert call_of(b'{"jsonrpc":"2.0","method":"a","method":"b","id":1}').method == "b"


def test_a_batch_keeps_its_order_and_refuses_its_bad_entries_one_by_one() -> None:
    """Keep a batch's order and refuse bad entries one by one, so that the good ones are answered."""
    good = b'{"jsonrpc":"2.0","method":"m","id":1}'
    parsed = parse(b" \n [%b, 7, [%b], {}]" % (good, good))
    assert isinstance(parsed, RpcBatch)
    assert [type(entry) for entry in parsed.entries] == [
        RpcCall,
        RefusedMessage,
        RefusedMessage,
        RefusedMessage,
    ]
    assert {entry.error.code for entry in parsed.entries if isinstance(entry, RefusedMessage)} == {-32600}


@pytest.mark.parametrize("before", [b"", b"\n", b" " * 63, b" " * 64, b"\t" * 500])
def test_white_space_before_a_batch_does_not_hide_it(before: bytes) -> None:
    """Recognize a batch behind any white space."""
    assert isinstance(parse(before + b'[{"jsonrpc":"2.0","method":"m","id":1}]'), RpcBatch)
    assert isinstance(parse(before + b'{"jsonrpc":"2.0","method":"m","id":1}'), RpcCall)


def test_a_batch_over_the_limit_is_refused_before_its_entries_are_read() -> None:
    """Refuse a batch over the limit as a whole, and every batch where none is allowed."""
    assert isinstance(parse(b"[1,1,1,1,1]"), RpcBatch)
    refused = refusal_of(b"[1,1,1,1,1,1]")
    assert (refused.id, refused.error.code, refused.error.data) == (
        b"null",
        -32010,
        "Exceeded max limit of 5",
    )
    alone = jsonrpc.parse(b"[1]", max_batch=0)
    assert isinstance(alone, RefusedMessage)
    assert alone.error.code == ErrorCode.BATCHES_REFUSED


@pytest.mark.parametrize("count", [jsonrpc.MAX_JSON_VALUES + 1, 1_000_000])
@pytest.mark.parametrize("piece", [b"1,", b"[", b'{"a":', b'"a",', b"[],", b'{"a":1},'])
@pytest.mark.parametrize("form", [b"[%b", b'{"jsonrpc":"2.0","method":"m","id":1,"params":[%b1]}'])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_message_of_too_many_values_is_refused_undecoded(
    count: int, piece: bytes, form: bytes, as_text: bool
) -> None:
    """Refuse a message of too many values undecoded, in any form: decoding is what would cost."""
    data = form % (piece * count)
    refused = refusal_of(data.decode() if as_text else data)
    assert (refused.error.code, refused.error.message) == (ErrorCode.REQUEST_TOO_BIG, "Request is too big")
    assert refused.error.data == f"Exceeded max limit of {jsonrpc.MAX_JSON_VALUES} JSON values"


def test_a_long_text_in_a_call_does_not_count_as_many_values() -> None:
    """Accept a long text in a call: its characters are not values."""
    text = "0x" + "ab" * 1_000_000
    call = call_of(b'{"jsonrpc":"2.0","method":"m","id":1,"params":["%b"]}' % text.encode())
    assert call.arguments() == [text]


def test_an_error_writes_data_only_if_it_has_any() -> None:
    """Write an error's data only where it has any."""
    without_data = json.loads(jsonrpc.failure(b"1", RpcError(-32601, "Method not found")))
    assert without_data == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32601, "message": "Method not found"},
    }
    full = json.loads(jsonrpc.failure(b'"x"', InvalidParams("No more params")))
    assert full["error"] == {"code": -32602, "message": "Invalid params", "data": "No more params"}


def test_a_notification_names_its_subscription() -> None:
    """Name the subscription in a notification."""
    message = json.loads(jsonrpc.notification("chain_newHead", "abc", b'{"number":"0x1"}'))
    assert message == {
        "jsonrpc": "2.0",
        "method": "chain_newHead",
        "params": {"subscription": "abc", "result": {"number": "0x1"}},
    }


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parser_raise(data: bytes) -> None:
    """Answer any bytes with a call, a batch or a refusal."""
    assert isinstance(parse(data), RpcCall | RpcBatch | RefusedMessage)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=10))
def test_no_json_makes_the_parser_raise(value: object) -> None:
    """Answer any JSON as method and id with a call or a refusal."""
    assert isinstance(
        parse(json.dumps({"jsonrpc": "2.0", "method": value, "id": value})), RpcCall | RefusedMessage
    )


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b'"\\udc00 and more text"', b'"\\ud800\\u0041 and more"', b'"\xc3("']
)
def test_unpaired_surrogates_never_reach_a_method(text: bytes) -> None:
    """Refuse unpaired surrogates before a method sees them: they cannot be encoded again."""
    parsed = parse(b'{"jsonrpc":"2.0","method":"m","id":1,"params":[%b]}' % text)
    if isinstance(parsed, RpcCall):
        with pytest.raises(InvalidParams):
            parsed.arguments()
    else:
        assert isinstance(parsed, RefusedMessage)
        assert parsed.error.code == ErrorCode.PARSE_ERROR


@st.composite
def near_calls(draw: st.DrawFn) -> bytes:
    """Return a call with some bytes replaced."""
    start, length = draw(st.integers(0, len(CALL_TEXT))), draw(st.integers(0, 8))
    return CALL_TEXT[:start] + draw(st.binary(max_size=6)) + CALL_TEXT[start + length :]


@given(
    st.binary(max_size=60)
    | near_calls()
    | st.sampled_from([CALL_TEXT, b" " + CALL_TEXT, b"[" + CALL_TEXT + b"]", b"{}"])
)
def test_a_short_call_is_read_as_any_message_is(text: bytes) -> None:
    """Read a short call on the fast path exactly as the whole parser reads it."""
    short = parse_short(text)
    whole = parse(text)
    if short is None:
        assert not isinstance(whole, RpcCall) or text[:1] != b"{"
    else:
        assert isinstance(whole, RpcCall)
        assert (short.method, short.reply_id) == (whole.method, whole.reply_id)
        assert bytes(short.params) == bytes(whole.params)


def test_a_long_call_is_not_read_as_a_short_one() -> None:
    """Leave a long call to the whole parser, which counts its values."""
    text = CALL_TEXT + b" " * MAX_JSON_VALUES
    assert parse_short(text) is None
    assert isinstance(parse(text), RpcCall)
