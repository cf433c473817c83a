"""How is one stream of a connection read and written?

What arrives waits here until it is read; what is sent goes out as the peer's window and the socket allow.
`Connection` (connection.py) makes them, feeds them and ends them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.protobuf import Frames

if TYPE_CHECKING:
    from cfnode.network.connection import Connection

__all__ = ["Substream", "SubstreamEnded"]


class SubstreamEnded(Exception):
    """The peer reset the substream, or the connection under it is gone; the text says which."""


class Substream:
    """One stream of a connection. Leave it by `close`; `Connection.substream` does so by itself."""

    def __init__(self, connection: Connection, number: int, *, asked: bool) -> None:
        self.connection = connection
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
        self.connection._consumed(self.number, len(data))
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
            self._check()
            if self.connection._full:
                await self.connection._room.park()
            elif (sent := self.connection._send(self.number, view)) == 0:
                await self._writable.park()
            else:
                view = view[sent:]

    def finish(self) -> None:
        """We send no more."""
        if self._why is None:
            self.connection._finish(self.number)

    def close(self) -> None:
        """Done with it; a substream that has not ended both ways is reset."""
        self._received.clear()
        self._hold(0)
        self._end("closed by us")
        self.connection._release(self.number)

    def _check(self) -> None:
        if self._why is not None:
            raise SubstreamEnded(self._why)

    def _take(self, data: bytes) -> None:
        self._received += data
        self._readable.unpark_all()
        self._hold(self._in_frames)

    def _hold(self, in_frames: int) -> None:
        """Account for what we have of the peer's: what nobody has read, and the parts of a message."""
        self._in_frames = in_frames
        held = len(self._received) + in_frames
        if held != self._held:
            change, self._held = held - self._held, held
            self.connection.buffers.hold(self.connection, change, asked=self._asked)

    def _finished(self) -> None:
        self._ended = True
        self._readable.unpark_all()

    def _end(self, why: str) -> None:
        self._why = self._why or why
        self._readable.unpark_all()
        self._writable.unpark_all()
