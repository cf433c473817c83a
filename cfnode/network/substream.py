"""How is one stream of a connection read and written?

Received data waits here until it is read; data is sent as the peer's window and the socket allow. The
connection creates substreams, reports to them (`feed`, `window_grown`, `peer_finished`, `end`) and sends
their data.
"""

from __future__ import annotations

import math
from typing import Protocol

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.protobuf import Frames
from cfnode.network.buffers import Buffers

__all__ = ["Carrier", "Substream", "SubstreamEnded"]


class SubstreamEnded(Exception):
    """The peer reset the substream, or its connection has ended; the text gives the reason."""


class Carrier(Protocol):
    """What a substream needs from its connection."""

    buffers: Buffers

    async def room(self) -> None:
        """Waits until the socket takes more."""

    def send(self, number: int, data: memoryview) -> int:
        """Sends as much as the peer's window and one frame have room for; returns the number of bytes."""

    def consumed(self, number: int, size: int) -> None:
        """Allows the peer to send `size` bytes more, since as many were read."""

    def finish(self, number: int) -> None:
        """Ends our direction of the stream."""

    def release(self, number: int) -> None:
        """Forgets a stream that is no longer used."""


class Substream:
    """One stream of a connection. `close` it at the end; `Connection.substream` does so by itself."""

    def __init__(self, carrier: Carrier, number: int, *, requested: bool) -> None:
        self._carrier = carrier
        self.number = number
        self._requested = requested  # we opened it, so its data was requested
        self._held = self._in_frames = 0
        self._received = bytearray()
        self._ended = False
        self._end_reason: str | None = None
        self._readable = trio.lowlevel.ParkingLot()
        self._writable = trio.lowlevel.ParkingLot()

    async def receive(self) -> bytes:
        """The data that has arrived, at least one byte; b"" when the peer has finished."""
        await trio.lowlevel.checkpoint()
        while not self._received:
            if self._ended:
                return b""
            self._check()
            await self._readable.park()
        data, self._received = bytes(self._received), bytearray()
        self._carrier.consumed(self.number, len(data))
        self._hold(0)
        return data

    async def receive_frame(self, frames: Frames, seconds: float = math.inf) -> bytes | None:
        """The next message with its length in front; None if the peer finished before it began.

        `seconds`: in which a message that has begun has to be complete; otherwise raises TooSlowError.
        """
        with trio.fail_after(math.inf) as scope:
            while (message := frames.next()) is None:
                if frames.partial and scope.deadline == math.inf:
                    scope.deadline = trio.current_time() + seconds
                data = await self.receive()
                if not data:
                    if frames.partial:
                        raise RemoteError("the substream ends in the middle of a message")
                    return None
                frames.feed(data)
                self._hold(frames.held)
        self._hold(frames.held + len(message))  # until the next one is asked for
        return message

    async def send_all(self, data: bytes) -> None:
        """Sends all data, as the peer's window and the socket allow."""
        await trio.lowlevel.checkpoint()
        view = memoryview(data)
        while view:
            await self._carrier.room()
            self._check()
            sent = self._carrier.send(self.number, view)
            view = view[sent:]
            if not sent:
                await self._writable.park()

    def finish(self) -> None:
        """Ends our direction."""
        if self._end_reason is None:
            self._carrier.finish(self.number)

    def close(self) -> None:
        """Releases the substream, and resets it if it has not ended both ways."""
        self._received.clear()
        self._hold(0)
        self.end("closed by us")
        self._carrier.release(self.number)

    def _check(self) -> None:
        if self._end_reason is not None:
            raise SubstreamEnded(self._end_reason)

    def feed(self, data: bytes) -> None:
        """Adds received data."""
        self._received += data
        self._readable.unpark_all()
        self._hold(self._in_frames)

    def window_grown(self) -> None:
        """Lets senders go on: the peer's window has room again."""
        self._writable.unpark_all()

    def _hold(self, in_frames: int) -> None:
        """Counts the data that we hold: unread bytes, and the parts of an incomplete message."""
        self._in_frames = in_frames
        held = len(self._received) + in_frames
        if held != self._held:
            change, self._held = held - self._held, held
            self._carrier.buffers.hold(self._carrier, change, requested=self._requested)

    def peer_finished(self) -> None:
        """Marks the peer's direction as ended."""
        self._ended = True
        self._readable.unpark_all()

    def end(self, reason: str) -> None:
        """Marks both directions as ended."""
        self._end_reason = self._end_reason or reason
        self._readable.unpark_all()
        self._writable.unpark_all()
