"""A peer whose gossip comes in many small frames stays, however fast it sends."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
import trio.testing

from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.core.p2p.yamux.budget import MAX_FRAME_CREDIT
from cfnode.core.p2p.yamux.frames import DATA, SYN, WINDOW, frame
from cfnode.network.connection import PeerConnection
from cfnode.network.substream import Substream
from tests.support.network.connections import ours_and_raw

STREAM = 1
TRANSACTIONS = 3_000
TRANSACTION = bytes(134)


def litep2p(notification: bytes) -> list[bytes]:
    """Return a notification as litep2p sends it: two frames, header and body of each in own messages."""
    parts = (framed(notification)[: -len(notification)], notification)
    return [message for part in parts for message in (frame(DATA, 0, STREAM, len(part)), part)]


@pytest.mark.world
async def test_transactions_of_litep2p_end_no_connection(autojump_clock: trio.testing.MockClock) -> None:
    """They arrive as fast as they can be read, as after a pause."""
    read: list[bytes] = []
    complete = trio.Event()

    async def collect(connection: PeerConnection, substream: Substream) -> None:
        frames = Frames(1_000)
        while (message := await substream.receive_frame(frames)) is not None:
            read.append(message)
            if len(read) == TRANSACTIONS:
                complete.set()

    async with ours_and_raw(collect) as (ours, stream, raw):
        with suppress(trio.BrokenResourceError):
            await stream.send_all(raw.channel.seal(frame(WINDOW, SYN, STREAM, 0)))
            for _ in range(TRANSACTIONS):
                await stream.send_all(b"".join(map(raw.channel.seal, litep2p(TRANSACTION))))
        with trio.move_on_after(60):
            await complete.wait()
        assert ours.end_reason == ""
        assert read == [TRANSACTION] * TRANSACTIONS
        assert ours._session.budget.credit > MAX_FRAME_CREDIT - 20
        assert not ours.flooded
