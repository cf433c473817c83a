"""Throughput of a libp2p connection against the bare TCP under it, and the time of a small request.

Two processes on this machine, a sender and a receiver in each measurement: once over plain sockets (trio, the
same chunk size), once through multistream, noise and yamux as requests of 16 MiB. By turns; of the rounds the
best counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network import NetworkService, NetworkSettings, RequestLimits

ROUNDS = 5
SIZE = 16 << 20
REPEATS = 4
SMALL = 300
LIMITS = RequestLimits(response=SIZE, window=SIZE, concurrent=100)
LOOPBACK = (Multiaddr.parse("/ip4/127.0.0.1/tcp/0"),)
TARGET = 0.10
"""Minimum share of bare TCP. Cipher and copies cost time; it has to be faster than links between nodes."""

Row = tuple[str, str, str, bool | None]


def node(number: int, **settings: object) -> NetworkService:
    """Return a network service with its own identity."""
    identity = Keypair.from_seed(number.to_bytes(32, "big"), "ed25519")
    return NetworkService(identity, NetworkSettings(bytes(32), **settings))  # type: ignore[arg-type]


async def serve_libp2p() -> None:
    """Answer each request with as many bytes as it says; print the address."""

    async def zeros(peer: str, data: bytes) -> bytes | None:
        return bytes(int.from_bytes(data, "big"))

    service = node(1, listen=LOOPBACK, private_addresses=True)
    service.serve_requests("sync/2", zeros, LIMITS)
    async with trio.open_nursery() as nursery:
        await nursery.start(service.run)
        print(service.listening[0].with_peer(service.peer_id), flush=True)


async def serve_bare() -> None:
    """Answer each request over a bare socket, and print the port.

    Eight bytes of length in, that many bytes out.
    """

    async def answer(stream: trio.SocketStream) -> None:
        while request := await stream.receive_some(8):
            await stream.send_all(bytes(int.from_bytes(request, "big")))

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    print(listeners[0].socket.getsockname()[1], flush=True)
    await trio.serve_listeners(answer, listeners)


@contextmanager
def server(kind: str) -> Iterator[str]:
    """Run a process that serves; yield what it printed first."""
    command = [sys.executable, "-m", "scripts.benchmarks.network", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def bare_rate(port: str) -> float:
    """Return the MiB/s of a download."""
    async with await trio.open_tcp_stream("127.0.0.1", int(port)) as stream:
        begin = time.perf_counter()
        for _ in range(REPEATS):
            await stream.send_all(SIZE.to_bytes(8, "big"))
            remaining = SIZE
            while remaining:
                remaining -= len(await stream.receive_some(256 * 1024))
        return REPEATS * SIZE / (1 << 20) / (time.perf_counter() - begin)


async def with_client(address: str, measure: Callable[[NetworkService, str], object]) -> float:
    """Return the seconds that a measurement takes on a client that is connected to the address."""
    client = node(2, private_addresses=True)
    client.serve_requests("sync/2", None, LIMITS)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        peer = await client.connect(Multiaddr.parse(address))
        begin = time.perf_counter()
        await measure(client, peer)  # type: ignore[misc]
        seconds = time.perf_counter() - begin
        nursery.cancel_scope.cancel()
    return seconds


async def download(client: NetworkService, peer: str) -> None:
    """Request large answers, one after the other."""
    for _ in range(REPEATS):
        await client.request(peer, "sync/2", SIZE.to_bytes(8, "big"))


async def small_requests(client: NetworkService, peer: str) -> None:
    """Request small answers, one after the other."""
    for _ in range(SMALL):
        await client.request(peer, "sync/2", (40).to_bytes(8, "big"))


def run() -> list[Row]:
    """Return the rows of the table."""
    bare_mbps, libp2p_rate, small_request_s = 0.0, 0.0, float("inf")
    with server("bare") as port, server("libp2p") as address:
        for _ in range(ROUNDS):
            bare_mbps = max(bare_mbps, trio.run(bare_rate, port))
            mebibytes = REPEATS * SIZE / (1 << 20)
            libp2p_rate = max(libp2p_rate, mebibytes / trio.run(with_client, address, download))
            small_request_s = min(small_request_s, trio.run(with_client, address, small_requests) / SMALL)
    ratio = libp2p_rate / bare_mbps
    name = "download over noise and yamux, against bare TCP on loopback"
    measured = f"{ratio:.2f} ({libp2p_rate:.0f} of {bare_mbps:.0f} MiB/s)"
    latency = f"{small_request_s * 1000:.2f} ms"
    return [
        (name, measured, f"≥ {TARGET}", ratio >= TARGET),
        (
            "a 40-byte request and its answer, substream included",
            latency,
            "for information",
            None,
        ),
    ]


if __name__ == "__main__":
    trio.run({"bare": serve_bare, "libp2p": serve_libp2p}[sys.argv[1]])
