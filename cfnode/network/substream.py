"""One substream of a connection: its received data, flow control and end.

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
    """A substream that the peer reset, or whose connection has ended; the text gives the reason."""


class Carrier(Protocol):
    """The interface of a connection for its substreams."""

    buffers: Buffers

    async def room(self) -> None:
        """Wait until the socket accepts more data."""

    def send(self, number: int, data: memoryview) -> int:
        """Send as much as the peer's window and one frame have room for; return the number of bytes."""

    def consumed(self, number: int, size: int) -> None:
        """Allow the peer to send `size` further bytes, after as many were read."""

    def finish(self, number: int) -> None:
        """End our direction of the substream."""

    def release(self, number: int) -> None:
        """Forget a substream that is no longer used."""


class Substream:
    """One substream of a connection. `close` it at the end; `PeerConnection.substream` does so by itself."""

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
        """Return the data that has arrived, at least one byte; b"" when the peer has finished."""
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
        """Return the next message, without its length prefix; None if the peer finished before it began.

        `seconds`: the time in which a message that has begun has to be complete. Raise TooSlowError after it,
        and RemoteError if the substream ends in the middle of a message.
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
        self._hold(frames.held + len(message))  # until the next message is requested
        return message

    async def send_all(self, data: bytes) -> None:
        """Send all data, as the peer's window and the socket allow."""
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
        """End our direction of the substream."""
        if self._end_reason is None:
            self._carrier.finish(self.number)

    def close(self) -> None:
        """Release the substream, and reset it if it has not ended both ways."""
        self._received.clear()
        self._hold(0)
        self.end("closed by us")
        self._carrier.release(self.number)

    def _check(self) -> None:
        if self._end_reason is not None:
            raise SubstreamEnded(self._end_reason)

    def feed(self, data: bytes) -> None:
        """Append received data, and wake its readers."""
        self._received += data
        self._readable.unpark_all()
        self._hold(self._in_frames)

    def window_grown(self) -> None:
        """Let senders continue: the peer's window has room again."""
        self._writable.unpark_all()

    def _hold(self, in_frames: int) -> None:
        """Count the data that we hold: unread bytes, and the parts of an incomplete message."""
        self._in_frames = in_frames
        held_bytes = len(self._received) + in_frames
        if held_bytes != self._held:
            change, self._held = held_bytes - self._held, held_bytes
            self._carrier.buffers.hold(self._carrier, change, requested=self._requested)

    def peer_finished(self) -> None:
        """Mark the peer's direction as ended."""
        self._ended = True
        self._readable.unpark_all()

    def end(self, reason: str) -> None:
        """Mark both directions as ended."""
        self._end_reason = self._end_reason or reason
        self._readable.unpark_all()
        self._writable.unpark_all()
