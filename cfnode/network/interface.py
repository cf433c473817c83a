"""Interface of the network: peers, requests, notification protocols, and reports about peers.

`PeerNetwork` is all that the rest of the node uses. Protocols are named by their suffix (`sync/2`,
`block-announces/1`); the network puts the genesis hash in front. All data from here is unverified.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import trio

__all__ = [
    "Accept",
    "Closed",
    "NotificationEvent",
    "NotificationLimits",
    "NotificationProtocol",
    "PeerInfo",
    "PeerNetwork",
    "ProtocolOpened",
    "Received",
    "RequestFailed",
    "RequestHandler",
    "RequestLimits",
    "RequestTimedOut",
]

MIB = 1 << 20
BLOCK_ANNOUNCES = "block-announces/1"
"""The protocol that makes a connected node a peer; the others open after it and close with it."""


class RequestFailed(Exception):
    """A request without an answer; the text gives the reason (refused, timed out, disconnected, too long)."""


class PeerRequestRefused(RequestFailed):
    """The peer's end of a request without an answer: it lacks the data, or has too much to do."""


class RequestTimedOut(RequestFailed):
    """A request without an answer in time: the peer, or the path to it, is stuck."""


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """A connected node. `opened` names the notification protocols that are open both ways."""

    peer_id: str
    address: str
    inbound: bool
    agent: str = ""
    protocols: frozenset[str] = frozenset()
    """Full names that its identify message lists; empty before that message has arrived."""
    opened: frozenset[str] = frozenset()
    reputation: int = 0
    handshake: bytes = b""
    """Its block announces handshake, unverified; empty while block announces are not open."""

    @property
    def is_peer(self) -> bool:
        """Whether block announces are open with the node."""
        return BLOCK_ANNOUNCES in self.opened


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds of a request-response protocol: bytes, seconds, and requests served at a time over all peers."""

    request: int = MIB
    response: int = 16 * MIB
    timeout: float = 20.0
    concurrent: int = 20
    window: int = 16 * MIB
    """Receive window, bytes: as much as may be in flight to us in one round trip."""


@dataclass(frozen=True, slots=True)
class NotificationLimits:
    """Bounds of a notification protocol.

    `queue`: messages that wait for a slow peer; a peer with more is dropped from the protocol.
    """

    message: int = MIB
    handshake: int = 1024
    queue: int = 256
    per_second: float = 100.0
    """Messages of a peer that are read each second; more wait in its window. The votes of 150 authorities are
    about fifty."""
    burst: int = 1_000
    """Messages read at once."""
    usual: int = 64 << 10
    """Bytes of a message that counts as one; a longer message counts as several."""
    repeats: int | None = None
    """How often a peer may repeat a message; None: without limit."""


@dataclass(frozen=True, slots=True)
class ProtocolOpened:
    """The event that the protocol is open with a peer, both ways; `handshake` is the peer's."""

    peer_id: str
    handshake: bytes
    inbound: bool
    """Whether the peer opened it."""


@dataclass(frozen=True, slots=True)
class Received:
    """The event of one notification."""

    peer_id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The event that the protocol is no longer open with the peer. Exactly one follows every Opened."""

    peer_id: str


NotificationEvent = ProtocolOpened | Received | Closed
RequestHandler = Callable[[str, bytes], Awaitable[bytes | None]]
"""A function of (peer id, request) that returns the answer; None refuses. An exception refuses and is
logged."""
Accept = Callable[[str, bytes], str | None]
"""A function of (peer id, its handshake) that returns the reason to refuse the peer, or None to accept it."""


class NotificationProtocol(Protocol):
    """One notification protocol with all its peers."""

    @property
    def events(self) -> trio.abc.ReceiveChannel[NotificationEvent]:
        """The protocol's events, in order for each peer.

        A slow reader slows the peers down, without filling memory.
        """

    @property
    def peers(self) -> frozenset[str]:
        """The ids of the peers with which the protocol is open."""

    def send(self, peer_id: str, data: bytes) -> bool:
        """Queue a notification; return False if it is not open with the peer, or the peer is too slow."""


class PeerNetwork(Protocol):
    """The connected nodes, and requests, notifications and reports for them."""

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        """Connected nodes by peer id; a new snapshot at each call."""

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Nodes that could not be reached at the last attempt, and the reasons."""

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        """Send a request to one peer; return its answer, unverified. Raise RequestFailed.

        `seconds`: the time limit; None for the protocol's own.
        """

    def serve_requests(
        self, protocol: str, handler: RequestHandler | None, limits: RequestLimits = RequestLimits()
    ) -> None:
        """Declare a request protocol before the network runs; without a handler, requests are only sent."""

    def notifications(
        self,
        protocol: str,
        handshake: Callable[[], bytes],
        limits: NotificationLimits = NotificationLimits(),
        accept: Accept | None = None,
    ) -> NotificationProtocol:
        """Declare a notification protocol before the network runs. `handshake` is called at each opening."""

    def report(self, peer_id: str, change: int, reason: str) -> None:
        """Add to a peer's reputation.

        A peer below the ban threshold is disconnected, and neither dialed nor accepted until its reputation
        has recovered; a reserved node is only disconnected, and dialed again after a pause.
        """

    def mark_useful(self, peer_id: str) -> None:
        """Record that a peer's answer was verified: it keeps a slot, also after a restart."""

    def evict(self, peer_id: str, reason: str) -> None:
        """Disconnect a useless peer that we dialed, if all slots are taken and another node can be dialed."""

    def disconnect(self, peer_id: str, reason: str) -> None:
        """End the connection with a peer, without a loss of reputation."""
