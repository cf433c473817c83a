"""JSON-RPC over HTTP: what is answered, with which status, and what is refused before it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cfnode.rpc.table.serde import Misread
from tests.rpc.clients import Http, StandIn, served
from tests.support.rpc.connections import call
from tests.support.rpc.rows import ECHO, ROWS


async def test_a_call_is_answered_with_status_200_and_its_own_id() -> None:
    """Answer a call with status 200, JSON and the call's own id."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post(call("system_health", identity="a-b"))
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.json() == {
            "jsonrpc": "2.0",
            "id": "a-b",
            "result": {"peers": 0, "isSyncing": False, "shouldHavePeers": False},
        }


async def test_one_connection_serves_many_calls() -> None:
    """Serve many calls on one connection."""
    async with served(ROWS) as port, Http(port) as http:
        for number in range(5):
            assert (await http.post(call("echo", [str(number)]))).json()["result"] == str(number)


async def test_requests_sent_ahead_are_answered_in_order() -> None:
    """Answer requests that were sent ahead in their order."""
    async with served(ROWS) as port, Http(port) as http:
        body = json.dumps(call("echo", ["x"])).encode()
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
        await http.stream.send_all(request + request.replace(b'"x"', b'"y"'))
        data = b""
        while b'"y"' not in data:
            data += await http.stream.receive_some(65536)
        assert data.index(b'"result":"x"') < data.index(b'"result":"y"')


async def test_garbage_after_a_request_costs_that_connection_alone() -> None:
    """Answer the request before garbage, which costs its own connection alone."""
    async with served(ROWS) as port, Http(port) as good:
        for garbage in (b"\x00\xff" * 50, b"POST", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n"):
            async with Http(port) as http:
                body = json.dumps(call("echo", ["x"])).encode()
                head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
                request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
                await http.stream.send_all(request + garbage)
                assert (await http.answer()).json()["result"] == "x"
        assert "result" in await good.call("system_health")


@pytest.mark.parametrize(
    ("params", "result"),
    [
        (["ab"], "ab"),
        (["ab", None], "ab"),
        (["ab", 2], "abab"),
        (["ab", 2, "surplus"], "abab"),
        ({"the_text": "ab"}, "ab"),
        ({"theText": "ab", "times": 2}, "abab"),
        ({"the_text": "ab", "times": None, "unknown": 1}, "ab"),
    ],
)
async def test_parameters_come_by_position_or_by_name_in_both_spellings(params: Any, result: str) -> None:
    """Read parameters by position or by name in both spellings, and ignore surplus ones."""
    async with served(ROWS) as port, Http(port) as http:
        assert (await http.post(call("test_echo", params))).json()["result"] == result


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ([], "No more params"),
        ({}, "missing field `the_text` at line 1 column 2"),
        ({"times": 1}, "missing field `the_text` at line 1 column 12"),
        ({"times": "x", "the_text": 5}, 'invalid type: string "x", expected u32 at line 1 column 13'),
        ([5], "invalid type: integer `5`, expected a string at line 1 column 1"),
        ([None], "invalid type: null, expected a string at line 1 column 4"),
        (["a", "b"], 'invalid type: string "b", expected u32 at line 1 column 4'),
        (["a", -1], "invalid value: integer `-1`, expected u32 at line 1 column 3"),
        (["a", True], "invalid type: boolean `true`, expected u32 at line 1 column 5"),
        (["a", 1.5], "invalid type: floating point `1.5`, expected u32 at line 1 column 4"),
        ({"theText": "a", "times": []}, "invalid type: sequence, expected u32 at line 1 column 26"),
        ("text", "Invalid params. Expected one of '[', ']' or ',' but found \"\\\"text\\\"\""),
    ],
)
async def test_a_wrong_parameter_is_refused_in_the_words_of_the_official_node(
    params: Any, reason: str
) -> None:
    """Refuse a wrong parameter in the words of the official node, with line and column."""
    async with served(ROWS) as port, Http(port) as http:
        error = (await http.post(call("test_echo", params))).json()["error"]
        assert error == {"code": -32602, "message": "Invalid params", "data": reason}


