"""What does the rest of the node see of the network?

`Network` is the whole of it: peers by their id, requests and answers, notification protocols, and a word
about how a peer behaved. Protocols are named by their suffix (`sync/2`, `block-announces/1`); the network
puts the genesis hash in front. Whatever comes from here is unverified.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import trio

__all__ = [
    "Accept",
    "Closed",
    "Network",
    "NotificationEvent",
    "NotificationLimits",
    "NotificationProtocol",
    "Opened",
    "PeerInfo",
    "Received",
    "RequestFailed",
    "RequestHandler",
    "RequestLimits",
    "RequestTimedOut",
]

MIB = 1 << 20
MASTER = "block-announces/1"
"""The protocol whose substreams make a connection a peer; the others open after it and close with it."""


class RequestFailed(Exception):
    """A request got no answer; the text says why (refused, timed out, disconnected, too long)."""


class RequestTimedOut(RequestFailed):
    """The time for an answer was up: the peer, or the way to it, is stuck."""


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """A connected node. `opened` names the notification protocols that are open both ways."""

    peer_id: str
    address: str
    inbound: bool
    agent: str = ""
    protocols: frozenset[str] = frozenset()
    """Full names that its identify message lists; empty until it came."""
    opened: frozenset[str] = frozenset()
    reputation: int = 0
    handshake: bytes = b""
    """What it said when block announces were opened, unverified; empty as long as they are not."""

    @property
    def is_peer(self) -> bool:
        """Whether it takes part, and is not only connected."""
        return MASTER in self.opened


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds of a request-response protocol: bytes, seconds, and requests served at a time over all peers."""

    request: int = MIB
    response: int = 16 * MIB
    timeout: float = 20.0
    concurrent: int = 20
    window: int = 16 * MIB
    """Receive window, bytes: what may be on its way to us in one round trip."""


@dataclass(frozen=True, slots=True)
class NotificationLimits:
    """Bounds of a notification protocol. `queue`: messages that wait for a slow peer before it is dropped."""

    message: int = MIB
    handshake: int = 1024
    queue: int = 256
    per_second: float = 100.0
    """Messages of a peer that are taken each second; more wait in its window. The votes of 150 authorities
    make about fifty."""
    burst: int = 1_000
    """Messages taken at once."""
    usual: int = 64 << 10
    """Bytes of a message that counts as one; a longer one counts as several."""
    repeats: int | None = None
    """How often a peer may repeat a message; None: as often as it likes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The protocol is open with a peer, both ways; `handshake` is what the peer said."""

    peer_id: str
    handshake: bytes
    inbound: bool
    """Whether the peer opened it."""


@dataclass(frozen=True, slots=True)
class Received:
    """One notification."""

    peer_id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The protocol is no longer open with the peer. Follows every Opened once."""

    peer_id: str


NotificationEvent = Opened | Received | Closed
RequestHandler = Callable[[str, bytes], Awaitable[bytes | None]]
"""(peer id, request) to the answer; None refuses. An exception refuses too and is logged."""
Accept = Callable[[str, bytes], str | None]
"""(peer id, its handshake) to the reason why it is refused, None to accept."""


class NotificationProtocol(Protocol):
    """One notification protocol with all its peers."""

    @property
    def events(self) -> trio.abc.ReceiveChannel[NotificationEvent]:
        """What happens, in order for each peer. A slow reader here holds back the peers' data, not memory."""

    @property
    def peers(self) -> frozenset[str]:
        """Those with whom it is open."""

    def send(self, peer_id: str, data: bytes) -> bool:
        """Queue a notification; False where the protocol is not open with that peer (or it is too slow)."""


class Network(Protocol):
    """The connected peers and what can be done with them."""

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        """Connected nodes by peer id; a fresh picture at each look."""

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Nodes that could not be reached at the last try, and why."""

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        """Ask one peer; its answer, unverified. Raises RequestFailed. None: the protocol's own time limit."""

    def serve_requests(
        self, protocol: str, handler: RequestHandler | None, limits: RequestLimits = RequestLimits()
    ) -> None:
        """Declare a request protocol before the network runs; no handler: we ask but do not answer."""

    def notifications(
        self,
        protocol: str,
        handshake: Callable[[], bytes],
        limits: NotificationLimits = NotificationLimits(),
        accept: Accept | None = None,
    ) -> NotificationProtocol:
        """Declare a notification protocol before the network runs. `handshake` is asked at each opening."""

    def report(self, peer_id: str, change: int, reason: str) -> None:
        """Add to a peer's reputation. Below the banning threshold it is disconnected, and not called or let
        in again until that has faded; a reserved node is only disconnected, and called again after a pause.
        """

    def mark_useful(self, peer_id: str) -> None:
        """A peer has delivered something that was verified: it has a place, now and after a restart."""

    def evict(self, peer_id: str, reason: str) -> None:
        """A peer is of no use: if all places are taken and somebody else is known, it gives up its place."""

    def disconnect(self, peer_id: str, reason: str) -> None:
        """End the connection with a peer, without a grudge."""
