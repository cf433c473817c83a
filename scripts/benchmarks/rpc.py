"""Rate of calls that the JSON-RPC server answers, over HTTP and WebSocket, against bare hypercorn.

Three servers in processes of their own, called by the same client on 50 connections, by turns so that other
load on the machine affects all alike; of the rounds the best counts. The client is as lean as Python allows
(plain sockets, one selector, prepared bytes), since it shares the machine's cores with what it measures.

If CFNODE_BENCH_BEFORE names a checkout of an older version, with its .venv, its node is called by turns with
the present one, which may be at most 5 % slower.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import trio

HERE = Path(__file__).resolve().parent.parent.parent
MIN_OF_BEFORE = 0.95
CONNECTIONS = 50
ROUNDS = 6
SECONDS = 1.0
WARM_UP = 0.2
START_S = 120.0
"""Seconds for a server's start: on a machine that others use too, its imports alone take half a minute."""

CALL = b'{"jsonrpc":"2.0","id":1,"method":"system_health","params":[]}'
REPLY = b'{"jsonrpc":"2.0","id":1,"result":{"peers":0,"isSyncing":false,"shouldHavePeers":false}}'

Row = tuple[str, str, str, bool]


# The servers


async def bare_application(scope: Any, receive: Any, send: Any) -> None:
    """Do the least that an ASGI application can do: read the body, answer with fixed bytes."""
    if scope["type"] == "lifespan":
        raise NotImplementedError
    while (await receive()).get("more_body"):
        pass
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", b"%d" % len(REPLY)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": REPLY})


async def serve_bare(port: int) -> None:
    """Serve with hypercorn's defaults, on trio."""
    from hypercorn.config import Config
    from hypercorn.trio import serve

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.errorlog = None
    config.keep_alive_max_requests = 10**9
    await serve(bare_application, config)


async def serve_loop(port: int) -> None:
    """Serve without a server: a trio loop that sends fixed bytes for anything it receives."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n"
    answer = f"{head}content-length: {len(REPLY)}\r\n\r\n".encode() + REPLY

    async def answer_all(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            while await stream.receive_some(65536):
                await stream.send_all(answer)

    await trio.serve_tcp(answer_all, port, host="127.0.0.1")


async def serve_node(port: int) -> None:
    """Serve with a whole development node that makes no blocks of its own."""
    from cfnode.devchain.chain import run
    from cfnode.devchain.config import DevConfig
    from cfnode.devchain.serving import serve
    from cfnode.node.config import Config, RpcConfig

    with tempfile.TemporaryDirectory() as base:
        config = Config(
            base_path=Path(base),
            chain="dev",
            prometheus=None,
            rpc=RpcConfig(port=port),
        )
        await run(config, DevConfig(seal="manual"), services=[serve])


SERVERS: dict[str, Callable[[int], Any]] = {"bare": serve_bare, "loop": serve_loop, "node": serve_node}


@contextmanager
def server(kind: str, tree: Path = HERE) -> Iterator[int]:
    """Run a server of a checkout in a process of its own; yield its port once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    python = sys.executable if tree == HERE else str(tree / ".venv" / "bin" / "python")
    # The working folder comes first on the path of `python -m`.
    process = subprocess.Popen([python, "-m", "scripts.benchmarks.rpc", kind, str(port)], cwd=tree)
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


# The client


def http_request(port: int) -> bytes:
    """Return one POST."""
    head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(CALL)}\r\n\r\n".encode() + CALL


def websocket_request() -> bytes:
    """Return one text frame under the mask 0."""
    return bytes([0x81, 0x80 | len(CALL)]) + bytes(4) + CALL


def connect(port: int) -> socket.socket:
    """Open a plain connection."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def connect_websocket(port: int) -> socket.socket:
    """Open a connection, and make the handshake."""
    sock = connect(port)
    sock.sendall(
        f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n".encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += sock.recv(4096)
    assert b" 101 " in answer, answer
    return sock


def rate(open_one: Callable[[], socket.socket], request: bytes) -> float:
    """Return the answers a second on all connections, each asking again as soon as it has its answer."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        buffers: dict[int, bytes] = {}
        for _ in range(CONNECTIONS):
            sock = stack.enter_context(open_one())
            selector.register(sock, selectors.EVENT_READ, sock)
            buffers[sock.fileno()] = b""
            sock.sendall(request)
        _ask_for(selector, buffers, request, WARM_UP)
        answers, seconds = _ask_for(selector, buffers, request, SECONDS)
        return answers / seconds


def _ask_for(
    selector: selectors.BaseSelector, buffers: dict[int, bytes], request: bytes, seconds: float
) -> tuple[int, float]:
    answers, started = 0, time.perf_counter()
    until = started + seconds
    while (now := time.perf_counter()) < until:
        for key, _ in selector.select(1):
            sock = key.data
            buffers[key.fd] += sock.recv(4096)
            if buffers[key.fd].endswith(REPLY):
                buffers[key.fd] = b""
                answers += 1
                sock.sendall(request)
    return answers, now - started


def run() -> list[Row]:
    """Return the rows of this benchmark: figure, measured, target, met."""
    older = os.environ.get("CFNODE_BENCH_BEFORE")
    with ExitStack() as stack:
        bare, node = (stack.enter_context(server(kind)) for kind in ("bare", "node"))
        clients = {
            "bare": (partial(connect, bare), http_request(bare)),
            "http": (partial(connect, node), http_request(node)),
            "ws": (partial(connect_websocket, node), websocket_request()),
        }
        if older:
            before = stack.enter_context(server("node", Path(older)))
            clients["http before"] = partial(connect, before), http_request(before)
            clients["ws before"] = partial(connect_websocket, before), websocket_request()
        best = dict.fromkeys(clients, 0.0)
        for _ in range(ROUNDS):
            for name, (open_one, request) in clients.items():
                best[name] = max(best[name], rate(open_one, request))
    share, gain = best["http"] / best["bare"], best["ws"] / best["bare"]
    return [
        (
            f"system_health over HTTP, {CONNECTIONS} connections",
            f"{best['http']:,.0f}/s, {share:.0%} of a bare application's {best['bare']:,.0f}/s",
            "≥ 300 %",
            share >= 3,
        ),
        (
            f"system_health over WebSocket, {CONNECTIONS} connections",
            f"{best['ws']:,.0f}/s, {gain:.1f} × the bare application's HTTP",
            "≥ 3 ×",
            gain >= 3,
        ),
        *(_against_before(name, best) for name in ("http", "ws") if older),
    ]


def _against_before(name: str, best: dict[str, float]) -> Row:
    now, before = best[name], best[f"{name} before"]
    figure = f"system_health, {name}, against the version before"
    measured = f"{now:,.0f}/s, {now / before:.1%} of {before:,.0f}/s"
    return figure, measured, f"≥ {MIN_OF_BEFORE:.0%}", now >= MIN_OF_BEFORE * before


if __name__ == "__main__":
    trio.run(SERVERS[sys.argv[1]], int(sys.argv[2]))