async def test_an_unknown_method_and_a_broken_one_have_their_codes_and_reveal_nothing() -> None:
    """Answer an unknown method and a broken one with their codes, and reveal nothing of the bug."""
    async with served(ROWS) as port, Http(port) as http:
        unknown = (await http.call("test_nothing"))["error"]
        assert unknown == {"code": -32601, "message": "Method not found"}
        assert (await http.call("test_bug"))["error"] == {"code": -32603, "message": "Internal error"}
        assert (await http.call("system_health"))["result"]["peers"] == 0


async def test_notifications_get_an_empty_answer() -> None:
    """Answer notifications with an empty body."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post({"jsonrpc": "2.0", "method": "system_health"})
        assert (answer.status, answer.body) == (200, b"")
        batch = await http.post([{"jsonrpc": "2.0", "method": "system_health"}] * 3)
        assert (batch.status, batch.body) == (200, b"")


async def test_a_batch_is_answered_in_its_order_and_an_entry_that_fails_fails_alone() -> None:
    """Answer a batch in its order; an entry that fails fails alone."""
    async with served(ROWS) as port, Http(port) as http:
        batch = [call("echo", ["x"], 1), 7, call("nothing", identity=2), call("echo", ["y"], "3")]
        answers = (await http.post(batch)).json()
        assert [entry["id"] for entry in answers] == [1, None, 2, "3"]
        assert [entry.get("error", {}).get("code") for entry in answers] == [None, -32600, -32601, None]


@pytest.mark.parametrize(
    ("size", "limit", "code", "message"),
    [
        (0, 100, -32600, "Invalid request"),
        (101, 100, -32010, "The batch request was too large"),
        (1, 0, -32005, "Batched requests are not supported by this server"),
    ],
)
async def test_batches_that_are_not_served_get_one_error(
    size: int, limit: int, code: int, message: str
) -> None:
    """Answer a batch that is empty, too large or not served with one error."""
    async with served(ROWS, max_batch=limit) as port, Http(port) as http:
        answer = (await http.post([call("system_health")] * size)).json()
        assert (answer["id"], answer["error"]["code"], answer["error"]["message"]) == (None, code, message)


async def test_a_batch_of_a_hundred_is_served() -> None:
    """Serve a batch of a hundred calls."""
    async with served(ROWS) as port, Http(port) as http:
        assert len((await http.post([call("system_health")] * 100)).json()) == 100


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 200),
        (b"[" * 30_000, 200),
        (b'{"jsonrpc":"2.0","method":"m","id":NaN}', 200),
        (b"", 400),
        (b"  7", 400),
        (b"x" * 30_000, 400),
    ],
)
async def test_what_is_no_json_is_a_parse_error_and_the_server_goes_on(body: bytes, status: int) -> None:
    """Answer what is not JSON with a parse error, by the official status, and go on."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post(body)
        assert answer.status == status
        assert answer.json() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32700, "message": "Parse error"},
        }
        assert "result" in await http.call("system_health")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_only_json_is_read(content_type: str) -> None:
    """Refuse other content types with a hint: a foreign page can post text, but not JSON."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post(call("system_health"), content_type=content_type)
        assert answer.status == 415
        assert "-H 'content-type: application/json'" in answer.body.decode()


async def test_a_browser_gets_a_page_and_a_program_does_not() -> None:
    """Give a browser a page with a strict policy, and a program 405."""
    async with served(ROWS) as port, Http(port) as http:
        for accept, status in (("text/html,*/*", 200), ("*/*", 405)):
            answer = await http.request("GET", "/", accept=accept)
            assert answer.status == status
            policy = answer.headers.get("content-security-policy", "")
            assert policy.startswith("default-src 'none'") == (status == 200)
            assert (b"cfnode service run --web" in answer.body) == (status == 200)


@pytest.mark.parametrize("content_type", ["Application/JSON; charset=UTF-8", "application/json-rpc"])
async def test_a_charset_does_not_matter_and_json_rpc_has_a_type_of_its_own(content_type: str) -> None:
    """Accept any charset, and the type application/json-rpc."""
    async with served(ROWS) as port, Http(port) as http:
        answer = await http.post(call("system_health"), content_type=content_type)
        assert answer.status == 200


async def test_a_short_request_over_the_limit_is_413_too() -> None:
    """The path for requests that come in one piece passed over the limit."""
    body = json.dumps(call("system_health")).encode()
    async with served(ROWS, max_request_size=len(body)) as port, Http(port) as http:
        assert (await http.post(body)).status == 200
        assert (await http.post(body + b" ")).status == 413


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
async def test_other_verbs_are_405(verb: str) -> None:
    """Answer other verbs with 405 and those that are allowed."""
    async with served(ROWS) as port, Http(port) as http:
        head = f"{verb} / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n"
        await http.stream.send_all(head.encode())
        data = bytes(await http.stream.receive_some(4096))
        assert data.startswith(b"HTTP/1.1 405 ")
        assert b"allow: POST, OPTIONS\r\n" in data


async def test_a_body_over_the_limit_is_413_at_its_announcement() -> None:
    """Refuse a body over the limit at its announced length, before it is sent."""
    async with served(ROWS, max_request_size=1000) as port, Http(port) as http:
        await http.stream.send_all(
            f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
            "content-length: 1001\r\n\r\n".encode()
        )
        answer = await http.answer()
        assert answer.status == 413
        assert answer.json()["error"] == {
            "code": -32007,
            "message": "Request is too big",
            "data": "Exceeded max limit of 1000",
        }


async def test_a_chunked_body_without_an_end_is_413_as_soon_as_the_count_is_passed() -> None:
    """Refuse a chunked body without an end as soon as its count passes the limit."""
    async with served(ROWS, max_request_size=100_000) as port, Http(port) as http:
        await http.stream.send_all(
            f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        for _ in range(11):
            await http.stream.send_all(b"2710\r\n" + b" " * 10_000 + b"\r\n")
        assert (await http.answer()).status == 413


async def test_a_body_at_the_limit_is_served() -> None:
    """Serve a body that is exactly at the limit."""
    async with served(ROWS, max_request_size=1000) as port, Http(port) as http:
        body = json.dumps(call("system_health")).encode()
        assert (await http.post(body + b" " * (1000 - len(body)))).status == 200


async def test_an_answer_over_the_limit_is_an_error() -> None:
    """Answer with an error in place of an answer over the limit, of a call and of a batch."""
    async with served(ROWS, max_response_size=1000) as port, Http(port) as http:
        assert len((await http.call("echo", "x" * 998))["result"]) == 998
        assert (await http.call("echo", "x" * 999))["error"] == {
            "code": -32008,
            "message": "Response is too big",
            "data": "Exceeded max limit of 1000",
        }
        batch = (await http.post([call("echo", ["x" * 500]), call("echo", ["y" * 500])])).json()
        assert batch["error"]["code"] == -32011


async def test_health_pages() -> None:
    """Report health, and readiness only when the node is synced and has the peers that it should have."""
    node = StandIn(is_syncing=True, should_have_peers=True)
    async with served(ROWS, node) as port, Http(port) as http:
        page = await http.request("GET", "/health")
        assert (page.status, page.json()) == (200, node.health())
        page = await http.request("GET", "/health/readiness")
        assert (page.status, page.json()) == (
            500,
            {**node.health(), "reasons": [{"kind": "syncing", "message": "Waiting for peers"}]},
        )
        assert (await http.request("GET", "/health/liveness")).status == 200
        node.is_syncing = False
        assert (await http.request("GET", "/health/readiness")).status == 500
        node.should_have_peers = False
        assert (await http.request("GET", "/health/readiness")).status == 200
        node.should_have_peers, node.peers = True, 1
        assert (await http.request("GET", "/health/readiness")).status == 200


async def test_while_syncing_nothing_is_submitted() -> None:
    """Refuse to submit anything while the node is syncing."""
    node = StandIn(is_syncing=True)
    async with served(ROWS, node) as port, Http(port) as http:
        error = (await http.call("test_submit"))["error"]
        assert error["code"] == -32000
        assert "isSyncing" in error["message"]
        node.is_syncing = False
        assert (await http.call("test_submit"))["result"] is True


async def test_subscriptions_need_a_websocket() -> None:
    """Refuse a subscription over HTTP, as the official node does."""
    from tests.support.rpc.rows import COUNT

    async with served([COUNT]) as port, Http(port) as http:
        assert (await http.call("test_subscribeCount", 3))["error"] == {
            "code": -32603,
            "message": "Internal error",
        }
        assert (await http.call("test_unsubscribeCount", "x"))["error"]["code"] == -32603


def test_a_readers_error_knows_its_parameter() -> None:
    """Keep the place of the parameter in a reader's error."""
    with pytest.raises(Misread, match="invalid value: integer `4294967296`, expected u32") as caught:
        ECHO.bind(["x", 2**32])
    assert caught.value.path == (1,)
