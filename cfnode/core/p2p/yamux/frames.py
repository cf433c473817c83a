"""Frames of yamux on the wire: headers, and the bodies after the headers of data.

libp2p specs, "yamux": 12 bytes of version, type, flags, stream and length, big-endian; the length is that of
the body, or a number whose meaning depends on the type. A body is passed on as it arrives, so a frame is
never held completely in memory, whatever length it announces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cfnode.core.p2p.errors import RemoteError

__all__ = [
    "ACK",
    "DATA",
    "FIN",
    "FRAME_HEADER",
    "GO_AWAY",
    "INTERNAL_ERROR",
    "MAX_FRAME_BODY_BYTES",
    "NORMAL",
    "PING",
    "PROTOCOL_ERROR",
    "RST",
    "SYN",
    "WINDOW",
    "BodyPiece",
    "Frame",
    "FrameReader",
    "frame",
]  # fmt: skip

FRAME_HEADER = struct.Struct("!BBHII")
MAX_FRAME_BODY_BYTES = 65_519 - FRAME_HEADER.size
"""Bytes of a body we send: header and body make one noise message."""

DATA, WINDOW, PING, GO_AWAY = range(4)
SYN, ACK, FIN, RST = 1, 2, 4, 8
NORMAL, PROTOCOL_ERROR, INTERNAL_ERROR = range(3)


@dataclass(frozen=True, slots=True)
class Frame:
    """A header. Where `kind` is DATA and `length` is not zero, pieces of that many bytes in all follow."""

    kind: int
    flags: int
    stream: int
    length: int


@dataclass(frozen=True, slots=True)
class BodyPiece:
    """A part of the body of the last frame; `last`: the body is complete."""

    data: bytes
    last: bool


def frame(kind: int, flags: int, stream: int, length: int) -> bytes:
    """Return the bytes of a header."""
    return FRAME_HEADER.pack(0, kind, flags, stream, length)


class FrameReader:
    """Reader that cuts received bytes into headers and pieces of bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._left = 0

    def receive_data(self, data: bytes) -> Iterator[Frame | BodyPiece]:
        """Yield the frames and pieces so far; raise RemoteError for a malformed header.

        The caller has to iterate to the end, where the received bytes are released.
        """
        self._buffer += data
        offset = 0
        with memoryview(self._buffer) as view:
            while offset < len(view):
                if self._left:
                    piece = bytes(view[offset : offset + self._left])
                    offset, self._left = offset + len(piece), self._left - len(piece)
                    yield BodyPiece(piece, last=not self._left)
                elif len(view) - offset >= FRAME_HEADER.size:
                    header = _header(view, offset)
                    offset, self._left = (
                        offset + FRAME_HEADER.size,
                        header.length if header.kind == DATA else 0,
                    )
                    yield header
                else:
                    break
        del self._buffer[:offset]


def _header(view: memoryview, at: int) -> Frame:
    version, kind, flags, stream, length = FRAME_HEADER.unpack_from(view, at)
    if version != 0 or kind > GO_AWAY or flags > 0xF:
        raise RemoteError(f"yamux: no frame has version {version}, type {kind} and flags {flags}")
    return Frame(kind, flags, stream, length)
