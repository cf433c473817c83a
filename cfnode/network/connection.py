"""One secured connection that carries many yamux substreams.

One task reads and one writes. The reader never waits for a consumer or for the writer, so two nodes that both
send cannot deadlock; an unread substream fills its window and no more. Each substream that the peer opens has
a task of its own, and an error in that task ends that substream only.

Each yamux frame is sent in a noise message of its own: smoldot 3.4, a popular light client, stalls when one
message contains several.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import trio

from cfnode.core.p2p import yamux
from cfnode.core.p2p.errors import FloodError, LocalError, RemoteError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.noise import SecureChannel
from cfnode.core.p2p.yamux import INITIAL_WINDOW, PROTOCOL_ERROR, YamuxSession
from cfnode.flow.rate import Rate
from cfnode.network.buffers import Buffers
from cfnode.network.substream import Substream, SubstreamEnded

__all__ = ["NO_PONG", "UNUSED", "OnSubstream", "PeerConnection"]

log = logging.getLogger("cfnode.sub-libp2p")

CONNECTION_READ_BYTES = 256 * 1024
MAX_QUEUED_FRAME_BYTES = 256 * 1024
"""Bytes of frames that wait for the socket before senders wait, too; senders continue in their order."""
PING_INTERVAL = 20.0
PING_TIMEOUT = 20.0
NO_PONG = f"no answer to a ping for {PING_TIMEOUT:.0f} s"
UNUSED = "unused"
"""Reasons for the end of a connection."""
CLOSE_TIMEOUT = 1.0
"""Seconds for sending the last frames of a connection that we close."""


OnSubstream = Callable[["PeerConnection", Substream], Awaitable[None]]
"""A function that serves a substream which the peer opened."""


class PeerConnection:
    """A secured connection to the node with the key `remote`. Start `run`, then open substreams.

    `flood_lock` is shared by all connections: connections that send many useless frames take turns under it.
    """

    def __init__(
        self,
        stream: trio.abc.Stream,
        channel: SecureChannel,
        *,
        remote: bytes,
        peer_id: str,
        address: Multiaddr,
        inbound: bool,
        on_substream: OnSubstream,
        buffers: Buffers | None = None,
        flood_lock: trio.Lock | None = None,
    ) -> None:
        self.remote, self.peer_id, self.address, self.inbound = remote, peer_id, address, inbound
        self.end_reason = ""
        """The reason for the connection's end; empty before it."""
        self.closed_here = False
        """Whether this node closed it."""
        self.at_fault = False
        """Whether the peer broke the protocol."""
        self.flooded = False
        """Whether the peer sent more useless frames than the budget allows."""
        self.received = self.sent = 0
        self.ended = trio.Event()
        self.ready = trio.Event()
        self.last_opened = trio.current_time()
        self.peer_since: float | None = None
        """When block announces were first open over this connection; None: never."""
        self.rates: dict[str, Rate] = {}
        """The rate limits of protocols that have one, by their names."""
        self.buffers = buffers or Buffers()
        self._flood_lock = flood_lock or trio.Lock()
        self._paid_until = trio.current_time()
        self.stream, self._channel = stream, channel
        self._session = YamuxSession(dialer=not inbound)
        self._on_substream = on_substream
        self._substreams: dict[int, Substream] = {}
        self._silent: set[int] = set()
        """Substreams that the peer opened and has sent no data on: they have no task yet."""
        self._wake = trio.Event()
        self._room = trio.lowlevel.ParkingLot()
        self._queued = 0
        self._pong = trio.Event()
        self._serving = False
        """Whether tasks of the connection can still be started."""

    async def run(self, first: bytes = b"") -> None:
        """Serve until the connection ends, for whatever reason. `first`: bytes that are decrypted already."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                try:
                    await self._serve_all(first)
                finally:
                    self._serving = False
        finally:
            self._end("the connection was lost")
            self.ended.set()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_TIMEOUT):
                await trio.aclose_forcefully(self.stream)

    async def _serve_all(self, first: bytes) -> None:
        self._nursery.start_soon(self._write)
        self._nursery.start_soon(self._keep_alive)
        self._serving = True
        self.ready.set()
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._read(first)
        self._end("the connection was lost")
        await self._flush_and_stop()

    def start(self, task: Callable[[], Awaitable[None]], about: str) -> bool:
        """Run a task while the connection lasts, and log its errors; return False if it has ended."""
        if self._serving:
            self._nursery.start_soon(self._guarded, task, about)
        return self._serving

    @asynccontextmanager
    async def substream(self, window: int = INITIAL_WINDOW) -> AsyncIterator[Substream]:
        """Open a substream, which is released at the end of the block. Raise SubstreamEnded."""
        if self.end_reason:
            raise SubstreamEnded(self.end_reason)
        try:
            number = self._session.open(window)
        except LocalError as error:
            raise SubstreamEnded(str(error)) from None
        substream = self._substreams[number] = Substream(self, number, requested=True)
        self.last_opened = trio.current_time()
        self._wake.set()
        try:
            yield substream
        finally:
            substream.close()

    def close(self, reason: str, *, fault: bool = False) -> None:
        """End the connection, after sending the last frames and a GoAway frame."""
        if self.end_reason:
            return
        self.closed_here = True
        self._session.go_away(PROTOCOL_ERROR if fault else 0)
        self._wake.set()
        self._end(reason)
        if self._serving:
            self._nursery.start_soon(self._flush_and_stop)

    async def _flush_and_stop(self) -> None:
        with trio.move_on_after(CLOSE_TIMEOUT):
            while self._wake.is_set():
                await self._room.park()
        self._nursery.cancel_scope.cancel()

    def _end(self, reason: str) -> None:
        self.end_reason = self.end_reason or reason
        for substream in self._substreams.values():
            substream.end(self.end_reason)
        self._room.unpark_all()

    # The reader

    async def _read(self, first: bytes) -> None:
        try:
            await self._dispatch(first)
            await self._decrypt(b"")
            while not self.end_reason:
                data = await self.stream.receive_some(CONNECTION_READ_BYTES)
                if not data:
                    self._end("the peer closed the connection")
                    return
                self.received += len(data)
                await self._decrypt(bytes(data))
        except RemoteError as error:
            self.at_fault, self.flooded = True, isinstance(error, FloodError)
            self._session.go_away(PROTOCOL_ERROR)
            self._wake.set()
            self._end(str(error))

    async def _decrypt(self, data: bytes) -> None:
        """Decrypt data message by message: thousands of tiny ones do not hold up other tasks."""
        now = trio.current_time()
        self._session.budget.earn_time(now - self._paid_until)
        self._paid_until = now
        for plaintext in self._channel.messages(data):
            if self.end_reason:
                return
            await self._dispatch(plaintext)

    async def _dispatch(self, plaintext: bytes) -> None:
        for events in self._session.turns(plaintext):
            for event in events:
                self._on_event(event)
            self._wake.set()
            await self._yield()

    async def _yield(self) -> None:
        """Let other tasks run. Of all flooding connections, one continues in each round of the loop."""
        if self._session.budget.poor:
            async with self._flood_lock:
                await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.checkpoint()

    def _on_event(self, event: yamux.Event) -> None:
        match event:
            case yamux.DataReceived(number, data):
                if number in self._substreams:
                    self._substreams[number].feed(data)
                    self._serve_first(number)
            case yamux.StreamOpened(number):
                self._accept(number)
            case yamux.StreamEnded(number) | yamux.StreamReset(number) if number in self._silent:
                self._silent.discard(number)
                self._substreams[number].close()
            case yamux.StreamEnded(number) if number in self._substreams:
                self._substreams[number].peer_finished()
            case yamux.StreamReset(number) if number in self._substreams:
                self._substreams[number].end("the peer reset the substream")
            case yamux.WindowGrown(number) if number in self._substreams:
                self._substreams[number].window_grown()
            case yamux.Pong():
                self._pong.set()
            case yamux.GoneAway(code):
                self._end(f"the peer sent GoAway (code {code})")

    def _accept(self, number: int) -> None:
        self._substreams[number] = Substream(self, number, requested=False)
        self._silent.add(number)

    def _serve_first(self, number: int) -> None:
        """Start the task at the first data: a substream that is opened and reset at once gets none."""
        if number in self._silent:
            self._silent.discard(number)
            self._nursery.start_soon(self._serve, self._substreams[number])

    async def _serve(self, substream: Substream) -> None:
        async def serve() -> None:
            await self._on_substream(self, substream)

        try:
            await self._guarded(serve, f"substream {substream.number}")
        finally:
            substream.close()

    async def _guarded(self, task: Callable[[], Awaitable[None]], about: str) -> None:
        try:
            await task()
        except* (RemoteError, SubstreamEnded, trio.TooSlowError) as group:
            log.debug("%s of %s: %s", about, self.peer_id, _first(group))
        # A fault of ours in one substream must end neither the connection nor the node.
        except* Exception:
            log.exception("%s of %s failed", about, self.peer_id)

    # For its substreams (substream.Carrier)

    async def room(self) -> None:
        """Wait until the socket accepts more data."""
        while self._queued >= MAX_QUEUED_FRAME_BYTES and not self.end_reason:
            await self._room.park()

    def send(self, number: int, data: memoryview) -> int:
        """Send as much as the peer's window and one frame have room for; return the number of bytes."""
        sent = self._session.send(number, data)
        self._queued += sent
        self._wake.set()
        return sent

    def consumed(self, number: int, size: int) -> None:
        """Allow the peer to send `size` further bytes, after as many were read."""
        self._session.consumed(number, size)
        self._wake.set()

    def finish(self, number: int) -> None:
        """End our direction of the substream."""
        self._session.finish(number)
        self._wake.set()

    def release(self, number: int) -> None:
        """Forget a substream that is no longer used."""
        self._substreams.pop(number, None)
        self._session.release(number)
        self._wake.set()

    # The writer

    async def _write(self) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                await self._wake.wait()
                frames = self._session.frames_to_send()
                if frames:
                    data = b"".join(map(self._channel.seal, frames))
                    await self.stream.send_all(data)
                    self.sent += len(data)
                    self._queued = 0
                else:
                    self._wake = trio.Event()
                self._room.unpark_all()
        self._end("the connection broke while we were sending")
        self._nursery.cancel_scope.cancel()

    async def _keep_alive(self) -> None:
        value = 0
        while True:
            await trio.sleep(PING_INTERVAL)
            value, self._pong = (value + 1) & 0xFFFFFFFF, trio.Event()
            self._session.ping(value)
            self._wake.set()
            with trio.move_on_after(PING_TIMEOUT) as timeout:
                await self._pong.wait()
            if timeout.cancelled_caught:
                self._end(NO_PONG)
                self._nursery.cancel_scope.cancel()


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
