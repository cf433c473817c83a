"""Messages for a JSON-RPC server, and what it answers to each, as lines of text that can be compared.

The server has the methods of `METHODS` and the subscription of `SUBSCRIPTION`, and the limits of `LIMITS`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import trio

from tests.rpc.clients import Http, WebSocket

__all__ = ["BATCH_LIMIT", "CASES", "LIMITS", "METHODS", "SUBSCRIPTION", "Case", "answers_of"]

LIMITS: Final = {
    "max_request_size": 1_000,
    "max_response_size": 1_000,
    "max_connections": 100,
    "max_subscriptions": 2,
}
"""Bytes of a message and of an answer, connections, subscriptions of a connection."""
BATCH_LIMIT: Final = 3
METHODS: Final[dict[str, Any]] = {"test_word": "word", "test_null": None, "test_long": "x" * 900}
"""Each method's result; of two of the longest a batch may have one."""
TOO_LONG: Final = "test_tooLong"
"""A method whose result is longer than an answer may be."""
SUBSCRIPTION: Final = {
    "notification": "test_news",
    "unsubscribe": "test_unsubscribe",
    "message": {"number": 1},
}
SUBSCRIBE: Final = "test_subscribe"
PROBE: Final = b'{"jsonrpc":"2.0","id":"probe","method":"test_word"}'
PROBES: Final = 5
"""Calls one after another, each of which gives the server a turn for what it still has to send."""
CLOSE: Final = 8
"""The opcode of a close frame."""
PATIENCE_S: Final = 60.0
"""Seconds until a server that does not answer fails the test."""


@dataclass(frozen=True)
class Frame:
    """A frame that a client sends, or with `raw` bytes as they are."""

    payload: bytes
    opcode: int = 1
    is_final: bool = True
    raw: bool = False


@dataclass(frozen=True)
class Case:
    """Messages to send. `batch`: how many calls a batch may have; 0: none, None: as many as fit."""

    name: str
    frames: tuple[Frame, ...] = ()
    request: tuple[str, dict[str, str], bytes] | None = None
    """Verb, headers and body of a request of HTTP."""
    batch: int | None = BATCH_LIMIT
    notifications: int = 0
    """How many notifications follow."""
    ends: bool = False
    """Whether a server that goes by RFC 6455 ends the connection."""


def call(method: str = "test_word", identity: str = "1", rest: str = "") -> str:
    return f'{{"jsonrpc":"2.0","id":{identity},"method":"{method}"{rest}}}'


def batch(*entries: str) -> str:
    return f"[{','.join(entries)}]"


