"""Deadline of a blocking exchange: each step gets the remaining time, whatever the server does.

httpx limits each read from a socket, so a server that sends its answer byte by byte can block a caller for as
long as it likes. Here every read, write and connect of a thread gets the time that is left to that thread's
exchange. Only the operating system's name lookups are not covered.

httpx has no argument for a custom network backend, so `bind` replaces the one in its connection pools.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any

import httpcore
import httpx

__all__ = ["Deadlines", "bind"]


class Deadlines(threading.local):
    """The deadline of each thread's current exchange; an exchange never changes its thread."""

    until = math.inf

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the sends and receives of the block to `seconds` in total."""
        self.until = time.monotonic() + seconds
        try:
            yield
        finally:
            self.until = math.inf

    def left(self, step_s: float | None, timeout_error: type[httpcore.TimeoutException]) -> float | None:
        """Return the seconds that a step may take. Raise `timeout_error` if none are left."""
        if self.until == math.inf:
            return step_s
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise timeout_error
        return left_s if step_s is None else min(step_s, left_s)


class _DeadlineStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadlines.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadlines.left(timeout, httpcore.WriteTimeout))

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left_s = self._deadlines.left(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left_s), self._deadlines)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend, deadlines: Deadlines) -> None:
        self._backend = backend
        self._deadlines = deadlines

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left_s = self._deadlines.left(timeout, httpcore.ConnectTimeout)
        stream = self._backend.connect_tcp(host, port, left_s, local_address, socket_options)
        return _DeadlineStream(stream, self._deadlines)


def bind(client: httpx.Client, deadlines: Deadlines) -> None:
    """Make the connections of a client, and those to proxies, keep the deadlines."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend, deadlines)
