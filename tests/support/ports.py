"""Ports of this machine that are free."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import randrange


def free_port() -> int:
    """Of those that no outgoing connection is given."""
    while True:
        port = randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
