"""Limits on the frames of a WebSocket, and the framing of short messages.

How many small or empty frames may a client send? Reading a frame costs the same whatever its size, and a read
of 64 KiB can hold nine thousand frames. A client that answers pings and splits its messages into reasonable
pieces stays far below the limits.
"""

from __future__ import annotations

from typing import Final, Protocol

from cfnode.flow.rate import Rate
from cfnode.serving.reply import Reply

MIN_FRAGMENT: Final = 256
"""Minimum average size of a message's frames, in bytes; clients that split messages use 4 KiB or more."""
FREE_FRAGMENTS: Final = 32
"""Frames of one message that may be smaller than MIN_FRAGMENT."""
MAX_CONTROL_FRAMES: Final = 120
"""Pings and pongs at once, and in CONTROL_WINDOW_S from then on. The server pings every 20 s; clients ping
once a second at most."""
CONTROL_WINDOW_S: Final = 10.0
FRAMES_A_TURN: Final = 32
"""Frames after which other connections get their turn: about a millisecond of work."""


class WebSocketFrameBudget:
    """The counted frames of one connection."""

    def __init__(self) -> None:
        self._fragments = 0
        self._size = 0
        self._control = Rate(MAX_CONTROL_FRAMES / CONTROL_WINDOW_S, MAX_CONTROL_FRAMES)

    def fragment(self, size: int, *, ends_frame: bool, ends_message: bool) -> str | None:
        """Count received bytes of a message. Return the reason to close the connection, or None."""
        self._size += size
        self._fragments += ends_frame
        is_too_many = self._fragments > FREE_FRAGMENTS + self._size // MIN_FRAGMENT
        if ends_message:
            self._fragments = self._size = 0
        return "fragments too small" if is_too_many else None

    def control(self, seconds: float) -> str | None:
        """Count a received ping or pong. Return the reason to close the connection, or None."""
        return None if self._control.allows(seconds) else "too many control frames"


class FrameBoundary:
    """A tracker of frames in received bytes: whether the next byte begins a frame, and a message.

    Only the lengths are read, and the opcodes; wsproto, which reads the frames, finds what is malformed.
    """

    def __init__(self) -> None:
        self._head = b""
        """The part of a frame's head that has been received."""
        self._missing = 0
        """Bytes of a payload that have not been received yet."""
        self._is_message_open = False

    @property
    def is_at_message(self) -> bool:
        """Whether the next byte begins a frame, and no message is incomplete."""
        return not (self._missing or self._head or self._is_message_open)

    def follow(self, data: bytes) -> None:
        """Follow the frames through the next bytes."""
        start = min(self._missing, len(data))
        self._missing -= start
        data = self._head + data[start:]
        start, self._head = 0, b""
        while start < len(data):
            size = _head_size(data, start)
            if size is None or len(data) < start + size:
                self._head = data[start:]
                return
            self._begin(data[start])
            end = start + size + _payload_size(data, start)
            self._missing = max(0, end - len(data))
            start = end

    def _begin(self, first: int) -> None:
        """Begin a frame with this first byte: only a control frame leaves the message as it is."""
        if not first & 0x08:
            self._is_message_open = not first & 0x80


def _head_size(data: bytes, start: int) -> int | None:
    """Return the number of bytes of the head of a masked frame; None if they are not known yet."""
    if len(data) < start + 2:
        return None
    second = data[start + 1]
    mask = 4 if second & 0x80 else 0
    return 2 + mask + {126: 2, 127: 8}.get(second & 0x7F, 0)


def _payload_size(data: bytes, start: int) -> int:
    size = data[start + 1] & 0x7F
    if size < 126:
        return size
    return int.from_bytes(data[start + 2 : start + (4 if size == 126 else 10)], "big")


MAX_SHORT_MESSAGE_BYTES: Final = 16 * 1024
"""Bytes of a message that needs no protocol library."""


class Messages(Protocol):
    """The application's side of a WebSocket, as far as it answers short messages."""

    def answer_now(self, message: bytes, before: int) -> Reply | None:
        """Return the answer to a message that needs no waiting.

        None if the application has to get the message. `before`: the number of messages that came before it.
        """


def short_message(data: bytes) -> bytes | None:
    """Return the message in received bytes that are one short frame; None for anything else.

    The frame must be a masked text message (RFC 6455, 5.2) of at most MAX_SHORT_MESSAGE_BYTES bytes, and
    well-formed.
    """
    if len(data) < 6 or data[0] != 0x81 or data[1] < 0x80:
        return None
    size, start = data[1] & 0x7F, 6
    if size >= 126:
        size, start = int.from_bytes(data[2:4], "big"), 8
        if not 126 <= size <= MAX_SHORT_MESSAGE_BYTES or data[1] == 0xFF:
            return None
    if len(data) != start + size:
        return None
    message = _unmasked(data[start:], data[start - 4 : start])
    return message if _is_text(message) else None


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    if mask == b"\0\0\0\0":
        return payload
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def _is_text(message: bytes) -> bool:
    if message.isascii():
        return True
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


def text_frame_head(size: int) -> bytes:
    """Return the frame header of an unmasked text message of one frame (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")


def framed(reply: Reply) -> Reply:
    """Return a reply as one text message; an empty reply as it is."""
    return Reply(text_frame_head(reply.size), *reply.parts) if reply else reply
