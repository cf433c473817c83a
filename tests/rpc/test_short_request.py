"""A POST that comes in one piece is answered without hypercorn, and exactly as with it."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core import jsonrpc
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.port.access import AccessDecision, AccessPolicy, RequestHeaders
from cfnode.rpc.table.rows import Method
from cfnode.serving import connection as connection_module
from cfnode.serving.shares import MIN_IDLE_S
from cfnode.serving.short_request import MAX_SHORT_BODY_BYTES, MAX_SHORT_HEAD_BYTES, short_request
from tests.rpc.clients import Http, StandIn, WebSocket, served
from tests.support.rpc.rows import ROWS
from tests.support.waiting import LIMIT_S

BODY = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":["x"]}'


def post(body: bytes = BODY, *lines: str, target: str = "/", length: int | None = None) -> bytes:
    """Return a POST with these header lines besides the usual ones."""
    usual = ("host: localhost", "content-type: application/json")
    head = [
        f"POST {target} HTTP/1.1",
        *usual,
        *lines,
        f"content-length: {len(body) if length is None else length}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    "data",
    [
        post(),
        post(b""),
        post(BODY, "Connection: Keep-Alive"),
        post(BODY, "X-Empty:", "x-tab:\tvalue\t"),
        post(b" " * MAX_SHORT_BODY_BYTES),
        post(target="/any/path?with=query"),
        post() + b"GET / HTTP/1.1\r\n",
    ],
)
def test_the_usual_request_is_short(data: bytes) -> None:
    """Read the usual request in one piece, and leave what follows it."""
    request = short_request(data)
    assert request is not None
    assert data[: request.size].endswith(request.body)
    assert request.headers[b"host"] == b"localhost"
    assert request.headers[b"content-length"] == b"%d" % len(request.body)
    assert request.path in ("/", "/any/path")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        post()[:-1],
        post().replace(b"POST", b"GET"),
        post().replace(b"HTTP/1.1", b"HTTP/1.0"),
        post().replace(b"POST /", b"POST  /"),
        post().replace(b"\r\n", b"\n"),
        post(BODY, "transfer-encoding: chunked"),
        post(BODY, "Expect: 100-continue"),
        post(BODY, "connection: close"),
        post(BODY, "connection: upgrade", "upgrade: websocket"),
        post(BODY, "host: other"),
        post(BODY, f"Content-Length: {len(BODY)}"),
        post(BODY, "x-folded: a\r\n b"),
        post(BODY, "x-nul: \0"),
        post(BODY, "x-bare: a\rb"),
        post(BODY, "space in name: a"),
        post(BODY, "no-colon"),
        post(BODY, "x: " + "a" * MAX_SHORT_HEAD_BYTES),
        post(b" " * (MAX_SHORT_BODY_BYTES + 1)),
        post(target="/per%63ent"),
        post(target="http://localhost/"),
        post().replace(b"content-length: ", b"content-length: +"),
        post().replace(b"content-length: ", b"content-length: 0x"),
        post().replace(b"content-length", b"content-size"),
    ],
)
def test_anything_unusual_is_left_to_hypercorn(data: bytes) -> None:
    """Leave anything unusual to hypercorn: other verbs, lengths, encodings, folded or repeated lines."""
    assert short_request(data) is None


@given(st.binary(max_size=300), st.integers(0, 200), st.integers(0, 200))
def test_no_bytes_raise(junk: bytes, start: int, length: int) -> None:
    """Raise for no bytes, and claim no more than there are."""
    data = post()
    mixed = data[:start] + junk + data[start + length :]
    for candidate in (junk, mixed, mixed + data):
        request = short_request(candidate)
        assert request is None or request.size <= len(candidate)


REQUESTS = {
    "call": post(),
    "unknown method": post(b'{"jsonrpc":"2.0","id":1,"method":"nothing"}'),
    "notification": post(b'{"jsonrpc":"2.0","method":"echo","params":["x"]}'),
    "batch": post(b"[" + BODY + b"," + BODY + b"]"),
    "malformed": post(b"{"),
    "no body": post(b""),
    "large answer": post(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":["' + b"x" * 9_000 + b'",9]}'),
    "allowed origin": post(BODY, "origin: http://localhost:3000"),
    "foreign origin": post(BODY, "origin: https://evil.example"),
    "foreign host": post().replace(b"host: localhost", b"host: evil.example"),
    "no JSON": post().replace(b"application/json", b"text/plain"),
}


async def answer_to(port: int, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the answer to a request in pieces, without its date."""
    async with Http(port) as http:
        for piece in pieces:
            await http.stream.send_all(piece)
            await trio.testing.wait_all_tasks_blocked()  # the server has read it
        answer = await http.answer()
    answer.headers.pop("date")
    return answer.status, answer.headers, answer.body


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_answer_is_the_one_that_hypercorn_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the answer that hypercorn gives, for each kind of request."""
    short: list[object] = []

    def recorded(data: bytes) -> object:
        short.append(short_request(data))
        return short[-1]

    async with served(ROWS) as port:
        request = REQUESTS[name].replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1)
        monkeypatch.setattr(connection_module, "short_request", recorded)
        ours = await answer_to(port, request)
        assert short[0] is not None
        monkeypatch.setattr(connection_module, "short_request", lambda data: None)
        assert await answer_to(port, request) == ours


async def test_the_head_has_the_same_bytes_as_hypercorns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the bytes of the head that hypercorn writes."""
    async with served(ROWS) as port:
        request = post().replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1)
        heads = []
        for _ in range(2):
            async with Http(port) as http:
                await http.stream.send_all(request)
                heads.append(re.sub(rb"date: [^\r]*", b"date:", bytes(await http.stream.receive_some(4096))))
            monkeypatch.setattr(connection_module, "short_request", lambda data: None)
        assert heads[0] == heads[1]


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_head_that_comes_again_is_answered_with_the_same_bytes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer a head that comes again with the bytes of the first time."""

    async def answers(port: int, *requests: bytes) -> list[bytes]:
        received = []
        async with Http(port) as http:
            for request in requests:
                await http.stream.send_all(request.replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1))
                answer = await http.answer()
                answer.headers.pop("date")
                received.append(repr(answer).encode())
        return received

    async with served(ROWS) as port:
        request = REQUESTS[name]
        head, _, body = request.partition(b"\r\n\r\n")
        same_head = head + b"\r\n\r\n" + b" " * len(body)
        requests = (request, request, same_head, post(), request, request)
        ours = await answers(port, *requests)
        monkeypatch.setattr(connection_module, "short_request", lambda data: None)
        assert await answers(port, *requests) == ours


async def test_a_head_is_judged_once_until_tokens_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judge a head once, and anew after the tokens were read again: a revoked token must not stay valid."""
    judged: list[bytes] = []
    judge = AccessPolicy.judge

    def counted(policy: AccessPolicy, peer: str, headers: RequestHeaders, **choices: Any) -> AccessDecision:
        judged.append(headers.get(b"authorization", b""))
        return judge(policy, peer, headers, **choices)

    monkeypatch.setattr(AccessPolicy, "judge", counted)
    path = tmp_path / "tokens"
    path.touch(0o600)
    path.write_text(f"shop read {'a' * 32}\n")
    async with served(ROWS, auth_token_file=path) as port, Http(port) as http:
        request = post(BODY, f"authorization: Bearer {'a' * 32}")
        request = request.replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1)
        for _ in range(4):
            await http.stream.send_all(request)
            assert (await http.answer()).status == 200
        assert len(judged) == 1
        path.write_text(f"shop read {'b' * 32}\n")
        with trio.fail_after(LIMIT_S):
            signal.raise_signal(signal.SIGHUP)
            while True:
                await http.stream.send_all(request)
                if (await http.answer()).status == 401:
                    break


