"""Peers of a node in another process: honest ones, and malicious ones.

`Stranger` takes part through our own network stack and sends what a scene gives it; each has a key and an
address of its own (127.0.0.2 and so on), as peers on the internet have. `RawPeer` has gone through the
handshake and then sends frames of its own making.
"""

from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.multistream import MULTISTREAM_HEADER, Dialer, line
from cfnode.core.p2p.noise import NoiseHandshake as NoiseHandshake
from cfnode.core.wire.announces import AnnounceHandshake, Roles
from cfnode.core.wire.blocks import Attributes, BlockRequest, BlockResponse
from cfnode.network.interface import RequestHandler, RequestLimits
from cfnode.network.service import NetworkService
from cfnode.network.settings import NetworkSettings
from scripts.redteam_suite.rpc_wire import connect
from scripts.redteam_suite.target import Target

__all__ = ["RawPeer", "Roles", "Stranger", "sources"]

MIB = 1 << 20
DATA, WINDOW, PING = 0, 1, 2
SYN, ACK, FIN, RST = 1, 2, 4, 8
YAMUX = struct.Struct("!BBHII")
FRAMES_A_MESSAGE = 65_519 // YAMUX.size
"""Maximum frames without a body in one noise message."""
CONNECT_S = 15.0
SOURCE: ContextVar[str] = ContextVar("SOURCE", default="127.0.0.1")
_open_tcp_stream = trio.open_tcp_stream


def sources(first: int = 2, last: int = 250) -> Callable[[], str]:
    """Return a function that returns addresses of this machine, one after the other."""
    numbers = itertools.cycle(range(first, last + 1))
    return lambda: f"127.0.0.{next(numbers)}"


async def _from_source(host: str, port: int, **options: Any) -> trio.SocketStream:
    return await _open_tcp_stream(host, port, local_address=SOURCE.get(), **options)


def use_source_addresses() -> None:
    """Make this process dial from the address in SOURCE."""
    trio.open_tcp_stream = _from_source  # type: ignore[assignment]


class Stranger:
    """Peer with a key; `best` is its claim, `answers` its handlers of requests.

    Where an answer is a function that never returns, the request is taken and stays open.
    """

    def __init__(
        self,
        target: Target,
        seed: bytes,
        *,
        roles: Roles = Roles.FULL,
        best: tuple[int, bytes] | None = None,
        answers: dict[str, RequestHandler] | None = None,
        gossip: bool = False,
    ) -> None:
        genesis = bytes.fromhex(target.genesis)
        self._target = target
        self._service = NetworkService(
            Keypair.from_seed(seed, "ed25519"), NetworkSettings(genesis, private_addresses=True, out_peers=1)
        )
        number, block = best or (0, genesis)
        handshake = AnnounceHandshake(roles, number, block, genesis).encode()
        limits = RequestLimits(request=MIB, response=16 * MIB, timeout=60.0, concurrent=1_000)
        for protocol in ("sync/2", "sync/warp", "state/2", "light/2"):
            self._service.serve_requests(protocol, (answers or {}).get(protocol), limits)
        self._links = {
            "block-announces/1": self._service.notifications("block-announces/1", lambda: handshake)
        }
        for protocol in ("grandpa/1", "transactions/1") if gossip else ():
            self._links[protocol] = self._service.notifications(protocol, lambda: b"\x01")

    @property
    def id(self) -> str:
        """The peer id."""
        return self._service.peer_id

    @property
    def is_connected(self) -> bool:
        """Whether the target is connected."""
        return self._target.peer_id in self._service.peers

    def takes_part(self, protocol: str = "block-announces/1") -> bool:
        """Return whether a notification protocol is open with the target."""
        return self._target.peer_id in self._links[protocol].peers

    def events(self, protocol: str) -> trio.MemoryReceiveChannel[Any]:
        """Return the notifications of a protocol."""
        return self._links[protocol].events

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Dial the node and complete the handshake. Raises DialError, or TooSlowError."""
        async with _unwrapped() as nursery:
            await nursery.start(self._service.run)
            with trio.fail_after(CONNECT_S):
                await self._service.connect(Multiaddr.parse(self._target.address))
            for protocol, link in self._links.items():
                if protocol != "transactions/1":
                    nursery.start_soon(_forget_all, link.events)
            yield
            nursery.cancel_scope.cancel()

    async def joined(self, seconds: float = CONNECT_S, protocol: str = "block-announces/1") -> bool:
        """Wait until the node accepts us as a peer; return False if it does not in this time."""
        with trio.move_on_after(seconds):
            while not self.takes_part(protocol):  # noqa: ASYNC110 - only visible from outside
                await trio.sleep(0.02)
            return True
        return False

    def say(self, protocol: str, data: bytes) -> bool:
        """Send a notification."""
        return self._links[protocol].send(self._target.peer_id, data)

    async def ask(self, protocol: str, request: bytes, seconds: float = 20.0) -> bytes:
        """Send a request to the target; return its answer."""
        return await self._service.request(self._target.peer_id, protocol, request, seconds=seconds)

    async def ask_header(self, count: int, seconds: float) -> None:
        """Request some header: a different one each time, since peers penalize repeated requests."""
        request = BlockRequest(count // 128, Attributes.HEADER, count % 128 + 1)
        BlockResponse.decode(await self.ask("sync/2", request.encode(), seconds), 128)


@asynccontextmanager
async def _unwrapped() -> AsyncIterator[trio.Nursery]:
    """Open a nursery that raises a single error without an exception group."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except* Exception as group:
        errors = list(_leaves(group))
        raise errors[0] from None


