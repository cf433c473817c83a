"""How is one stream of a connection read and written?

What arrives waits here until it is read; what is sent goes out as the peer's window and the socket allow. The
connection makes substreams, feeds them (`take`, `finished`, `end`) and carries what they send.
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
    """The peer reset the substream, or the connection under it is gone; the text says which."""


class Carrier(Protocol):
    """What a substream needs of the connection that it is a part of."""

    buffers: Buffers

    async def room(self) -> None:
        """Wait until the socket takes more."""

    def send(self, number: int, data: memoryview) -> int:
        """Send what the peer's window and one frame have room for; how many bytes that was."""

    def consumed(self, number: int, size: int) -> None:
        """So much was read: the peer may send as much again."""

    def finish(self, number: int) -> None:
        """We send no more on this stream."""

    def release(self, number: int) -> None:
        """Nobody uses the stream any more."""


class Substream:
    """One stream of a connection. Leave it by `close`; `Connection.substream` does so by itself."""

    def __init__(self, carrier: Carrier, number: int, *, asked: bool) -> None:
        self._carrier = carrier
        self.number = number
        self._asked = asked  # we opened it: what comes is what we wanted
        self._held = self._in_frames = 0
        self._received = bytearray()
        self._ended = False
        self._why: str | None = None
        self._readable = trio.lowlevel.ParkingLot()
        self._writable = trio.lowlevel.ParkingLot()

    async def receive(self) -> bytes:
        """What has arrived, at least one byte; b"" when the peer sends no more."""
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
        """The next message with its length in front; None where the peer ended before it began.

        `seconds`: once it has begun, it has to be whole within them, or TooSlowError is raised.
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
        """Send it all, as the peer's window and the socket allow."""
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
        """We send no more."""
        if self._why is None:
            self._carrier.finish(self.number)

    def close(self) -> None:
        """Done with it; a substream that has not ended both ways is reset."""
        self._received.clear()
        self._hold(0)
        self.end("closed by us")
        self._carrier.release(self.number)

    def _check(self) -> None:
        if self._why is not None:
            raise SubstreamEnded(self._why)

    def take(self, data: bytes) -> None:
        """This has arrived."""
        self._received += data
        self._readable.unpark_all()
        self._hold(self._in_frames)

    def grown(self) -> None:
        """The peer has room for more."""
        self._writable.unpark_all()

    def _hold(self, in_frames: int) -> None:
        """Account for what we have of the peer's: what nobody has read, and the parts of a message."""
        self._in_frames = in_frames
        held = len(self._received) + in_frames
        if held != self._held:
            change, self._held = held - self._held, held
            self._carrier.buffers.hold(self._carrier, change, asked=self._asked)

    def finished(self) -> None:
        """The peer sends no more."""
        self._ended = True
        self._readable.unpark_all()

    def end(self, why: str) -> None:
        """It is over, both ways."""
        self._why = self._why or why
        self._readable.unpark_all()
        self._writable.unpark_all()
