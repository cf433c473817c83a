"""Notification protocols: opening, accepting, sending and receiving over two substreams with each peer.

A notification protocol (Polkadot spec, "Networking") takes two substreams, one each way: the opener sends its
handshake, the accepting side answers with its own, and from then on only the opener sends. The protocol is
open with a peer when both substreams exist, and closed when either ends.

- A slow consumer here slows the peers down: their data waits in windows.
- A peer that sends more messages than the protocol's rate is slowed down in the same way. Where a protocol
  forbids repeated messages, the protocol is closed with a peer that repeats itself too often.
- A slow peer is dropped from the protocol once its queue is full.
- When a peer refuses or ends the protocol, we open it again only after a pause; the peer may do so sooner,
  but only a few times in a row.
- `Closed` follows every `ProtocolOpened`, even when the connection breaks, and later events follow it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.p2p.errors import FloodError, RemoteError
from cfnode.core.p2p.protobuf import Frames, framed
from cfnode.flow.rate import Rate
from cfnode.network.backoff import BackOff
from cfnode.network.connection import PeerConnection
from cfnode.network.events import EventQueue
from cfnode.network.exchange import propose
from cfnode.network.interface import Accept, NotificationEvent, NotificationLimits, ProtocolOpened, Received
from cfnode.network.substream import Substream, SubstreamEnded
from cfnode.network.traffic import NotificationTraffic

__all__ = ["Notifications"]

log = logging.getLogger("cfnode.sub-libp2p")

PROTOCOL_OPENING_TIMEOUT_S = 10.0
"""Seconds for a handshake, and for the peer to open its own direction."""
MESSAGE_TIMEOUT_S = 60.0
"""Seconds within which a notification that has begun has to be complete."""
MAX_QUEUED_MESSAGES = 4
"""Messages between the peers and the consumer; each peer's next message waits in its own substream."""
MAX_SHORT_SESSIONS = 3
"""How often in a row a peer may open a protocol and end it at once before that peer has to wait, too."""
MAX_REMEMBERED_MESSAGES = 64
"""Messages of a peer, kept as hashes, that a new message is compared with."""


class _Link:
    """The link with one peer in one protocol, from the first substream to the last."""

    def __init__(self, connection: PeerConnection, inbound: bool, limits: NotificationLimits) -> None:
        self.connection, self.inbound = connection, inbound
        self.handshake = b""
        self.theirs = trio.Event()
        self.opened = trio.Event()
        self.since: float | None = None
        """When the protocol was open both ways; None before that."""
        self.reported = False
        """Whether the consumer has received `ProtocolOpened`."""
        self.ended = False
        self.repeated = 0
        self._latest = BoundedDict[int, None](MAX_REMEMBERED_MESSAGES)
        self.scopes: list[trio.CancelScope] = []
        self.queue, self.waiting = trio.open_memory_channel[bytes](limits.queue)

    @property
    def announced(self) -> bool:
        return self.since is not None

    def scope(self) -> trio.CancelScope:
        """Return a new cancel scope of the link; `end` cancels all of them."""
        scope = trio.CancelScope()
        self.scopes.append(scope)
        return scope

    def end(self) -> None:
        for scope in self.scopes:
            scope.cancel()

    def is_current(self) -> bool:
        """Return whether the link's events may still be reported."""
        return not self.ended

    def repeats(self, message: bytes) -> bool:
        """Return whether the peer has sent this message among its latest ones."""
        name = hash(message)
        is_repeated = name in self._latest
        self._latest.put_last(name, None)
        self.repeated += is_repeated
        return is_repeated


