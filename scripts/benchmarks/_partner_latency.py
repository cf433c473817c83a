"""Latency of a partner's channel, with the broker's node far away, compared with an older version.

Between the service and the node is a line that delays each direction by `DELAY_S`, so the latency counts the
round trips that follow one another. The node is of the present code; if CFNODE_BENCH_BEFORE names a checkout
of an older version, its service opens channels on it first. Each version runs in a process of its own:
`python -P FILE NODE LINE FOLDER`, which prints seconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import trio

from cfnode.ledger.database import Database, sqlite_url
from tests.swap_service.live import running_service
from tests.swap_service.partners import Api, broker_chain, followed, order

__all__ = ["latency_row"]

ROOT = Path(__file__).parents[2]
DELAY_S: Final = 0.25
"""Delay of each direction: a round trip takes twice as long, so that the time of the work matters little."""
CHANNELS: Final = 5
MAX_SHARE: Final = 0.5
"""Of the latency before."""
CHUNK_BYTES: Final = 65_536
Row = tuple[str, str, str, bool | None]


def latency_row() -> Row:
    """Return the latency of a channel, and what it was before."""
    name = f"a partner's channel, {2 * DELAY_S * 1000:.0f} ms for a round trip to the node"
    older = os.environ.get("CFNODE_BENCH_BEFORE")
    with (
        TemporaryDirectory(prefix="cfnode-bench-") as folder,
        broker_chain(Path(folder, "node"), "--rpc-allowed-hosts=all") as chain,
        delayed(chain.url) as line,
    ):
        before = None if not older else _measured(Path(older).absolute(), chain.url, line)
        now = _measured(ROOT, chain.url, line)
    text = f"{now:.2f} s, {now / (2 * DELAY_S):.1f} round trips"
    if before is None:
        return name, text, "", None
    text += f"; before {before:.2f} s: {now / before:.0%}"
    return name, text, f"≤ {MAX_SHARE:.0%}", now <= MAX_SHARE * before


def _measured(tree: Path, node: str, line: str) -> float:
    """Return the seconds of a channel of the version in a checkout: the least, as other load takes time."""
    with TemporaryDirectory(prefix="cfnode-bench-") as folder:
        command = [sys.executable, "-P", str(Path(__file__).absolute()), node, line, folder]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True)
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return min(seconds)


def _latencies(node: str, line: str, folder: Path) -> list[float]:
    """Open channels one after the other by a service that reaches the node by the line."""
    database = Database(sqlite_url(folder / "books.sqlite"))
    database.migrate()
    followed(database, node)
    seconds = []
    with running_service(database, line, broker=line) as service:
        partner = Api.of(service.url, database)
        assert partner.open(order()).status_code == 201  # the first one also connects
        for _ in range(CHANNELS):
            start = time.perf_counter()
            answer = partner.open(order())
            seconds.append(time.perf_counter() - start)
            assert answer.status_code == 201, answer.text
    return seconds


# The line


@contextmanager
def delayed(url: str) -> Iterator[str]:
    """Yield the address of a line to a server that delays each direction; it runs in a thread."""
    there = urlsplit(url)
    started: dict[str, Any] = {}
    is_started = threading.Event()

    async def serve() -> None:
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(
                trio.serve_tcp, lambda stream: _connect(stream, there.hostname or "", there.port or 0), 0
            )
            started["port"] = listeners[0].socket.getsockname()[1]
            started["token"], started["scope"] = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            is_started.set()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    is_started.wait()
    try:
        yield f"{there.scheme}://127.0.0.1:{started['port']}"
    finally:
        trio.from_thread.run_sync(started["scope"].cancel, trio_token=started["token"])
        thread.join()


async def _connect(client: trio.SocketStream, host: str, port: int) -> None:
    server = await trio.open_tcp_stream(host, port)
    async with client, server, trio.open_nursery() as nursery:
        nursery.start_soon(_carry, client, server, nursery.cancel_scope)
        nursery.start_soon(_carry, server, client, nursery.cancel_scope)


async def _carry(source: trio.SocketStream, target: trio.SocketStream, scope: trio.CancelScope) -> None:
    """Pass bytes on, each as long after its arrival as the delay; an end of one direction ends both."""
    send, receive = trio.open_memory_channel[tuple[float, bytes]](1_000)

    async def deliver() -> None:
        async for at, data in receive:
            await trio.sleep_until(at)
            await target.send_all(data)
        scope.cancel()

    async with trio.open_nursery() as nursery, send:
        nursery.start_soon(deliver)
        try:
            while data := await source.receive_some(CHUNK_BYTES):
                await send.send((trio.current_time() + DELAY_S, data))
        except trio.BrokenResourceError:
            scope.cancel()


if __name__ == "__main__":
    node_url, line_url, books_folder = sys.argv[1:]
    print(json.dumps(_latencies(node_url, line_url, Path(books_folder))))