NOTIFICATION: Final = '{"jsonrpc":"2.0","method":"test_word"}'
TEXTS: Final[dict[str, str | bytes]] = {
    "a call": call(),
    "a call that wants null": call("test_null"),
    "the members in another order": '{"method":"test_word","id":1,"jsonrpc":"2.0"}',
    "white space around": f" \n\t{call()}\r\n ",
    "128 blanks before it": f"{' ' * 128}{call()}",
    "more text after it": f"{call()} x",
    "a byte order mark": f"\ufeff{call()}",
    "the id a text": call(identity='"a"'),
    "the id an empty text": call(identity='""'),
    "the id with escapes": call(identity='"\\u00e4\\/"'),
    "the id null": call(identity="null"),
    "the id 2^64 - 1": call(identity=str(2**64 - 1)),
    "the id 2^64": call(identity=str(2**64)),
    "the id -1": call(identity="-1"),
    "the id 1.5": call(identity="1.5"),
    "the id 1.0": call(identity="1.0"),
    "the id true": call(identity="true"),
    "the id an object": call(identity="{}"),
    "the id an array": call(identity="[1]"),
    "no id": NOTIFICATION,
    "no id, and an unknown method": '{"jsonrpc":"2.0","method":"test_nothing"}',
    "the id twice": '{"jsonrpc":"2.0","id":1,"id":2,"method":"test_word"}',
    "an unknown member": call(rest=',"more":1'),
    "an unknown method": call("test_nothing"),
    "an unknown method with a text as id": call("test_nothing", '"b"'),
    "an empty method": call(""),
    "the method a number": '{"jsonrpc":"2.0","id":1,"method":1}',
    "no method": '{"jsonrpc":"2.0","id":1}',
    "no jsonrpc": '{"id":1,"method":"test_word"}',
    "jsonrpc 1.0": '{"jsonrpc":"1.0","id":1,"method":"test_word"}',
    "jsonrpc a number": '{"jsonrpc":2.0,"id":1,"method":"test_word"}',
    "params null": call(rest=',"params":null'),
    "params an empty object": call(rest=',"params":{}'),
    "params a number": call(rest=',"params":1'),
    "params a text": call(rest=',"params":"x"'),
    "nothing": "",
    "blanks": "   ",
    "a number": "1",
    "a text": '"x"',
    "null": "null",
    "half an object": '{"jsonrpc":"2.0","id":1,',
    "half an object after its id": '{"jsonrpc":"2.0","id":7,"method":"test_word"',
    "an answer": '{"jsonrpc":"2.0","id":1,"result":1}',
    "bytes that are not UTF-8 in a parameter": call(rest=',"params":["\xff"]').encode("latin-1"),
    "an answer beyond the limit": call(TOO_LONG),
    "a batch of one": batch(call()),
    "a batch of two": batch(call(), call(identity='"z"')),
    "a batch with a notification": batch(NOTIFICATION, call()),
    "a batch of notifications": batch(NOTIFICATION, NOTIFICATION),
    "an empty batch": batch(),
    "a batch of a number": batch("1"),
    "a batch with an object that is no call": batch(call(), '{"id":5}'),
    "a batch with a batch": batch(call(), batch(call())),
    "a batch with an unknown method": batch(call("test_nothing"), call()),
    "a batch with half an entry": batch(call(), '{"id":5'),
    "a batch beyond the number of calls": batch(*[call()] * (BATCH_LIMIT + 1)),
    "a batch of wrong entries beyond the number": batch(*["1"] * (BATCH_LIMIT + 1)),
    "a batch whose answer is beyond the limit": batch(call("test_long"), call("test_long")),
    "a batch with an answer beyond the limit": batch(call(), call(TOO_LONG)),
    "a call of the largest size": call(rest=" " * (1_000 - len(call()))),
    "a call beyond the largest size": call(rest=" " * (1_001 - len(call()))),
    "a batch beyond the largest size": batch(call(rest=" " * 1_000)),
    "a subscription in a batch": batch(call(SUBSCRIBE)),
    "the end of an unknown subscription": call("test_unsubscribe", rest=',"params":["nothing"]'),
    "the end of a subscription without its id": call("test_unsubscribe"),
}
"""What is sent over both, and what it is."""
NOT_OVER_HTTP: Final = {"the end of an unknown subscription", "the end of a subscription without its id"}
JSON: Final = {"content-type": "application/json"}
CHUNKED: Final = JSON | {"transfer-encoding": "chunked", "content-length": ""}


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def http_cases() -> list[Case]:
    """Return requests of HTTP."""
    body = call().encode()
    cases = [
        Case(f"{name}", request=("POST", JSON, encoded(text)))
        for name, text in TEXTS.items()
        if name not in NOT_OVER_HTTP
    ]
    verbs = ("GET", "PUT", "DELETE")
    cases += [Case(f"{verb} in place of POST", request=(verb, JSON, body)) for verb in verbs]
    types = {
        "no content type": {},
        "the content type text/plain": {"content-type": "text/plain"},
        "the content type application/json-rpc": {"content-type": "application/json-rpc"},
        "the content type with its charset": {"content-type": "application/json; charset=utf-8"},
        "the content type with another charset": {"content-type": "application/json; charset=latin-1"},
        "the content type in capitals": {"content-type": "Application/JSON"},
    }
    cases += [Case(name, request=("POST", headers, body)) for name, headers in types.items()]
    cases.append(Case("a subscription", request=("POST", JSON, call(SUBSCRIBE).encode())))
    cases += [
        Case("a batch where none is allowed", request=("POST", JSON, batch(call()).encode()), batch=0),
        Case("an empty batch where none is allowed", request=("POST", JSON, b"[]"), batch=0),
        Case("a batch of forty where all are allowed",
             request=("POST", JSON, batch(*["1"] * 40).encode()), batch=None),
        Case("a body in chunks", request=("POST", CHUNKED, chunks(body[:20], body[20:]))),
        Case("a body in chunks beyond the largest size",
             request=("POST", CHUNKED, chunks(b" " * 600, b" " * 600))),
    ]  # fmt: skip
    return cases


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))


