"""How many small or empty WebSocket frames may a client send? As many as these limits allow.

Reading a frame costs the same whatever its size, and a read of 64 KiB can hold nine thousand frames. A client
that answers pings and splits its messages into reasonable pieces stays far below the limits.
"""

from __future__ import annotations

from typing import Final

MIN_FRAGMENT: Final = 256
"""Minimum average size of a message's frames, in bytes; clients that split messages use 4 KiB or more."""
FREE_FRAGMENTS: Final = 32
"""Frames of one message that may be smaller than that."""
MAX_CONTROL_FRAMES: Final = 120
"""Pings and pongs in CONTROL_WINDOW_S. The server pings every 20 s; clients ping once a second at most."""
CONTROL_WINDOW_S: Final = 10.0
FRAMES_A_TURN: Final = 32
"""Frames after which other connections get their turn: about a millisecond of work."""


class FrameBudget:
    """Counts the frames of one connection."""

    def __init__(self) -> None:
        self._fragments = 0
        self._size = 0
        self._control = 0
        self._window_ends = 0.0

    def fragment(self, size: int, *, ends_frame: bool, ends_message: bool) -> str | None:
        """Count received bytes of a message. Returns the reason to close the connection, or None."""
        self._size += size
        self._fragments += ends_frame
        is_too_many = self._fragments > FREE_FRAGMENTS + self._size // MIN_FRAGMENT
        if ends_message:
            self._fragments = self._size = 0
        return "fragments too small" if is_too_many else None

    def control(self, seconds: float) -> str | None:
        """Count a received ping or pong. Returns the reason to close the connection, or None."""
        if seconds >= self._window_ends:
            self._window_ends = seconds + CONTROL_WINDOW_S
            self._control = 0
        self._control += 1
        return "too many control frames" if self._control > MAX_CONTROL_FRAMES else None


def text_frame_head(size: int) -> bytes:
    """The frame header of an unmasked text message of one frame (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")