async def test_it_may_be_cut_anywhere_and_other_requests_may_follow() -> None:
    """Serve a request that is cut anywhere, and the requests behind it."""
    async with served(ROWS) as port:
        request = post().replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1)
        whole = await answer_to(port, request)
        for cut in range(1, len(request), 7):
            assert await answer_to(port, request[:cut], request[cut:]) == whole
        async with Http(port) as http:  # the same head each time
            for cut in range(1, len(request), 7):
                for pieces in ([request], [request[:cut], request[cut:]]):
                    for piece in pieces:
                        await http.stream.send_all(piece)
                        await trio.testing.wait_all_tasks_blocked()
                    answer = await http.answer()
                    answer.headers.pop("date")
                    assert (answer.status, answer.headers, answer.body) == whole
        chunked = request.replace(b"content-length: %d" % len(BODY), b"transfer-encoding: chunked")
        chunked = chunked.replace(BODY, b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))
        async with Http(port) as http:
            await http.stream.send_all(request + chunked + request + request)
            received = b""
            while received.count(b'"result":"x"') < 4:
                received += await http._more()
        assert received.count(b"HTTP/1.1 200") == 4


async def test_a_connection_is_not_idle_while_it_answers(mock_clock: trio.testing.MockClock) -> None:
    """Count no connection as idle while it answers."""
    mock_clock.rate = 1  # the server's end takes some time
    async with served(ROWS, max_connections=1) as port, Http(port) as busy:
        body = b'{"jsonrpc":"2.0","id":1,"method":"test_wait"}'
        await busy.stream.send_all(post(body).replace(b"localhost\r\n", b"localhost:%d\r\n" % port, 1))
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(MIN_IDLE_S + 1)
        async with Http(port) as other:
            assert (await other.post(b"{}")).status == 429


async def soon(node: StandIn) -> str:
    """Answer after a turn of the loop."""
    await trio.lowlevel.checkpoint()
    return "soon"


@pytest.mark.parametrize("kind", [Http, WebSocket])
async def test_a_request_whose_answer_waits_is_parsed_and_tried_once(
    monkeypatch: pytest.MonkeyPatch, kind: type[Http | WebSocket]
) -> None:
    """Parse and try a request once, although its answer has to wait."""
    parse, try_now, parsed, tried = jsonrpc._parse_call, Dispatcher._text_now, 0, 0

    def counted_parse(*arguments: Any, **named: Any) -> Any:
        nonlocal parsed
        parsed += 1
        return parse(*arguments, **named)

    def counted_try(*arguments: Any) -> Any:
        nonlocal tried
        tried += 1
        return try_now(*arguments)

    monkeypatch.setattr(jsonrpc, "_parse_call", counted_parse)
    monkeypatch.setattr(Dispatcher, "_text_now", counted_try)
    async with served((Method("test_soon", soon),)) as port, kind(port) as client:
        for _ in range(4):
            assert (await client.call("test_soon"))["result"] == "soon"
    assert (parsed, tried) == (4, 4)
