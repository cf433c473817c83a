"""How is one request asked, and how is one answered?

A substream for each: multistream, then the request with its length in front; the answer the same way. Whoever
refuses just ends the substream. Asking takes one round trip, since the request follows the proposal at once.
Everything has a limit in bytes and in seconds over all, so a peer that drips is cut off like a silent one.

A request takes a place among those that are served when it has come whole, and peers get places in fair turns
(`fair.py`). The place is free again when the answer is made: how fast the peer reads it is its own affair.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Container

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multistream import Dialer, Listener
from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.network.connection import Connection
from cfnode.network.fair import FairSlots
from cfnode.network.model import RequestFailed, RequestHandler, RequestLimits, RequestTimedOut
from cfnode.network.rate import Rate
from cfnode.network.substream import Substream, SubstreamEnded

__all__ = [
    "MAX_UNREAD",
    "PING",
    "PINGS_AT_ONCE",
    "PINGS_PER_SECOND",
    "Served",
    "accept_protocol",
    "answer_pings",
    "ask",
    "propose",
]

log = logging.getLogger("cfnode.sub-libp2p")

PING = "/ipfs/ping/1.0.0"
PING_SIZE = 32
PINGS_AT_ONCE, PINGS_PER_SECOND = 20, 20.0
"""Of one connection: a peer measures how far we are, and needs no more than that."""
NEGOTIATION = 10.0
"""Seconds to agree on a protocol, and to send a request."""
MAX_UNREAD = 100
"""Requests of a peer that have not come whole: the libp2p backend of a Substrate node takes so many of a
connection. They hold no place; their bytes count among the buffers."""
WAITING = 4
"""Requests that wait, for each one that is served at a time."""


async def accept_protocol(substream: Substream, known: Container[str]) -> tuple[str, bytes]:
    """The protocol of a substream that the peer opened, and what follows it; raises RemoteError."""
    listener = Listener(known)
    with trio.fail_after(NEGOTIATION):
        while True:
            await substream.send_all(listener.bytes_to_send())
            if listener.chosen is not None:
                return listener.chosen, listener.rest
            try:
                listener.receive_data(await _some(substream))
            except RemoteError:  # a request sent ahead is no proposal: the refusal still goes out
                await substream.send_all(listener.bytes_to_send())
                raise


async def propose(substream: Substream, name: str, first: bytes = b"") -> bytes:
    """Agree on a protocol, sending its first bytes along; what followed the answer. Raises RemoteError."""
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
    connection: Connection, name: str, request: bytes | None, limits: RequestLimits, seconds: float
) -> bytes:
    """One request and its answer; `request` None: nothing is said (identify). Raises RequestFailed."""
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
        raise RequestFailed(f"{name}: the peer refuses to answer")
    return answer


class Served:
    """One protocol that we answer, within its limits over all peers and half of them for one peer."""

    def __init__(self, handler: RequestHandler, limits: RequestLimits) -> None:
        self._handler, self._limits = handler, limits
        share = max(1, limits.concurrent // 2)
        self._slots = FairSlots(limits.concurrent, per_peer=share, max_waiting=WAITING * limits.concurrent)
        self._unfinished: Counter[str] = Counter()

    async def serve(self, connection: Connection, substream: Substream, first: bytes) -> None:
        """Answer one substream; one too many is refused."""
        request = await self._read(connection.peer_id, substream, first)
        if request is None:
            return
        message = await self._answer(connection.peer_id, request)
        if message is None:
            return
        with connection.buffers.answer(connection, len(message)) as has_room:
            if has_room:
                with trio.fail_after(self._limits.timeout):
                    await substream.send_all(message)
                substream.finish()
                await self._let_read(substream)

    async def _read(self, peer: str, substream: Substream, first: bytes) -> bytes | None:
        """The whole request; None where too many others of the peer have not come whole."""
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
            self._unfinished += Counter()  # drops the peers that are at zero
        if request is None:
            raise RemoteError("a request substream without a request")
        return request

    async def _answer(self, peer: str, request: bytes) -> bytes | None:
        """The answer with its length in front; None where it is refused."""
        with trio.move_on_after(self._limits.timeout) as waiting:
            async with self._slots.slot(peer) as has_slot:
                waiting.deadline = math.inf
                answer = await self._handler(peer, request) if has_slot else None
                return None if answer is None or len(answer) > self._limits.response else framed(answer)
        return None

    async def _let_read(self, substream: Substream) -> None:
        """Wait for the peer's end, so that leaving does not reset what is still under way."""
        with trio.move_on_after(self._limits.timeout):
            while await substream.receive():
                pass


async def answer_pings(substream: Substream, first: bytes, rate: Rate) -> None:
    """Echo 32 bytes at a time, as long as the peer likes, and no faster than the rate of its connection."""
    waiting = bytearray(first)
    while True:
        while len(waiting) >= PING_SIZE:
            await trio.sleep(rate.take(trio.current_time()))
            await substream.send_all(bytes(waiting[:PING_SIZE]))
            del waiting[:PING_SIZE]
        data = await substream.receive()
        if not data:
            substream.finish()
            return
        waiting += data