def _leaves(group: BaseException) -> Any:
    if isinstance(group, BaseExceptionGroup):
        for exception in group.exceptions:
            yield from _leaves(exception)
    else:
        yield group


async def _forget_all(events: trio.MemoryReceiveChannel[Any]) -> None:
    async for _ in events:
        pass


class RawPeer:
    """Secured connection over blocking sockets, without the protocols above it."""

    def __init__(self, target: Target, seed: bytes, source: str = "127.0.0.1") -> None:
        self.sock = connect(target.peer, source)
        self._target = target
        self._next_stream = 1
        try:
            self._secure(Keypair.from_seed(seed, "ed25519"), seed)
        except BaseException:
            self.sock.close()
            raise

    def _secure(self, key: Keypair, seed: bytes) -> None:
        outer = Dialer(["/noise"])
        self._drive(outer, lambda: outer.chosen)
        # The secrets need not be secret, only fresh for each connection.
        handshake = NoiseHandshake(key, dialer=True, static=seed, ephemeral=seed[::-1])
        handshake.receive_data(outer.rest)
        self._drive(handshake, lambda: handshake.finished)
        self.channel = handshake.channel()
        inner = Dialer(["/yamux/1.0.0"])
        while inner.chosen is None:
            if data := inner.bytes_to_send():
                self.sock.sendall(self.channel.seal(data))
            for plaintext in self.channel.receive_data(self.receive()):
                inner.receive_data(plaintext)

    def _drive(self, machine: Any, done: Callable[[], object]) -> None:
        while True:
            if data := machine.bytes_to_send():
                self.sock.sendall(data)
            if done():
                return
            machine.receive_data(self.receive())

    def receive(self) -> bytes:
        """Return the next bytes from the node. Raises ConnectionError at the end."""
        data = self.sock.recv(1 << 18)
        if not data:
            raise ConnectionError("the node hung up")
        return data

    def forget_all(self) -> None:
        """Read and discard until the connection ends."""
        with suppress(OSError):
            self.sock.settimeout(None)
            while self.sock.recv(1 << 20):
                pass

    def message(self, frames: bytes) -> bytes:
        """Return frames, sealed as a noise message."""
        return self.channel.seal(frames)

    def send(self, frames: bytes) -> None:
        """Send yamux frames as one encrypted message."""
        self.sock.sendall(self.message(frames))

    def open_stream(self, window: int = 0) -> int:
        """Open a stream; `window`: bytes beyond the first 256 KiB that the node may send."""
        number, self._next_stream = self._next_stream, self._next_stream + 2
        self.send(YAMUX.pack(0, WINDOW, SYN, number, window))
        return number

    def data(self, stream: int, data: bytes, flags: int = 0) -> bytes:
        """Return the frames of a stream's data."""
        return YAMUX.pack(0, DATA, flags, stream, len(data)) + data

    def begin_request(self, suffix: str, body: bytes) -> int:
        """Open a stream of a protocol of the chain, and send these bytes of a request."""
        stream = self.open_stream(window=32 * MIB)
        name = f"/{self._target.genesis}/{suffix}"
        self.send(self.data(stream, line(MULTISTREAM_HEADER) + line(name) + body))
        return stream


async def in_turns(tasks: list[Callable[[], Awaitable[None]]]) -> None:
    """Run tasks concurrently; each is restarted when it ends, or when the node makes it fail."""

    async def again(task: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await task()
            except Exception as error:
                print(f"begun again: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            await trio.sleep(0.2)

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(again, task)
