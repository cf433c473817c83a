"""Answers that a thread writes into a temporary file, and that are sent while it writes.

The writer goes on at its own speed, whatever the client reads, so a slow client holds no transaction of a
database open; memory holds one piece. The head of the answer is sent with the first bytes: an error before
them is still an answer with its own status. An error after them breaks the connection off, so that no client
takes a part for the whole.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, Final

import trio

__all__ = ["PIECE_BYTES", "send_spooled"]

PIECE_BYTES: Final = 64 * 1024


async def send_spooled(
    write: Callable[[BinaryIO], None],
    start: Callable[[], Awaitable[None]],
    send: Callable[[bytes], Awaitable[None]],
    limiter: trio.CapacityLimiter,
) -> None:
    """Run `write` in a thread, call `start` once there are bytes, then `send` for each piece.

    If the caller is cancelled, the writer ends with its next piece. Raises what `write` raises.
    """
    with tempfile.TemporaryFile(buffering=0) as file:
        spool = _Spool(file.fileno())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(spool.run, write, limiter)
            try:
                if await spool.grown() or spool.error is None:
                    await start()
                    while piece := await spool.read():
                        await send(piece)
            finally:
                spool.is_abandoned = True
        if spool.error is not None:
            raise spool.error


class _Spool:
    """File that one thread writes and one task reads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written = self._read = 0
        self._is_done = False
        self._change = trio.Event()
        self._token = trio.lowlevel.current_trio_token()
        self.is_abandoned = False
        self.error: Exception | None = None

    async def run(self, write: Callable[[BinaryIO], None], limiter: trio.CapacityLimiter) -> None:
        """Write the file in a thread; its error is kept."""

        def fill() -> None:
            sink = _Sink(self.append)
            out = io.BufferedWriter(sink, PIECE_BYTES)
            try:
                write(out)
                out.flush()
            except BaseException:
                sink.is_broken = True
                raise
            finally:
                out.close()

        try:
            await trio.to_thread.run_sync(fill, limiter=limiter)
        except _Abandoned:
            pass
        except Exception as error:
            self.error = error
        finally:
            self._is_done = True
            self._change.set()

    def append(self, data: Any) -> int:
        """Write bytes, in the thread. Raises _Abandoned if the reader has ended."""
        if self.is_abandoned:
            raise _Abandoned
        count = os.pwrite(self._descriptor, data, self._written)
        self._written += count
        self._token.run_sync_soon(self._change.set)
        return count

    async def grown(self) -> bool:
        """Wait for bytes that are not read yet; return False at the end, or after an error."""
        while self.error is None and self._written == self._read and not self._is_done:
            self._change = trio.Event()
            if self._written == self._read and not self._is_done:
                await self._change.wait()
        return self.error is None and self._written > self._read

    async def read(self) -> bytes:
        """Return the next bytes; none at the end, or after an error."""
        if not await self.grown():
            return b""
        piece = os.pread(self._descriptor, min(PIECE_BYTES, self._written - self._read), self._read)
        self._read += len(piece)
        return piece


class _Abandoned(Exception):
    """The reader of the file has ended."""


class _Sink(io.RawIOBase):
    """Raw stream that passes bytes on; a broken one drops what is left in the buffer above it."""

    def __init__(self, append: Callable[[Any], int]) -> None:
        self._append = append
        self.is_broken = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data) if self.is_broken else self._append(data)
