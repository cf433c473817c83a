"""How many calls a second does a node answer, each kind of call over HTTP, repeated or each different?

One development node that makes no blocks while it is asked. The questions of a row are asked by turns on all
its connections; a row that names several questions never gets the same one twice in a block.
"""

from __future__ import annotations

import json
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from cfnode.core import ss58
from scripts.benchmarks.rpc import connect, server

SECONDS, WARM_UP = 2.0, 0.3
ACCOUNTS = 20_000

Row = tuple[str, str, str, bool | None]


@dataclass(frozen=True)
class Kind:
    """A row: its name, its connections, and the calls that are made in turn."""

    name: str
    connections: int
    calls: Sequence[tuple[str, Sequence[Any]]]


def _kinds() -> Iterator[Kind]:
    yield Kind("system_health", 50, [("system_health", [])])
    yield Kind("chain_getHeader", 50, [("chain_getHeader", [])])
    yield Kind(
        "state_getStorage",
        50,
        [("state_getStorage", ["0x26aa394eea5630e07c48ae0c9558cef702a5c1b19ab7a04f536c519aca4983ac"])],
    )
    yield Kind("state_getRuntimeVersion", 50, [("state_getRuntimeVersion", [])])
    nonce = "AccountNonceApi_account_nonce"
    yield Kind("state_call, one account", 8, [("state_call", [nonce, "0x" + "01" * 32])])
    accounts = [("state_call", [nonce, f"0x{each:064x}"]) for each in range(ACCOUNTS)]
    yield Kind("state_call, each time another account", 8, accounts)
    yield Kind("cf_environment, repeated", 8, [("cf_environment", [])])
    yield Kind("cf_swapping_environment, repeated", 8, [("cf_swapping_environment", [])])
    infos = [("cf_account_info", [ss58.encode(each.to_bytes(32, "big"))]) for each in range(ACCOUNTS)]
    yield Kind("cf_account_info, each time another account", 8, infos)


@dataclass
class _Client:
    """One connection: what it has received of the present answer, and when it asked."""

    sock: socket.socket
    received: bytearray = field(default_factory=bytearray)
    asked_at: float = 0.0

    def take(self) -> bool:
        """Receive; whether the answer is complete."""
        self.received += self.sock.recv(1 << 16)
        head, _, body = bytes(self.received).partition(b"\r\n\r\n")
        at = head.lower().find(b"content-length:")
        if at < 0 or len(body) < int(head[at + 15 :].split(b"\r\n")[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200") or b'"error"' in body[:200]:
            raise AssertionError(bytes(self.received[:400]))
        self.received.clear()
        return True


def measure(port: int, kind: Kind) -> tuple[float, float, float]:
    """Answers a second, median and 99th percentile in seconds."""
    turn = iter(range(1 << 60))

    def ask(client: _Client) -> None:
        method, params = kind.calls[next(turn) % len(kind.calls)]
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        client.asked_at = time.perf_counter()
        client.sock.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(kind.connections):
            client = _Client(stack.enter_context(connect(port)))
            selector.register(client.sock, selectors.EVENT_READ, client)
            ask(client)
        began = time.perf_counter()
        times: list[float] = []
        while (now := time.perf_counter()) < began + WARM_UP + SECONDS:
            for key, _ in selector.select(1):
                if key.data.take():
                    if now > began + WARM_UP:
                        times.append(time.perf_counter() - key.data.asked_at)
                    ask(key.data)
        times.sort()
        return len(times) / SECONDS, statistics.median(times), times[int(len(times) * 0.99)]


def run() -> list[Row]:
    """The rows of the table."""
    rows: list[Row] = []
    with server("node") as port:
        for kind in _kinds():
            rate, median, slow = measure(port, kind)
            figure = f"{rate:,.0f}/s, median {median * 1e3:.1f} ms, p99 {slow * 1e3:.1f} ms"
            rows.append((f"{kind.name}, {kind.connections} connections", figure, "", None))
    return rows


if __name__ == "__main__":
    for row in run():
        print(*row[:2], sep="  ", file=sys.stdout, flush=True)
