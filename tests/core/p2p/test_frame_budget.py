"""Frames that use up the credit of a connection: those of a flood, never those of an honest peer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cfnode.core.p2p.errors import FloodError
from cfnode.core.p2p.protobuf import framed
from cfnode.core.p2p.yamux import YamuxSession
from cfnode.core.p2p.yamux.budget import MAX_FRAME_CREDIT
from cfnode.core.p2p.yamux.frames import ACK, DATA, PING, SYN, WINDOW, frame

STREAM = 1
SHORTEST_EXTRINSIC = 1 + 1 + 1 + 32 + 1 + 64 + 3 + 2
"""Bytes: length of the list, length, version, account, signature, era with nonce and tip, call."""
VOTE = 150


def listener() -> YamuxSession:
    """Return a session with a stream that the peer has opened."""
    session = YamuxSession(dialer=False)
    session.receive_data(frame(WINDOW, SYN, STREAM, 0))
    return session


def receive(session: YamuxSession, messages: Sequence[bytes]) -> None:
    """Receive messages of the secure channel; all data is read at once."""
    for message in messages:
        session.receive_data(message)
        session.frames_to_send()
        session.consumed(STREAM, len(message))


def litep2p(notification: bytes) -> list[bytes]:
    """Return a notification as litep2p 0.10 sends it: two frames, each in two messages."""
    length = framed(notification)[: -len(notification)]
    parts = [(frame(DATA, 0, STREAM, len(part)), part) for part in (length, notification)]
    return [message for part in parts for message in part]


def libp2p(notification: bytes) -> list[bytes]:
    """Return a notification as rust-libp2p sends it: one frame in one message."""
    data = framed(notification)
    return [frame(DATA, 0, STREAM, len(data)) + data]


@pytest.mark.parametrize("backend", [litep2p, libp2p])
@pytest.mark.parametrize("size", [SHORTEST_EXTRINSIC, 134, VOTE, 4_000])
def test_gossip_of_an_honest_peer_costs_no_credit_at_any_rate(backend: object, size: int) -> None:
    """Charge an honest peer's gossip nothing at any rate, in the frames of litep2p and of libp2p."""
    assert callable(backend)
    session = listener()
    for _ in range(5_000):
        receive(session, backend(bytes(size)))
        assert session.budget.credit > MAX_FRAME_CREDIT - 20


def test_twenty_neighbor_packets_of_litep2p_a_second_cost_no_credit() -> None:
    """Charge nothing for twenty small neighbor packets of litep2p a second."""
    session = listener()
    for _ in range(2_000):
        receive(session, litep2p(bytes(23)))
        session.budget.earn_time(1 / 20)
    assert session.budget.credit > MAX_FRAME_CREDIT - 20


@pytest.mark.parametrize("kind", ["empty messages", "pings", "windows", "a body, byte by byte", "a header"])
def test_messages_that_carry_nothing_use_the_credit_up(kind: str) -> None:
    """End a connection whose messages carry nothing, once its credit is used up."""
    session = listener()
    if kind == "a body, byte by byte":
        receive(session, [frame(DATA, 0, STREAM, 60_000)])
    header = frame(PING, ACK, 0, 1)
    message = {
        "empty messages": b"",
        "pings": header,
        "windows": frame(WINDOW, 0, STREAM, 1),
        "a body, byte by byte": b"x",
    }
    received = 0
    with pytest.raises(FloodError, match="carry nothing"):
        while received < 4_000:
            at = received % len(header)
            receive(session, [message.get(kind, header[at : at + 1])])
            received += 1
    assert received >= MAX_FRAME_CREDIT - 10


def test_a_body_of_sixteen_megabytes_in_large_messages_costs_no_credit() -> None:
    """Charge nothing for a body of 16 MiB in large messages."""
    session = listener()
    for _ in range(16 << 4):
        receive(session, [frame(DATA, 0, STREAM, 65_507), bytes(65_000), bytes(507)])
    assert session.budget.credit > MAX_FRAME_CREDIT - 20
