"""Yamux session: the streams of one connection, with bounds of memory and time.

Yamux (libp2p specs, "yamux") sends frames (`frames.py`) of many streams over one connection. A stream begins
with the flag SYN on its first frame, ends one way with FIN and both ways with RST, and a side may send only
what the other's receive window allows: 262,144 bytes at first, more as the receiver grants.

Bounds of the memory that a peer can take:
- a window is enforced: a byte too many ends the connection;
- inbound streams are counted until our side has released them, also those the peer has reset long ago;
- windows beyond the first 256 KiB come from one budget a connection, so the sum has a fixed limit
  (`MAX_BUFFERED`);
- frames that a peer makes us send (pongs, resets) and does not read are counted, too.

Bounds of the time: frames spend a budget (`budget.py`), and `turns` handles them in slices.

A stream that has ended may be ended again by a frame without a body: rust-yamux does that where a request's
stream is closed by two layers, one after the other. Data after the end breaks the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cfnode.core.p2p.errors import LocalError, RemoteError
from cfnode.core.p2p.yamux.budget import FRAMES_PER_TURN, STREAM_OPENING_FRAMES, YamuxFrameBudget
from cfnode.core.p2p.yamux.events import (
    DataReceived,
    Event,
    GoneAway,
    Pong,
    StreamEnded,
    StreamOpened,
    StreamReset,
    WindowGrown,
)
from cfnode.core.p2p.yamux.frames import (
    ACK,
    DATA,
    FIN,
    GO_AWAY,
    MAX_FRAME_BODY_BYTES,
    NORMAL,
    PING,
    RST,
    SYN,
    WINDOW,
    BodyPiece,
    Frame,
    FrameReader,
    frame,
)

__all__ = [
    "EXTRA_WINDOWS",
    "INITIAL_WINDOW",
    "MAX_BUFFERED",
    "MAX_INBOUND",
    "MAX_UNREAD_REPLIES",
    "YamuxSession",
]

INITIAL_WINDOW = 262_144
MAX_INBOUND = 128
"""Streams a peer may have open at a time. A Substrate node uses about ten, plus its pending requests."""
EXTRA_WINDOWS = 32 << 20
"""Bytes of window beyond the first, over all streams of a connection."""
MAX_OUTBOUND = 128
MAX_BUFFERED = (MAX_INBOUND + MAX_OUTBOUND) * INITIAL_WINDOW + EXTRA_WINDOWS
"""Unread bytes that a connection can hold: the sum of all windows."""
MAX_UNREAD_REPLIES = 1_000
"""Frames that answer the peer and that it does not read."""
MAX_SEND_WINDOW = (1 << 32) - 1


@dataclass(slots=True)
class _SubstreamState:
    window: int
    """Bytes that the peer may have in flight."""
    receivable: int
    sendable: int = INITIAL_WINDOW
    consumed: int = 0
    """Bytes read by our side and not yet granted to the peer again."""
    ours_ended: bool = False
    theirs_ended: bool = False
    reset: bool = False


@dataclass(slots=True)
class YamuxSession:
    """One connection's streams. The dialer's streams have odd numbers, the listener's even ones."""

    dialer: bool
    _streams: dict[int, _SubstreamState] = field(default_factory=dict)
    _inbound: int = 0
    _extra: int = EXTRA_WINDOWS
    _next: int = 0
    _reader: FrameReader = field(default_factory=FrameReader)
    _body_of: int | None = None
    """The stream whose body is arriving; None: the body is ignored."""
    _ends: bool = False
    """Whether that stream ends with the body."""
    _out: list[bytes] = field(default_factory=list)
    _waiting: int = 0
    _gone: bool = False
    budget: YamuxFrameBudget = field(default_factory=YamuxFrameBudget)
    """The credit for the peer's frames."""

    def __post_init__(self) -> None:
        """Start with stream 1 as the dialer, with stream 2 as the listener."""
        self._next = 1 if self.dialer else 2

    # Receiving

    def receive_data(self, data: bytes) -> list[Event]:
        """Handle received bytes at once; return the events in order.

        Raises RemoteError, after which the connection must end.
        """
        return [event for events in self.turns(data) for event in events]

    def turns(self, data: bytes) -> Iterator[list[Event]]:
        """Handle received bytes in short slices, and yield the events of each. Raises RemoteError.

        Bytes that begin no frame, such as those of an empty message, cost as much as a frame.
        """
        events: list[Event] = []
        spent_before = self.budget.spent
        turn_end = spent_before + FRAMES_PER_TURN
        for part in self._reader.receive_data(data):
            if isinstance(part, BodyPiece):
                self._on_piece(part, events)
            else:
                self._on_frame(part, events)
            if self.budget.spent >= turn_end:
                yield events
                events, turn_end = [], self.budget.spent + FRAMES_PER_TURN
        if self.budget.spent == spent_before:
            self.budget.spend(1)
        yield events

    def _on_frame(self, received: Frame, events: list[Event]) -> None:
        self._body_of, self._ends = None, False
        self.budget.spend(1)
        if received.kind in (PING, GO_AWAY):
            self._on_session_frame(received, events)
        else:
            self._on_stream_frame(received, events)

    def _on_piece(self, piece: BodyPiece, events: list[Event]) -> None:
        if self._body_of is not None:
            self.budget.earn_bytes(len(piece.data))
            events.append(DataReceived(self._body_of, piece.data))
            if piece.last and self._ends:
                self._on_end(self._body_of, events)

    def _on_session_frame(self, received: Frame, events: list[Event]) -> None:
        if received.kind == GO_AWAY:
            self._gone = True
            events.append(GoneAway(received.length))
        elif received.flags & SYN:
            self._answer(frame(PING, ACK, 0, received.length))
        else:
            events.append(Pong(received.length))

    def _on_stream_frame(self, received: Frame, events: list[Event]) -> None:
        number = received.stream
        if received.flags & SYN:
            self._on_open(number, events)
        stream = self._streams.get(number)
        if stream is None and number % 2 == self.dialer and number >= self._next:
            raise RemoteError(f"yamux: a frame for stream {number}, which we never opened")
        if stream is None or stream.reset:
            return  # it was in flight when the stream ended
        if received.flags & RST:
            stream.reset = True
            events.append(StreamReset(number))
        elif received.kind == WINDOW:
            self._on_window(number, stream, received.length, events)
            if received.flags & FIN:
                self._on_end(number, events)
        else:
            self._on_data(stream, received, events)

    def _on_open(self, number: int, events: list[Event]) -> None:
        if number == 0 or number % 2 == self.dialer:
            raise RemoteError(f"yamux: the peer may not open a stream with the number {number}")
        if number in self._streams:
            raise RemoteError(f"yamux: stream {number} is opened twice")
        self.budget.spend(STREAM_OPENING_FRAMES)
        if self._inbound >= MAX_INBOUND or self._gone:
            self._answer(frame(WINDOW, RST, number, 0))
            return
        self._inbound += 1
        self._streams[number] = _SubstreamState(INITIAL_WINDOW, INITIAL_WINDOW)
        self._answer(frame(WINDOW, ACK, number, 0))
        events.append(StreamOpened(number))

    def _on_window(self, number: int, stream: _SubstreamState, more: int, events: list[Event]) -> None:
        stream.sendable += more
        if stream.sendable > MAX_SEND_WINDOW:
            raise RemoteError(f"yamux: the window of stream {number} grows beyond 2^32")
        if more:
            events.append(WindowGrown(number))

    def _on_data(self, stream: _SubstreamState, received: Frame, events: list[Event]) -> None:
        number, length, ends = received.stream, received.length, bool(received.flags & FIN)
        if stream.theirs_ended and length:
            raise RemoteError(f"yamux: data on stream {number} after its end")
        if length > stream.receivable:
            raise RemoteError(
                f"yamux: {length} bytes on stream {number}, its window has room for {stream.receivable}"
            )
        stream.receivable -= length
        if length:
            self._body_of, self._ends = number, ends
        elif ends:
            self._on_end(number, events)

    def _on_end(self, number: int, events: list[Event]) -> None:
        stream = self._streams.get(number)
        if stream is None or stream.reset or stream.theirs_ended:
            return
        stream.theirs_ended = True
        events.append(StreamEnded(number))

    # Sending

    def frames_to_send(self) -> list[bytes]:
        """Return the frames to send now, each for a noise message of its own; each is returned once."""
        frames, self._out, self._waiting = self._out, [], 0
        return frames

    def open(self, window: int = INITIAL_WINDOW) -> int:
        """Open a stream and return its number; raise LocalError.

        `window`: bytes that may be in flight to us; fewer are granted when the budget is used up.
        """
        if self._gone:
            raise LocalError("yamux: the connection is closing")
        if len(self._streams) - self._inbound >= MAX_OUTBOUND:
            raise LocalError(f"yamux: {MAX_OUTBOUND} streams of ours are open already")
        extra = min(max(window - INITIAL_WINDOW, 0), self._extra)
        self._extra -= extra
        number, self._next = self._next, self._next + 2
        self._streams[number] = _SubstreamState(INITIAL_WINDOW + extra, INITIAL_WINDOW + extra)
        self._out.append(frame(WINDOW, SYN, number, extra))
        return number

    def sendable(self, number: int) -> int:
        """Return the number of bytes that the peer has room for on a stream.

        Raises LocalError if it is not open.
        """
        return self._live(number).sendable

    def send(self, number: int, data: bytes | memoryview) -> int:
        """Send as much as the window and one frame have room for; return the number of bytes.

        Raises LocalError if the stream is not open, or if our side of it has ended.
        """
        stream = self._live(number)
        if stream.ours_ended:
            raise LocalError(f"yamux: our side of stream {number} has ended")
        size = min(len(data), stream.sendable, MAX_FRAME_BODY_BYTES)
        if size:
            stream.sendable -= size
            self._out.append(frame(DATA, 0, number, size) + bytes(data[:size]))
            self.budget.earn_bytes(size)
        return size

    def consumed(self, number: int, size: int) -> None:
        """Count bytes that our side has read; the peer is granted as many once that is worth a frame."""
        stream = self._streams.get(number)
        if stream is None or stream.reset or stream.theirs_ended:
            return
        stream.consumed += size
        if stream.consumed >= stream.window // 2:
            self._out.append(frame(WINDOW, 0, number, stream.consumed))
            stream.receivable += stream.consumed
            stream.consumed = 0

    def finish(self, number: int) -> None:
        """End our direction of a stream."""
        stream = self._streams.get(number)
        if stream is not None and not stream.ours_ended and not stream.reset:
            stream.ours_ended = True
            self._out.append(frame(DATA, FIN, number, 0))

    def release(self, number: int) -> None:
        """Forget a stream that is no longer used; it is reset unless it has ended both ways."""
        stream = self._streams.pop(number, None)
        if stream is None:
            return
        if not stream.reset and not (stream.ours_ended and stream.theirs_ended):
            self._out.append(frame(WINDOW, RST, number, 0))
        if number % 2 == self.dialer:
            self._extra += stream.window - INITIAL_WINDOW
        else:
            self._inbound -= 1
            if stream.ours_ended and stream.theirs_ended and not stream.reset:
                self.budget.earn_stream()
        if self._body_of == number:
            self._body_of = None

    def ping(self, value: int) -> None:
        """Send a ping; the peer answers with a Pong of the same value (u32)."""
        self._out.append(frame(PING, SYN, 0, value))

    def go_away(self, code: int = NORMAL) -> None:
        """Send GoAway, which ends the connection."""
        self._gone = True
        self._out.append(frame(GO_AWAY, 0, 0, code))

    def _live(self, number: int) -> _SubstreamState:
        stream = self._streams.get(number)
        if stream is None or stream.reset:
            raise LocalError(f"yamux: stream {number} is not open")
        return stream

    def _answer(self, frame: bytes) -> None:
        self._waiting += 1
        if self._waiting > MAX_UNREAD_REPLIES:
            raise RemoteError(f"yamux: the peer does not read {MAX_UNREAD_REPLIES} answers to its frames")
        self._out.append(frame)
