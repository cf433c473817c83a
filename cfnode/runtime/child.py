"""An executor process as the node starts it, and the messages between them.

The process gets one end of a socket pair, a number in shared memory, and nothing else: no terminal (it has
its own session, so that Ctrl-C does not reach it), no open file of the node, and not the node's working
directory. Its stderr goes to an unnamed file, whose last line is quoted when the process dies unexpectedly.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import IO

import msgspec
import trio

from cfnode.runtime import frames
from cfnode.runtime.calls import ExecutorDied
from cfnode.runtime.shared_number import SharedNumber, memory_file
from cfnode.store.isolated import SEARCH, isolated_python

__all__ = ["Child"]

_START = (
    SEARCH + "from cfnode.runtime.worker import main;"
    " main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))"
)
_READ_SIZE = 256 << 10
_STDERR_TAIL = 2_000
_LAST_S = 0.2  # between the end of the socket and the end of the process
_PATIENCE_S = 1.0
"""Seconds that a process may take to end by itself, once its socket is closed."""


class Child:
    """A running executor process and the socket to it. Make it with `Child.start`, end it with `end`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        ours: socket.socket,
        stderr: IO[bytes],
        progress: SharedNumber,
    ) -> None:
        self._process = process
        self._progress = progress
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        self._stderr = stderr
        self._buffer = bytearray()

    @classmethod
    def start(cls, store: Path, runtimes: str) -> Child:
        """Start a process that reads the store at this path. Raises OSError.

        Call it in the main thread: the kernel ends the process with the thread that forked it.
        """
        with ExitStack() as resources:
            own_socket, child_socket = socket.socketpair()
            resources.enter_context(own_socket)
            with child_socket:
                stderr = resources.enter_context(os.fdopen(memory_file("executor-stderr"), "w+b", 0))
                with os.fdopen(memory_file("executor-progress"), "w+b", 0) as shared:
                    progress = resources.enter_context(closing(SharedNumber(shared.fileno())))
                    arguments = [str(store.resolve()), runtimes]
                    process = _spawn([child_socket.fileno(), shared.fileno()], stderr, arguments)
            resources.pop_all()
        return cls(process, own_socket, stderr, progress)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running, by its exit status."""
        return self._process.poll() is None

    @property
    def working_on(self) -> int:
        """The id of the request that the process works on, or died with; 0 for none."""
        return self._progress.value

    async def send(self, encoded: Iterable[bytes]) -> None:
        """Send frames. Raises ExecutorDied.

        A cancelled send may have sent half a frame: end the child then.
        """
        for buffer in frames.joined(encoded):
            try:
                await self._stream.send_all(buffer)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                raise await self._died() from error

    async def receive(self) -> frames.ExecutorAnswer:
        """Return the next message. Raises ExecutorDied.

        A receive that is cancelled loses nothing.
        """
        waited = await self._fill(frames.LENGTH_SIZE)
        try:
            end = frames.LENGTH_SIZE + frames.frame_length(bytes(self._buffer[: frames.LENGTH_SIZE]))
            waited = await self._fill(end) or waited
            with memoryview(self._buffer)[frames.LENGTH_SIZE : end] as body:
                answer = frames.decode_answer(body)
        except (ValueError, msgspec.MsgspecError) as error:
            raise ExecutorDied(f"the executor process sent a malformed answer: {error}") from error
        del self._buffer[:end]
        if not waited:  # let other tasks run once per message, but no more often: a call has many messages
            await trio.lowlevel.cancel_shielded_checkpoint()
        return answer

    async def _fill(self, size: int) -> bool:
        """Read until the buffer has `size` bytes; return whether that took a turn of the event loop."""
        waited = len(self._buffer) < size
        while len(self._buffer) < size:
            try:
                data = await self._stream.receive_some(_READ_SIZE)
            except trio.BrokenResourceError:
                data = b""
            if not data:
                raise await self._died()
            self._buffer += data
        return waited

    def kill(self) -> None:
        """Kill the process; `end` must still follow."""
        self._process.kill()

    async def end(self) -> None:
        """Close the socket and wait for the process, or kill it after a second; never cancelled."""
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(self._stream)
            try:
                await trio.to_thread.run_sync(self._process.wait, _PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await trio.to_thread.run_sync(self._process.wait)
            self._stderr.close()
            self._progress.close()

    async def _died(self) -> ExecutorDied:
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = await trio.to_thread.run_sync(self._process.wait, _LAST_S)
        ending = "closed its socket" if code is None else f"ended with code {code}"
        if code is not None and code < 0:
            ending = f"was ended by signal {-code}"
        line = self._last_stderr_line()
        return ExecutorDied(f"the executor process {ending} during the call" + (f": {line}" if line else ""))

    def _last_stderr_line(self) -> str:
        end = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, end - _STDERR_TAIL))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _spawn(shared: Sequence[int], stderr: IO[bytes], what: list[str]) -> subprocess.Popen[bytes]:
    """Start the process and return it.

    `shared`: the descriptors of its socket and of its progress.
    """
    connection, progress = map(str, shared)
    return subprocess.Popen(
        isolated_python(_START, connection, *what, str(os.getpid()), progress),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        cwd="/",
        pass_fds=shared,
        start_new_session=True,
    )
