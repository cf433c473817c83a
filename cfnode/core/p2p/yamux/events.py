"""Events that a yamux session reports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DataReceived",
    "Event",
    "GoneAway",
    "Pong",
    "StreamEnded",
    "StreamOpened",
    "StreamReset",
    "WindowGrown",
]


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The peer opened a stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class DataReceived:
    """Bytes of a stream; they count against its window until `consumed`."""

    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The peer will send no more on this stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class StreamReset:
    """The peer ended the stream both ways."""

    stream: int


@dataclass(frozen=True, slots=True)
class WindowGrown:
    """The peer has room for more data on this stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to our ping of that value."""

    value: int


@dataclass(frozen=True, slots=True)
class GoneAway:
    """The peer closes the connection: 0 in order, 1 for a protocol error, 2 for an internal one."""

    code: int


Event = StreamOpened | DataReceived | StreamEnded | StreamReset | WindowGrown | Pong | GoneAway
