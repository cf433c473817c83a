"""Errors of a connection: faults of the peer, and faults of our own side."""

from __future__ import annotations

__all__ = ["FloodError", "LocalError", "RemoteError"]


class RemoteError(Exception):
    """The peer broke a protocol; the text names the fault. The connection (or substream) ends."""


class FloodError(RemoteError):
    """The peer keeps to the format, but sends more useless frames or messages than allowed."""


class LocalError(Exception):
    """Our own code asked for something that the protocol forbids: a bug of ours, not of a peer."""
