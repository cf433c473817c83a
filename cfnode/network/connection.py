"""How does one secured connection serve many substreams at once?

Two tasks: one reads, one writes. The reader never waits for a consumer or for the writer, so two nodes that
both send cannot lock each other up; a substream that nobody reads fills its window and no more. Each
substream that the peer opens has a task of its own behind a fence: whatever goes wrong in it costs that
substream.

Each yamux frame travels in a noise message of its own: one popular light client falls asleep over several in
one (seen with smoldot 3.4).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import trio

from cfnode.core.p2p import yamux
from cfnode.core.p2p.errors import FloodError, LocalError, RemoteError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.noise import Channel
from cfnode.core.p2p.yamux import INITIAL_WINDOW, PROTOCOL_ERROR, Session
from cfnode.network.buffers import Buffers
from cfnode.network.rate import Rate
from cfnode.network.substream import Substream, SubstreamEnded

__all__ = ["Connection", "OnSubstream"]

log = logging.getLogger("cfnode.sub-libp2p")

READ_SIZE = 256 * 1024
MAX_QUEUED = 256 * 1024
"""Bytes of frames that wait for the socket before senders wait, too; they go on in the order they came."""
PING_INTERVAL = 20.0
PING_TIMEOUT = 20.0
FAREWELL = 1.0
"""Seconds for the last frames of a connection that we close."""


OnSubstream = Callable[["Connection", Substream], Awaitable[None]]
"""What is done with each substream that the peer opens."""


class Connection:
    """A secured connection to the node with the key `remote`. `run` it; then open substreams."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        channel: Channel,
        *,
        remote: bytes,
        peer_id: str,
        address: Multiaddr,
        inbound: bool,
        on_substream: OnSubstream,
        buffers: Buffers | None = None,
        turns: trio.Lock | None = None,
    ) -> None:
        self.remote, self.peer_id, self.address, self.inbound = remote, peer_id, address, inbound
        self.why = ""
        """After the end: what ended it."""
        self.at_fault = False
        """Whether the peer broke the protocol."""
        self.flooded = False
        """Whether it made us work for nothing."""
        self.received = self.sent = 0
        self.ended = trio.Event()
        self.ready = trio.Event()
        self.last_opened = trio.current_time()
        self.taking_part_since: float | None = None
        """When the node first took part with us over this connection; None: it never did."""
        self.rates: dict[str, Rate] = {}
        """How often it may use the protocols that are limited so, by their names."""
        self.buffers = buffers or Buffers()
        self._turns = turns or trio.Lock()
        self._paid_until = trio.current_time()
        self.stream, self._channel = stream, channel
        self._session = Session(dialer=not inbound)
        self._on_substream = on_substream
        self._substreams: dict[int, Substream] = {}
        self._silent: set[int] = set()
        """Substreams that the peer opened and has said nothing on: they have no task yet."""
        self._wake = trio.Event()
        self._room = trio.lowlevel.ParkingLot()
        self._queued = 0
        self._pong = trio.Event()
        self._serving = False
        """Whether tasks of the connection can still be started."""

    async def run(self, first: bytes = b"") -> None:
        """Serve until the connection ends, for whatever reason; `first`: bytes already opened."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                try:
                    await self._live(first)
                finally:
                    self._serving = False
        finally:
            self._shut("the connection was lost")
            self.ended.set()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + FAREWELL):
                await trio.aclose_forcefully(self.stream)

    async def _live(self, first: bytes) -> None:
        self._nursery.start_soon(self._write)
        self._nursery.start_soon(self._keep_alive)
        self._serving = True
        self.ready.set()
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._read(first)
        self._shut("the connection was lost")
        await self._hang_up()

    def start(self, task: Callable[[], Awaitable[None]], about: str) -> bool:
        """Run a task as long as the connection lives, behind the fence; False where it has ended."""
        if self._serving:
            self._nursery.start_soon(self._fenced, task, about)
        return self._serving

    @asynccontextmanager
    async def substream(self, window: int = INITIAL_WINDOW) -> AsyncIterator[Substream]:
        """A substream of ours, released at the end of the block."""
        if self.why:
            raise SubstreamEnded(self.why)
        try:
            number = self._session.open(window)
        except LocalError as error:
            raise SubstreamEnded(str(error)) from None
        substream = self._substreams[number] = Substream(self, number, asked=True)
        self.last_opened = trio.current_time()
        self._wake.set()
        try:
            yield substream
        finally:
            substream.close()

    def close(self, why: str, *, fault: bool = False) -> None:
        """End it: the last frames still go out, with a farewell."""
        if self.why:
            return
        self._session.go_away(PROTOCOL_ERROR if fault else 0)
        self._wake.set()
        self._shut(why)
        if self._serving:
            self._nursery.start_soon(self._hang_up)

    async def _hang_up(self) -> None:
        await self._farewell()
        self._nursery.cancel_scope.cancel()

    async def _farewell(self) -> None:
        with trio.move_on_after(FAREWELL):
            while self._wake.is_set():
                await self._room.park()

    def _shut(self, why: str) -> None:
        self.why = self.why or why
        for substream in self._substreams.values():
            substream.end(self.why)
        self._room.unpark_all()

    # The reader

    async def _read(self, first: bytes) -> None:
        try:
            await self._dispatch(first)
            await self._open_all(b"")
            while not self.why:
                data = await self.stream.receive_some(READ_SIZE)
                if not data:
                    self._shut("the peer hung up")
                    return
                self.received += len(data)
                await self._open_all(bytes(data))
        except RemoteError as error:
            self.at_fault, self.flooded = True, isinstance(error, FloodError)
            self._session.go_away(PROTOCOL_ERROR)
            self._wake.set()
            self._shut(str(error))

    async def _open_all(self, data: bytes) -> None:
        """Open what came, message by message: thousands of tiny ones keep nobody else waiting."""
        now = trio.current_time()
        self._session.budget.earn_time(now - self._paid_until)
        self._paid_until = now
        for plaintext in self._channel.messages(data):
            if self.why:
                return
            self._session.budget.spend(1)
            await self._dispatch(plaintext)

    async def _dispatch(self, plaintext: bytes) -> None:
        for events in self._session.turns(plaintext):
            for event in events:
                self._on_event(event)
            self._wake.set()
            await self._give_turn()

    async def _give_turn(self) -> None:
        """Let others go on. Of all who sent much for nothing, one goes on in each round of the loop."""
        if self._session.budget.poor:
            async with self._turns:
                await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.checkpoint()

    def _on_event(self, event: yamux.Event) -> None:
        match event:
            case yamux.DataReceived(number, data):
                if number in self._substreams:
                    self._substreams[number].take(data)
                    self._serve_first(number)
            case yamux.StreamOpened(number):
                self._accept(number)
            case yamux.StreamEnded(number) | yamux.StreamReset(number) if number in self._silent:
                self._silent.discard(number)
                self._substreams[number].close()
            case yamux.StreamEnded(number) if number in self._substreams:
                self._substreams[number].finished()
            case yamux.StreamReset(number) if number in self._substreams:
                self._substreams[number].end("the peer reset the substream")
            case yamux.WindowGrown(number) if number in self._substreams:
                self._substreams[number].grown()
            case yamux.Pong():
                self._pong.set()
            case yamux.GoneAway(code):
                self._shut(f"the peer says goodbye (code {code})")

    def _accept(self, number: int) -> None:
        self._substreams[number] = Substream(self, number, asked=False)
        self._silent.add(number)

    def _serve_first(self, number: int) -> None:
        """The peer speaks first: what is opened and reset at once never gets a task."""
        if number in self._silent:
            self._silent.discard(number)
            self._nursery.start_soon(self._serve, self._substreams[number])

    async def _serve(self, substream: Substream) -> None:
        async def serve() -> None:
            await self._on_substream(self, substream)

        try:
            await self._fenced(serve, f"substream {substream.number}")
        finally:
            substream.close()

    async def _fenced(self, task: Callable[[], Awaitable[None]], about: str) -> None:
        try:
            await task()
        except* (RemoteError, SubstreamEnded, trio.TooSlowError) as group:
            log.debug("%s of %s: %s", about, self.peer_id, _first(group))
        # The fence: a fault of ours in one substream ends neither the connection nor the node.
        except* Exception:
            log.exception("%s of %s failed", about, self.peer_id)

    # What its substreams send (substream.Carrier)

    async def room(self) -> None:
        """Wait until the socket takes more."""
        while self._queued >= MAX_QUEUED and not self.why:
            await self._room.park()

    def send(self, number: int, data: memoryview) -> int:
        """Send what the peer's window and one frame have room for; how many bytes that was."""
        sent = self._session.send(number, data)
        self._queued += sent
        self._wake.set()
        return sent

    def consumed(self, number: int, size: int) -> None:
        """So much was read: the peer may send as much again."""
        self._session.consumed(number, size)
        self._wake.set()

    def finish(self, number: int) -> None:
        """We send no more on this stream."""
        self._session.finish(number)
        self._wake.set()

    def release(self, number: int) -> None:
        """Nobody uses the stream any more."""
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
        self._shut("the connection broke while we were sending")
        self._nursery.cancel_scope.cancel()

    async def _keep_alive(self) -> None:
        value = 0
        while True:
            await trio.sleep(PING_INTERVAL)
            value, self._pong = (value + 1) & 0xFFFFFFFF, trio.Event()
            self._session.ping(value)
            self._wake.set()
            with trio.move_on_after(PING_TIMEOUT) as waiting:
                await self._pong.wait()
            if waiting.cancelled_caught:
                self._shut(f"no sign of life for {PING_TIMEOUT:.0f} s")
                self._nursery.cancel_scope.cancel()


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