class Notifications:
    """One notification protocol with all its peers (interface.NotificationProtocol)."""

    def __init__(
        self, name: str, handshake: Callable[[], bytes], limits: NotificationLimits, accept: Accept
    ) -> None:
        self.name = name
        """The full name on the wire."""
        self.traffic = NotificationTraffic()
        self._handshake, self._limits, self._accept = handshake, limits, accept
        self._links: dict[str, _Link] = {}
        self._pauses = BackOff()
        self._events = EventQueue(MAX_QUEUED_MESSAGES)
        self.on_opened: Callable[[PeerConnection], None] = lambda connection: None
        self.on_closed: Callable[[PeerConnection], None] = lambda connection: None
        self.on_flood: Callable[[str, str], None] = lambda peer, reason: None
        """A function that receives a peer which repeats itself too often, and the reason to report it."""

    @property
    def events(self) -> trio.abc.ReceiveChannel[NotificationEvent]:
        """The channel of opened, closed and received notifications of all peers."""
        return self._events

    @property
    def peers(self) -> frozenset[str]:
        """The ids of the peers with which the protocol is open."""
        return frozenset(peer for peer, link in self._links.items() if link.announced)

    @property
    def is_open(self) -> bool:
        """Whether the protocol is open with any peer."""
        return any(link.announced for link in self._links.values())

    def includes(self, peer: str) -> bool:
        """Return whether the protocol is open with the peer, both ways."""
        link = self._links.get(peer)
        return link is not None and link.announced

    def has_link(self, peer: str) -> bool:
        """Return whether the protocol is open with the peer, or is about to be."""
        return peer in self._links

    def count(
        self,
        *,
        inbound: bool,
        exempt: Container[str] = (),
        matches: Callable[[bytes], bool] = lambda handshake: True,
    ) -> int:
        """Return the number of peers in one direction whose handshakes match, without the `exempt` ones.

        `inbound`: peers that opened the protocol; otherwise peers with which we opened it.
        """
        return sum(
            link.inbound == inbound and peer not in exempt and matches(link.handshake)
            for peer, link in self._links.items()
        )

    def inbound_peers(self, matches: Callable[[bytes], bool]) -> list[str]:
        """Return the peers that opened the protocol and whose handshakes match, the newest last."""
        return [peer for peer, link in self._links.items() if link.inbound and matches(link.handshake)]

    def handshake(self, peer: str) -> bytes:
        """Return the peer's handshake; empty if the protocol is not open with it."""
        return self._links[peer].handshake if self.includes(peer) else b""

    def send(self, peer_id: str, data: bytes) -> bool:
        """Queue a notification for a peer.

        Return False, and end a peer that does not read, if it cannot be sent.
        """
        link = self._links.get(peer_id)
        if link is None or not link.announced:
            return False
        try:
            link.queue.send_nowait(data)
        except trio.WouldBlock:
            log.debug("%s does not read its notifications of %s", peer_id, self.name)
            link.end()
            return False
        except trio.BrokenResourceError:
            return False
        return True

    def open(self, connection: PeerConnection, *, isolated: bool = False) -> None:
        """Open our direction and wait for the peer's; do nothing if it is open, or during a pause."""
        peer = connection.peer_id
        if peer not in self._links and self._pauses.allows(peer, trio.current_time(), isolated=isolated):
            link = self._begin(connection, inbound=False)
            if not connection.start(lambda: self._send_all(link), f"{self.name} to"):
                self._drop(link)

    def close(self, peer: str) -> None:
        """End both directions of the protocol with a peer."""
        if peer in self._links:
            self._links[peer].end()

    async def serve(self, connection: PeerConnection, substream: Substream, first: bytes) -> None:
        """Serve the peer's direction: its handshake, then its notifications."""
        frames = Frames(self._limits.handshake)
        frames.feed(first)
        with trio.fail_after(PROTOCOL_OPENING_TIMEOUT_S):
            handshake = await substream.receive_frame(frames)
        if handshake is None:
            raise RemoteError(f"{self.name}: no handshake")
        link = self._links.get(connection.peer_id)
        reason = "it is open already" if link is not None and link.theirs.is_set() else None
        reason = reason or self._too_soon(link, connection.peer_id)
        reason = reason or self._accept(connection.peer_id, handshake)
        if reason is not None:
            log.debug("%s of %s is refused: %s", self.name, connection.peer_id, reason)
            return
        answering = link is not None
        link = link or self._begin(connection, inbound=True)
        link.handshake = handshake
        link.theirs.set()
        try:
            with link.scope():
                await self._receive_all(link, substream, frames.rest, answering)
        finally:
            self._drop(link)

    def _too_soon(self, link: _Link | None, peer: str) -> str | None:
        """Return the reason to refuse a peer that opens the protocol again too soon; None if it may."""
        short = self._pauses.failures(peer)
        if link is not None or short < MAX_SHORT_SESSIONS or self._pauses.allows(peer, trio.current_time()):
            return None
        return f"it has ended {short} times in a row"

    async def _receive_all(self, link: _Link, substream: Substream, first: bytes, answering: bool) -> None:
        await substream.send_all(framed(self._handshake()))
        if not answering:
            link.connection.start(lambda: self._send_all(link), f"{self.name} to")
        await link.opened.wait()
        frames = Frames(self._limits.message)
        frames.feed(first)
        rate = link.connection.rates.setdefault(self.name, Rate(self._limits.per_second, self._limits.burst))
        while (data := await substream.receive_frame(frames, MESSAGE_TIMEOUT_S)) is not None:
            self.traffic.received.add(len(data))
            await trio.sleep(rate.take(trio.current_time(), max(1.0, len(data) / self._limits.usual)))
            if self._is_new(link, data):
                await self._events.put(Received(link.connection.peer_id, data), link.is_current)

    def _is_new(self, link: _Link, data: bytes) -> bool:
        """Return False for a repeated message. Raise FloodError if the peer has repeated itself too often."""
        if self._limits.repeats is None or not link.repeats(data):
            return True
        if link.repeated > self._limits.repeats:
            reason = f"{self.name}: more than {self._limits.repeats} repeated messages"
            self.on_flood(link.connection.peer_id, reason)
            raise FloodError(reason)
        return False

    async def _send_all(self, link: _Link) -> None:
        """Serve our direction: open it, announce the link, then send what is queued."""
        try:
            with link.scope():
                async with link.connection.substream() as substream:
                    with trio.fail_after(PROTOCOL_OPENING_TIMEOUT_S):
                        await self._open_substream(substream)
                        await link.theirs.wait()
                    await self._announce(link)
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._end_with, substream, link)
                        async for data in link.waiting:
                            await substream.send_all(framed(data))
                            self.traffic.sent.add(len(data))
        finally:
            self._drop(link)

    async def _open_substream(self, substream: Substream) -> None:
        frames = Frames(self._limits.handshake)
        frames.feed(await propose(substream, self.name, framed(self._handshake())))
        if await substream.receive_frame(frames) is None:
            raise SubstreamEnded(f"{self.name}: the peer refuses")

    async def _end_with(self, substream: Substream, link: _Link) -> None:
        """End the link when the accepting side ends our substream; it must send no more data on it."""
        if await substream.receive():
            raise RemoteError(f"{self.name}: the peer sends data on our substream")
        link.end()

    async def _announce(self, link: _Link) -> None:
        link.since = trio.current_time()  # before the event: the consumer may send at once
        event = ProtocolOpened(link.connection.peer_id, link.handshake, link.inbound)
        link.reported = await self._events.put(event, link.is_current)
        if not link.reported:
            raise SubstreamEnded(f"{self.name}: it has ended")
        link.opened.set()
        self.traffic.opened += 1
        self.on_opened(link.connection)

    def _begin(self, connection: PeerConnection, *, inbound: bool) -> _Link:
        link = self._links[connection.peer_id] = _Link(connection, inbound, self._limits)
        return link

    def _drop(self, link: _Link) -> None:
        peer = link.connection.peer_id
        if self._links.get(peer) is not link:
            return
        del self._links[peer]
        link.ended = True
        link.end()
        if not link.connection.end_reason:  # after a lost connection `dialing.py` waits
            self._pauses.ended(peer, link.since, trio.current_time())
        if link.reported:
            self.traffic.closed += 1
            self._events.end(peer)
        self.on_closed(link.connection)
