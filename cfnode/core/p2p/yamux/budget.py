"""Frame budget of a yamux connection, a bound of the work that a peer's frames cause.

A frame costs us about the same time however little it carries, and so does a message of the secure channel.
So a connection has a credit, counted in frames. Each frame takes from it, and each message that begins no
frame; opening a stream takes more. Credit comes from bytes of streams, received and sent (for which the peer
has to grant windows), from streams that end in order on both sides, and from time. So what counts is how many
bytes reach a protocol for each frame, at any rate. A peer that transfers data, sends requests or gossip never
comes near the end of its credit. One that sends pings, pongs, window updates of a few bytes, empty frames or
streams that it resets at once has used it up within thousands of frames, and its connection ends.

The honest peer with the fewest bytes for each frame is litep2p: it sends a notification as a frame with its
length and a frame with its text, and header and body of each in messages of their own, four in all. A signed
extrinsic has at least a hundred bytes, a vote 150.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.p2p.errors import FloodError

__all__ = ["FRAMES_PER_TURN", "MAX_FRAME_CREDIT", "STREAM_OPENING_FRAMES", "YamuxFrameBudget"]

MAX_FRAME_CREDIT = 3_000.0
"""Useless frames that a peer may send at once: some hundredths of a second of our time."""
CREDIT_PER_SECOND = 100.0
"""Useless frames that a peer may send all the time, which takes well under 1 % of a processor."""
BYTES_PER_FRAME = 16
"""Useful bytes that pay for one frame: a notification of 64 bytes pays for the four messages of litep2p."""
STREAM_OPENING_FRAMES = 4
"""Additional frames that opening a stream costs: we keep the stream, and acknowledge it."""
ENDED_WELL = 8
"""Frames that a stream gives back when it has ended in order both ways: its opening, ends and windows."""
FRAMES_PER_TURN = 32
"""Frames handled before other tasks run, about a millisecond."""


@dataclass(slots=True)
class YamuxFrameBudget:
    """The credit of one connection. `spent`: frames since the beginning."""

    credit: float = MAX_FRAME_CREDIT
    spent: int = 0

    @property
    def poor(self) -> bool:
        """Whether the peer has sent many useless frames lately."""
        return self.credit < MAX_FRAME_CREDIT * 3 / 4

    def spend(self, frames: int) -> None:
        """Take credit for received frames. Raises FloodError when the credit is used up."""
        self.spent += frames
        self.credit -= frames
        if self.credit < 0:
            raise FloodError(f"over {MAX_FRAME_CREDIT:.0f} frames that carry nothing")

    def earn_bytes(self, size: int) -> None:
        """Add credit for useful bytes, received or sent."""
        self._earn(size / BYTES_PER_FRAME)

    def earn_time(self, seconds: float) -> None:
        """Add credit for elapsed time."""
        self._earn(seconds * CREDIT_PER_SECOND)

    def earn_stream(self) -> None:
        """Add credit for a stream of the peer that ended in order."""
        self._earn(ENDED_WELL)

    def _earn(self, frames: float) -> None:
        self.credit = min(MAX_FRAME_CREDIT, self.credit + frames)
