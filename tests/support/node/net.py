"""A network in memory: the nodes of one test are peers of each other.

A `Wire` joins `MemoryNetwork`s. Requests go straight to the other's handler; notifications through its
channel. `tamper` lets a peer lie: it changes an answer, or refuses it (None).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import trio

from cfnode.network.interface import (
    Accept,
    Closed,
    NotificationLimits,
    PeerInfo,
    PeerRequestRefused,
    ProtocolOpened,
    Received,
    RequestFailed,
    RequestHandler,
    RequestLimits,
    RequestTimedOut,
)
from cfnode.node.sync.serving.serve import SERVED_REQUEST_LIMITS
from tests.support.node.notifications import EventQueue

Tamper = Callable[[str, bytes, bytes | None], bytes | None]
"""(protocol, request, true answer) to what is sent."""

MASTER = "block-announces/1"


class MemoryProtocol(EventQueue):
    """One notification protocol of one node."""

    def __init__(
        self, network: MemoryNetwork, name: str, handshake: Callable[[], bytes], accept: Accept | None
    ) -> None:
        super().__init__(name, handshake, capacity=4096)
        self.network, self.accept = network, accept

    def send(self, peer_id: str, data: bytes) -> bool:
        """Hand a notification to the other network; return whether the protocol is open."""
        other = self.network.others.get(peer_id)
        if peer_id not in self.open or other is None:
            return False
        other.protocols[self.name].sender.send_nowait(Received(self.network.name, data))
        return True


@dataclass
class MemoryNetwork:
    """One node's view; see `join`."""

    name: str
    others: dict[str, MemoryNetwork] = field(default_factory=dict)
    handlers: dict[str, RequestHandler | None] = field(default_factory=dict)
    protocols: dict[str, MemoryProtocol] = field(default_factory=dict)
    reports: list[tuple[str, int, str]] = field(default_factory=list)
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    tamper: Tamper | None = None
    unreachable: dict[str, str] = field(default_factory=dict)
    stalled: set[str] = field(default_factory=set)
    """Peers that accept a request and never answer."""
    useful_peers: list[str] = field(default_factory=list)
    """Those that delivered something verified, once for each time."""
    unwanted: list[str] = field(default_factory=list)
    """Peers that are evictable."""
    delay: float = 0
    """Seconds that this node takes for an answer."""

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        """The connected networks, by name."""
        return {name: PeerInfo(name, "memory", False) for name in self.others}

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        """Return the answer of the other network's handler."""
        await trio.lowlevel.checkpoint()
        self.asked.append((peer_id, protocol, data))
        other = self.others.get(peer_id)
        handler = other.handlers.get(protocol) if other else None
        if peer_id in self.stalled:
            await trio.sleep(SERVED_REQUEST_LIMITS[protocol].timeout)  # the test has a clock that jumps
            raise RequestTimedOut(
                f"no answer to {protocol} within {SERVED_REQUEST_LIMITS[protocol].timeout} s"
            )
        if other is None or handler is None:
            raise RequestFailed("not connected" if other is None else "not supported")
        await trio.sleep(other.delay)  # none, but in tests with a clock that jumps
        answer = await handler(self.name, data)
        if other.tamper is not None:
            answer = other.tamper(protocol, data, answer)
        if answer is None:
            raise PeerRequestRefused("refused")
        return answer

    def serve_requests(
        self,
        protocol: str,
        handler: RequestHandler | None,
        limits: RequestLimits = RequestLimits(),  # noqa: B008
    ) -> None:
        """Answer the requests of a protocol by a handler."""
        self.handlers[protocol] = handler

    def notifications(
        self,
        protocol: str,
        handshake: Callable[[], bytes],
        limits: NotificationLimits = NotificationLimits(),  # noqa: B008
        accept: Accept | None = None,
    ) -> MemoryProtocol:
        """Declare a notification protocol."""
        self.protocols[protocol] = MemoryProtocol(self, protocol, handshake, accept)
        return self.protocols[protocol]

    def report(self, peer_id: str, change: int, reason: str) -> None:
        """Keep a report; disconnect a peer whose reputation has become too low."""
        self.reports.append((peer_id, change, reason))
        if sum(change for peer, change, _ in self.reports if peer == peer_id) < -1_500_000_000:
            self.disconnect(peer_id, reason)

    def mark_useful(self, peer_id: str) -> None:
        """Keep that a peer was useful."""
        self.useful_peers.append(peer_id)

    def evict(self, peer_id: str, reason: str) -> None:
        """Keep that a peer is to be evicted."""
        self.unwanted.append(peer_id)

    def disconnect(self, peer_id: str, reason: str) -> None:
        """Disconnect a peer."""
        part(self, peer_id)


def part(one: MemoryNetwork, peer_id: str) -> None:
    """Disconnect two networks, and close their protocols."""
    other = one.others.pop(peer_id, None)
    if other is None:
        return
    other.others.pop(one.name, None)
    for mine, theirs in ((one, other), (other, one)):
        for protocol in mine.protocols.values():
            if theirs.name in protocol.open:
                protocol.open.discard(theirs.name)
                protocol.sender.send_nowait(Closed(theirs.name))


def join(one: MemoryNetwork, other: MemoryNetwork) -> bool:
    """Connect two nodes and open all protocols that both have; False where one refuses."""
    one.others[other.name], other.others[one.name] = other, one
    shared = sorted(one.protocols.keys() & other.protocols.keys(), key=lambda name: name != MASTER)
    for name in shared:
        for mine, theirs in ((one, other), (other, one)):
            accept = mine.protocols[name].accept
            if accept is not None and accept(theirs.name, theirs.protocols[name].handshake()) is not None:
                part(one, other.name)
                return False
        for mine, theirs in ((one, other), (other, one)):
            protocol = mine.protocols[name]
            protocol.open.add(theirs.name)
            protocol.sender.send_nowait(
                ProtocolOpened(theirs.name, theirs.protocols[name].handshake(), mine is other)
            )
    return True
