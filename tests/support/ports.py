"""Ports of this machine: one that is free, and whether something listens on one."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import randrange


def free_port() -> int:
    """Return a free port, of those that no outgoing connection is given."""
    while True:
        port = randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def listens(port: int) -> bool:
    """Return whether connections to a port are accepted."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