def websocket_cases() -> list[Case]:
    """Return messages of a WebSocket."""
    body = call().encode()
    subscribe = call(SUBSCRIBE).encode()
    cases = [
        Case(f"{name}", (Frame(encoded(text)),), notifications=int(name == "a subscription in a batch"))
        for name, text in TEXTS.items()
    ]
    return [
        *cases,
        Case("a binary message", (Frame(body, opcode=2),)),
        Case("a message in three frames",
             (Frame(body[:9], is_final=False), Frame(body[9:20], 0, is_final=False), Frame(body[20:], 0))),
        Case("a ping between its frames",
             (Frame(body[:9], is_final=False), Frame(b"", 9), Frame(body[9:], 0))),
        Case("a message beyond the largest size in three frames",
             (Frame(b" " * 500, is_final=False), Frame(b" " * 600, 0, is_final=False), Frame(b" " * 500, 0))),
        Case("two messages beyond the largest size", (Frame(b" " * 1_001), Frame(b" " * 1_001))),
        Case("a message of ten times the largest size", (Frame(b" " * 10_000),)),
        Case("a binary message beyond the largest size", (Frame(b" " * 1_001, opcode=2),)),
        Case("a subscription, then a message beyond the largest size",
             (Frame(subscribe), Frame(b" " * 1_001)), notifications=1),
        Case("a subscription", (Frame(subscribe),), notifications=1),
        Case("a subscription too many", (Frame(subscribe),) * 3, notifications=2),
        Case("a batch where none is allowed", (Frame(batch(call()).encode()),), batch=0),
        Case("a pong without a ping", (Frame(b"x", 10),)),
        Case("a close frame", (Frame(b"", 8),), ends=True),
        Case("a close frame with a code", (Frame((1000).to_bytes(2, "big"), 8),), ends=True),
        Case("a close frame with a code and a reason", (Frame(b"\x0f\xa0bye", 8),), ends=True),
        Case("a close frame of one byte", (Frame(b"\x03", 8),), ends=True),
        Case("a close frame with the code 1005", (Frame((1005).to_bytes(2, "big"), 8),), ends=True),
        Case("a text that is not UTF-8", (Frame(b"\xff\xfe"),), ends=True),
        Case("an unknown opcode", (Frame(body, opcode=3),), ends=True),
        Case("a ping of 126 bytes", (Frame(b"x" * 126, 9),), ends=True),
        Case("a ping in two frames", (Frame(b"x", 9, is_final=False),), ends=True),
        Case("a frame that continues nothing", (Frame(body, 0),), ends=True),
        Case("a message within another one", (Frame(body[:9], is_final=False), Frame(body)), ends=True),
        Case("a frame without a mask", (Frame(bytes([0x81, len(body)]) + body, raw=True),), ends=True),
        Case("a frame with a reserved bit", (Frame(bytes([0xC1, 0x80]) + bytes(4), raw=True),), ends=True),
    ]  # fmt: skip


CASES: Final = {"HTTP": http_cases(), "WebSocket": websocket_cases()}


async def answers_of(port: int, case: Case) -> list[str]:
    """Return the answers of the server at this port, each as a line."""
    with trio.fail_after(PATIENCE_S):
        return await (over_http(port, case) if case.request else over_websocket(port, case))


async def over_http(port: int, case: Case) -> list[str]:
    assert case.request is not None
    verb, headers, body = case.request
    async with Http(port) as http:
        answer = await http.request(verb, "/", body, **headers)
    return [
        " ".join(filter(None, (str(answer.status), answer.headers.get("content-type"), answer.body.decode())))
    ]


async def over_websocket(port: int, case: Case) -> list[str]:
    """Return the messages until the server has answered calls that follow, or closes; and how it closed."""
    lines: list[str] = []
    async with WebSocket(port) as ws:

        async def receive() -> bool:
            """Keep the next message; whether it is the answer to a probe."""
            opcode, payload = await ws.frame()
            if b'"probe"' in payload:
                return True
            lines.append(line_of(opcode, payload))
            if opcode == CLOSE:
                raise EOFError
            return False

        try:
            for frame in case.frames:
                if frame.raw:
                    await ws.stream.send_all(frame.payload)
                else:
                    await ws.send(frame.payload, opcode=frame.opcode, final=frame.is_final)
            if case.ends:
                await receive()
            while sum("test_news" in line for line in lines) < case.notifications:
                await receive()
            for _ in range(PROBES):
                await ws.send(PROBE)
                while not await receive():
                    pass
        except (EOFError, trio.BrokenResourceError):
            if not (lines and lines[-1].startswith("close")):
                lines.append("the end of the connection")
    return sorted(lines)


def line_of(opcode: int, payload: bytes) -> str:
    """Return a frame of the server's; ids of subscriptions are random."""
    if opcode == CLOSE:
        code = int.from_bytes(payload[:2], "big") if payload else ""
        return " ".join(filter(None, ("close", str(code), payload[2:].decode())))
    kind = {1: "", 2: "binary ", 10: "pong "}[opcode]
    return kind + re.sub(r'("result"|"subscription"):"[A-Za-z0-9]{16}"', r'\1:"…"', payload.decode())


def program_arguments(batch: int | None) -> str:
    """Return the argument of the program `jsonrpsee_peer`."""
    methods = METHODS | {TOO_LONG: "x" * 2_000}
    return json.dumps(
        {**LIMITS, "batch": batch, "methods": methods, "subscriptions": {SUBSCRIBE: SUBSCRIPTION}}
    )
