"""A socket stream whose sends have a deadline: it ends the connection of a client that does not read."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Sequence
from typing import Final

import trio

from cfnode.serving.reply import Part

__all__ = ["SEND_DEADLINE", "BoundedStream"]

SEND_DEADLINE: Final = 30.0
SEND_PIECE: Final = 256 * 1024
"""Bytes that must be sent within SEND_DEADLINE: a client slower than 9 KiB/s counts as disconnected."""
MAX_PIECES_PER_SEND: Final = 64
"""Pieces that one system call passes to the kernel, which accepts at most 1,024."""


class BoundedStream:
    """The stream interface that a hypercorn TCPServer uses.

    `on_abort` is called when the stream is aborted.
    """

    def __init__(self, stream: trio.SocketStream, on_abort: Callable[[], None]) -> None:
        self._stream = stream
        self._on_abort = on_abort
        self.socket = stream.socket
        self.is_over = False
        """Whether nothing more is read."""
        self._is_drained = True
        """Whether the last read left nothing in the kernel's buffer."""

    async def send_all(self, parts: Sequence[Part]) -> None:
        """Send everything, or close. Raises BrokenResourceError if the client does not read.

        Bytes that the kernel accepts at once are written without a scheduler turn: nearly every answer.
        """
        await self.send_rest(parts, self.send_now(parts))

    async def send_rest(self, parts: Sequence[Part], sent: int) -> None:
        """Send the parts without their first `sent` bytes, or close.

        Raises BrokenResourceError if the client does not read.
        """
        for part in parts:
            if sent < len(part):
                await self._send_part(memoryview(part)[sent:])
            sent = max(0, sent - len(part))

    def send_now(self, parts: Sequence[Part]) -> int:
        """Send what the kernel accepts at once; return the number of bytes. Raises BrokenResourceError."""
        try:
            return os.writev(self.socket.fileno(), parts[:MAX_PIECES_PER_SEND])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError("the client has disconnected") from error

    async def _send_part(self, part: memoryview) -> None:
        for start in range(0, len(part), SEND_PIECE):
            await self._send_piece(part[start : start + SEND_PIECE])

    async def _send_piece(self, piece: memoryview) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SEND_DEADLINE) as scope:
            await self._stream.send_all(piece)
        if scope.cancelled_caught:
            self.abort()
            raise trio.BrokenResourceError("the client does not read")

    async def receive_some(self, max_bytes: int) -> bytes:
        """Return the next bytes; none at the end of the stream.

        Raises BrokenResourceError or ClosedResourceError.

        A client mostly sends a request when it has the answer to the last one: until then the kernel has
        nothing, so it is not asked before it reports more.
        """
        if self._is_drained:
            await self._readable()
        else:
            await trio.lowlevel.checkpoint()
        while True:
            try:
                data = os.read(self.socket.fileno(), max_bytes)
            except BlockingIOError:
                await self._readable()
            except OSError as error:
                raise trio.BrokenResourceError("the client has disconnected") from error
            else:
                self._is_drained = len(data) < max_bytes
                return data

    async def _readable(self) -> None:
        if self.socket.fileno() < 0:
            raise trio.ClosedResourceError("the connection has been closed")
        await trio.lowlevel.wait_readable(self.socket)

    @property
    def has_unread(self) -> bool:
        """Whether the client has sent bytes that were not received yet."""
        ready = select.poll()
        try:
            ready.register(self.socket.fileno(), select.POLLIN)
        except ValueError:  # closed
            return False
        return bool(ready.poll(0))

    async def send_eof(self) -> None:
        """Close the sending direction."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close both directions."""
        await self._stream.aclose()

    def abort(self) -> None:
        """Close at once; tasks that wait on the socket get ClosedResourceError."""
        self.is_over = True
        self.socket.close()
        self._on_abort()
