"""Bytes that no client should send, by the hundred: each costs its own connection, and no line in the log."""

from __future__ import annotations

import logging
import random

import pytest
import trio

from tests.lengths import repeats
from tests.rpc.clients import Http, WebSocket, served
from tests.support.rpc.rows import COUNT, ROWS

CALL = b'{"jsonrpc":"2.0","id":1,"method":"system_health"}'
HANDSHAKE = (
    b"upgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n"
)
MASK = bytes(4)
FRAMES = (
    bytes([0x81, 0x80 | len(CALL)]) + MASK + CALL,
    bytes([0x88, 0x82]) + MASK + b"\x03\xe8",
    bytes([0x89, 0x84]) + MASK + b"ping",
    bytes([0x01, 0x81]) + MASK + b"{",
    bytes([0x80, 0x81]) + MASK + b"}",
)


def spoilt(chance: random.Random, data: bytes) -> bytes:
    """Return a few bytes changed, left out or put in."""
    spoiling = bytearray(data)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(spoiling))
        kind = chance.randrange(3)
        if kind == 0:
            spoiling[at] = chance.randrange(256)
        elif kind == 1:
            del spoiling[at : min(at + chance.randint(1, 10), len(spoiling) - 1)]
        else:
            spoiling[at:at] = chance.randbytes(chance.randint(1, 10))
    return bytes(spoiling)


async def throw(port: int, data: bytes) -> None:
    """Send and leave."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    try:
        await stream.send_all(data)
        with trio.move_on_after(0.002):  # it leaves whether an answer comes or not
            await stream.receive_some(1000)
    except trio.BrokenResourceError:
        pass
    await trio.aclose_forcefully(stream)


@pytest.mark.parametrize("seed", range(2))
async def test_spoilt_requests_and_handshakes(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Survive spoilt requests and handshakes without a warning in the log."""
    chance = random.Random(seed)
    async with served([*ROWS, COUNT]) as port:
        host = f"host: 127.0.0.1:{port}\r\n".encode()
        post = b"POST / HTTP/1.1\r\n" + host + b"content-type: application/json\r\n"
        post += b"content-length: %d\r\n\r\n%b" % (len(CALL), CALL)
        shake = b"GET / HTTP/1.1\r\n" + host + HANDSHAKE
        for _ in range(150):
            await throw(port, spoilt(chance, chance.choice((post, post + post, shake, shake + FRAMES[0]))))
        async with Http(port) as http:
            assert "result" in await http.call("system_health")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("seed", range(repeats(2, 1)))
async def test_spoilt_frames(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Survive spoilt frames without a warning in the log."""
    chance = random.Random(seed)
    async with served([*ROWS, COUNT]) as port:
        for _ in range(150):
            async with WebSocket(port) as ws:
                for _ in range(chance.randint(1, 4)):
                    try:
                        await ws.stream.send_all(spoilt(chance, chance.choice(FRAMES)))
                        with trio.move_on_after(0.001):  # whether an answer comes or not
                            await ws.stream.receive_some(1000)
                    except trio.BrokenResourceError:
                        break
        async with WebSocket(port) as ws:
            assert "result" in await ws.call("system_health")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
