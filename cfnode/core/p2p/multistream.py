"""Negotiation of a stream's protocol: multistream-select, dialer and listener.

multistream-select 1.0 (libp2p specs, "connections/README"): each message is a line with its length in front
(LEB128, newline counted). Both sides send the header line; the dialer proposes a name, the listener echoes it
or answers `na`. The dialer need not wait for the header, so a negotiation takes one round trip; with a single
name it may even send its first data after the proposal.

An unauthenticated peer is bounded here: by the length of a line, by the number of proposals, and by UTF-8.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from cfnode.core.p2p.errors import LocalError, RemoteError
from cfnode.core.p2p.protobuf import Frames, framed

__all__ = ["MULTISTREAM_HEADER", "Dialer", "MultistreamListener", "line"]

MULTISTREAM_HEADER = "/multistream/1.0.0"
NOT_AVAILABLE = "na"
MAX_LINE = 1024
"""Bytes of a line. The longest name in use has 120."""
MAX_PROPOSALS = 20


def line(text: str) -> bytes:
    """Return a protocol name as a line with its length in front."""
    return framed(text.encode() + b"\n")


class _Side:
    """The common part of both sides: cut lines, check the header, keep the bytes of the next protocol."""

    def __init__(self) -> None:
        self.chosen: str | None = None
        self._frames = Frames(MAX_LINE)
        self._out = bytearray()
        self._header_seen = False

    @property
    def rest(self) -> bytes:
        """Received bytes after the choice, which belong to the chosen protocol."""
        return self._frames.rest

    def bytes_to_send(self) -> bytes:
        """Return the bytes to send now; each is returned once."""
        pending = bytes(self._out)
        self._out.clear()
        return pending

    def receive_data(self, data: bytes) -> None:
        """Read received bytes, up to the choice; raise RemoteError."""
        self._frames.feed(data)
        while self.chosen is None and (frame := self._frames.next()) is not None:
            text = _text(frame)
            if self._header_seen:
                self._on_line(text)
            elif text == MULTISTREAM_HEADER:
                self._header_seen = True
                self._on_header()
            else:
                raise RemoteError(f"multistream: the header is {text[:40]!r}, not {MULTISTREAM_HEADER!r}")

    def _on_header(self) -> None:
        pass

    def _on_line(self, text: str) -> None:
        raise NotImplementedError


class Dialer(_Side):
    """The side that proposes names, in the order of preference."""

    def __init__(self, names: Sequence[str]) -> None:
        if not names:
            raise LocalError("multistream: no protocol to propose")
        super().__init__()
        self._out += line(MULTISTREAM_HEADER)
        self._names = list(names)
        self._propose()

    def _propose(self) -> None:
        self._out += line(self._names[0])

    def _on_line(self, text: str) -> None:
        if text == self._names[0]:
            self.chosen = text
        elif text != NOT_AVAILABLE:
            raise RemoteError(f"multistream: the answer to {self._names[0]!r} is {text[:40]!r}")
        else:
            refused = self._names.pop(0)
            if not self._names:
                raise RemoteError(f"multistream: the protocol {refused} is refused")
            self._propose()


class MultistreamListener(_Side):
    """The side that accepts the first proposal it knows.

    It lets the dialer send first: a browser's WebSocket may lose data that arrives before its user has begun
    to listen (seen with js-libp2p).
    """

    def __init__(self, known: Container[str]) -> None:
        super().__init__()
        self._known = known
        self._proposals = 0

    def _on_header(self) -> None:
        self._out += line(MULTISTREAM_HEADER)

    def _on_line(self, text: str) -> None:
        self._proposals += 1
        if text in self._known:
            self.chosen = text
            self._out += line(text)
        elif self._proposals == MAX_PROPOSALS:
            raise RemoteError(f"multistream: {MAX_PROPOSALS} proposals, and we support none of them")
        else:
            self._out += line(NOT_AVAILABLE)


def _text(frame: bytes) -> str:
    if not frame.endswith(b"\n"):
        raise RemoteError("multistream: a line without a newline at its end")
    try:
        return frame[:-1].decode()
    except UnicodeDecodeError:
        raise RemoteError("multistream: a line is not UTF-8") from None
