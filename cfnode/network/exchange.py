"""Request-response exchange over one substream: sending a request, and answering one.

Each request has its own substream: multistream, then the request with its length in front; the answer has
the same form. A node refuses a request by ending the substream. A request takes one round trip, since it is
sent together with the multistream proposal. All parts have a limit in bytes and in total seconds, so a slow
peer is cut off like a silent one.

A request that has arrived completely takes a slot, and peers get slots in fair turns (`flow/fairness.py`).
The slot is free again when the answer is computed, however slowly the peer reads it.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Container

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multistream import Dialer, MultistreamListener
from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.flow.fairness import FairSlots
from cfnode.flow.rate import Rate
from cfnode.network.connection import PeerConnection
from cfnode.network.interface import (
    PeerRequestRefused,
    RequestFailed,
    RequestHandler,
    RequestLimits,
    RequestTimedOut,
)
from cfnode.network.substream import Substream, SubstreamEnded
from cfnode.network.traffic import RequestTraffic

__all__ = [
    "MAX_UNREAD",
    "PING",
    "PINGS_AT_ONCE",
    "PINGS_PER_SECOND",
    "ServedProtocol",
    "accept_protocol",
    "answer_pings",
    "ask",
    "propose",
]

log = logging.getLogger("cfnode.sub-libp2p")

PING = "/ipfs/ping/1.0.0"
PING_SIZE = 32
PINGS_AT_ONCE, PINGS_PER_SECOND = 20, 20.0
"""Pings at once and per second on one connection: enough for a peer to measure the round-trip time."""
NEGOTIATION = 10.0
"""Seconds to agree on a protocol, and to send a request."""
MAX_UNREAD = 100
"""Incomplete requests of a peer: the libp2p backend of a Substrate node accepts as many per connection. They
take no slot; their bytes count in `Buffers`."""
WAITING_PER_SLOT = 4
"""Requests that may wait, for each request that is served at a time."""


async def accept_protocol(substream: Substream, known: Container[str]) -> tuple[str, bytes]:
    """Return the protocol of a substream that the peer opened, and the data after it. Raise RemoteError."""
    listener = MultistreamListener(known)
    with trio.fail_after(NEGOTIATION):
        while True:
            await substream.send_all(listener.bytes_to_send())
            if listener.chosen is not None:
                return listener.chosen, listener.rest
            try:
                listener.receive_data(await _some(substream))
            except RemoteError:  # the rest is a request sent ahead: the refusal is still sent
                await substream.send_all(listener.bytes_to_send())
                raise


async def propose(substream: Substream, name: str, first: bytes = b"") -> bytes:
    """Propose a protocol together with its first bytes; return the data after the answer.

    Raise RemoteError.
    """
    dialer = Dialer([name])
    await substream.send_all(dialer.bytes_to_send() + first)
    while dialer.chosen is None:
        dialer.receive_data(await _some(substream))
    return dialer.rest


async def _some(substream: Substream) -> bytes:
    data = await substream.receive()
    if not data:
        raise RemoteError("the peer ended the substream before a protocol was agreed on")
    return data


async def ask(
    connection: PeerConnection, name: str, request: bytes | None, limits: RequestLimits, seconds: float
) -> bytes:
    """Send a request and return the answer; `request` None sends no data (identify).

    Raise RequestFailed.
    """
    try:
        with trio.fail_after(seconds):
            async with connection.substream(limits.window) as substream:
                return await _ask(substream, name, request, limits)
    except trio.TooSlowError:
        raise RequestTimedOut(f"no answer to {name} within {seconds:g} s") from None
    except SubstreamEnded as error:
        raise RequestFailed(f"{name}: {error}") from None
    except RemoteError as error:
        raise RequestFailed(f"{name}: {error}") from error


async def _ask(substream: Substream, name: str, request: bytes | None, limits: RequestLimits) -> bytes:
    frames = Frames(limits.response)
    frames.feed(await propose(substream, name, b"" if request is None else framed(request)))
    substream.finish()
    answer = await substream.receive_frame(frames)
    if answer is None:
        raise PeerRequestRefused(f"{name}: the peer refuses to answer")
    return answer


class ServedProtocol:
    """A protocol that we serve, within its limits over all peers, of which one peer gets half."""

    def __init__(
        self, handler: RequestHandler, limits: RequestLimits, traffic: RequestTraffic | None = None
    ) -> None:
        self._handler, self._limits, self._traffic = handler, limits, traffic or RequestTraffic()
        share = max(1, limits.concurrent // 2)
        max_waiting = WAITING_PER_SLOT * limits.concurrent
        self._slots = FairSlots(limits.concurrent, per_client=share, max_waiting=max_waiting)
        self._unfinished: Counter[str] = Counter()

    async def serve(self, connection: PeerConnection, substream: Substream, first: bytes) -> None:
        """Answer the request of one substream, or end the substream if a limit is exceeded."""
        request = await self._read(connection.peer_id, substream, first)
        if request is None:
            return
        started = trio.current_time()
        message = await self._answer(connection.peer_id, request)
        if message is None:
            self._traffic.refused += 1
            return
        self._traffic.answered.add(trio.current_time() - started)
        with connection.buffers.answer(connection, len(message)) as has_room:
            if has_room:
                with trio.fail_after(self._limits.timeout):
                    await substream.send_all(message)
                substream.finish()
                await self._wait_for_end(substream)

    async def _read(self, peer: str, substream: Substream, first: bytes) -> bytes | None:
        """Return the complete request; None if too many requests of the peer are incomplete."""
        if self._unfinished[peer] >= MAX_UNREAD:
            return None
        frames = Frames(self._limits.request)
        frames.feed(first)
        self._unfinished[peer] += 1
        try:
            with trio.fail_after(NEGOTIATION):
                request = await substream.receive_frame(frames)
        finally:
            self._unfinished[peer] -= 1
            self._unfinished += Counter()  # removes zero counts
        if request is None:
            raise RemoteError("the substream ended without a request")
        return request

    async def _answer(self, peer: str, request: bytes) -> bytes | None:
        """Return the answer with its length in front; None if the request is refused."""
        with trio.move_on_after(self._limits.timeout) as timeout:
            async with self._slots.slot(peer) as has_slot:
                timeout.deadline = math.inf
                answer = await self._handler(peer, request) if has_slot else None
                return None if answer is None or len(answer) > self._limits.response else framed(answer)
        return None

    async def _wait_for_end(self, substream: Substream) -> None:
        """Wait for the peer's end of the substream: releasing it earlier would reset unread data."""
        with trio.move_on_after(self._limits.timeout):
            while await substream.receive():
                pass


async def answer_pings(substream: Substream, first: bytes, rate: Rate) -> None:
    """Echo 32 bytes at a time until the peer ends, no faster than the rate of its connection."""
    pending = bytearray(first)
    while True:
        while len(pending) >= PING_SIZE:
            await trio.sleep(rate.take(trio.current_time()))
            await substream.send_all(bytes(pending[:PING_SIZE]))
            del pending[:PING_SIZE]
        data = await substream.receive()
        if not data:
            substream.finish()
            return
        pending += data
