"""The network service of a node: connections, protocols, peers and discovery put together.

`NetworkService` is the `PeerNetwork` (interface.py) over real connections: it listens and dials, keeps one
connection with each peer, keeps the protocols open (`membership.py`), answers identify, ping and Kademlia,
and disconnects peers that break the rules. Declare the protocols, then `run` it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import PROTOCOL as IDENTIFY
from cfnode.core.p2p.identify import Identify
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import peer_id
from cfnode.flow.accept import accept_connections
from cfnode.flow.rate import Rate
from cfnode.network import transport
from cfnode.network.connection import UNUSED, PeerConnection
from cfnode.network.connections import Connections
from cfnode.network.dialing import Dialing
from cfnode.network.discovery import FIND_NODE_LIMITS as KAD_LIMITS
from cfnode.network.discovery import Discovery
from cfnode.network.exchange import (
    PING,
    PINGS_AT_ONCE,
    PINGS_PER_SECOND,
    ServedProtocol,
    accept_protocol,
    answer_pings,
    ask,
)
from cfnode.network.identify import IDENTIFY_RATE, answer_identify, request_identify
from cfnode.network.interface import (
    Accept,
    NotificationLimits,
    PeerInfo,
    RequestFailed,
    RequestHandler,
    RequestLimits,
)
from cfnode.network.membership import Membership
from cfnode.network.notifications import Notifications
from cfnode.network.peer_store import PeerStore
from cfnode.network.peers import FLOODED, Peer
from cfnode.network.settings import NetworkSettings
from cfnode.network.substream import Substream
from cfnode.network.traffic import RequestTraffic, Traffic
from cfnode.network.transport import ListeningSocket
from cfnode.network.useful_peers import UsefulPeers

__all__ = ["NetworkService", "NetworkSettings"]

log = logging.getLogger("cfnode.sub-libp2p")

IDLE_TIMEOUT = 30.0
"""Seconds without a new substream after which a connection with a node that is not a peer ends."""
DEFAULT_REQUESTS, DEFAULT_NOTIFICATIONS = RequestLimits(), NotificationLimits()
KAD_RATE = (5.0, 40)
"""Rate limit of Kademlia requests on one connection (per second, burst): a search asks each node once."""


class NetworkService:
    """The network of one node."""

    def __init__(self, identity: Keypair, settings: NetworkSettings) -> None:
        self.peer_id = peer_id(identity.public)
        self.listening: list[Multiaddr] = []
        """The addresses that we listen at, with real ports; set once `run` has started."""
        self._identity, self._settings = identity, settings
        self._reserved = {address.peer for address in settings.reserved_nodes if address.peer}
        self._peer_store = PeerStore(exempt=self._reserved)
        self._useful = UsefulPeers(settings.useful_peers)
        self._connections = Connections(
            identity,
            settings,
            self._peer_store,
            self._reserved,
            self._useful,
            on_connected=self._on_connected,
            on_substream=self._on_substream,
            on_ended=lambda: self._dialing.wake(),
        )
        self.traffic = Traffic(self._connections.traffic)
        self._membership = Membership(settings, self._reserved, self._connections.peers, self._useful)
        named_addresses = [*settings.reserved_nodes, *([] if settings.reserved_only else settings.boot_nodes)]
        self._discovery = Discovery(self.peer_id, named_addresses, private=settings.private_addresses)
        self._dialing = Dialing(
            settings,
            self._discovery,
            self._peer_store,
            reserved=self._reserved,
            connected=self._connections.peers,
            isolated=lambda: self._membership.isolated,
        )
        self._limits: dict[str, RequestLimits] = {}
        self._served: dict[str, ServedProtocol] = {}
        self._rates = {
            PING: (PINGS_PER_SECOND, PINGS_AT_ONCE),
            IDENTIFY: IDENTIFY_RATE,
            settings.protocol("kad"): KAD_RATE,
        }
        self.serve_requests("kad", self._discovery.answer, KAD_LIMITS)

    # For the rest of the node (interface.PeerNetwork)

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        """The connected nodes by peer id."""
        return {identity: self._info(identity, peer) for identity, peer in self._connections.peers.items()}

    @property
    def peer_count(self) -> int:
        """The number of peers; other nodes may be connected, too."""
        return self._membership.count

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Nodes that could not be reached at the last attempt, and the reasons."""
        return self._dialing.unreachable

    @property
    def reserved(self) -> frozenset[str]:
        """The ids of the reserved nodes."""
        return frozenset(self._reserved)

    @property
    def addresses(self) -> list[Multiaddr]:
        """The addresses of this node for other nodes: those that the user names, then those it listens at."""
        return [*self._settings.public, *transport.without_wildcards(self.listening)]

    def reserve(self, address: Multiaddr) -> None:
        """Keep this node as a peer, outside all slots. Raise ValueError if the address has no peer id."""
        if address.peer is None:
            raise ValueError(f"{address}: a reserved node needs its peer id, as in {address}/p2p/12D3KooW…")
        self._reserved.add(address.peer)
        self._discovery.add_named(address)
        self._peer_store.dials.succeeded(address.peer)  # so that it is dialed now
        self._peer_store.reset(address.peer)
        if address.peer in self._connections.peers:
            self._membership.keep_open(self._connections.peers[address.peer].connection)
        self._dialing.wake()

    def unreserve(self, peer_id: str) -> None:
        """End the reservation of a peer; a node with reserved peers only disconnects the peer."""
        if peer_id in self._reserved:
            self._reserved.discard(peer_id)
            self._discovery.remove_named(peer_id)
            for address in () if self._settings.reserved_only else self._settings.boot_nodes:
                if address.peer == peer_id:
                    self._discovery.add_named(address)
            if self._settings.reserved_only:
                self.disconnect(peer_id, "no longer a reserved node")

    @property
    def bytes_received(self) -> int:
        """Bytes received since the start, over all connections."""
        return self._connections.received

    @property
    def bytes_sent(self) -> int:
        """Bytes sent to all nodes since the start."""
        return self._connections.sent

    @property
    def bytes_held(self) -> int:
        """Bytes that we hold for peers at the moment."""
        return self._connections.buffers.total

    @property
    def bans(self) -> int:
        """The number of bans so far."""
        return self._peer_store.bans

    @property
    def known_nodes(self) -> int:
        """The number of nodes whose addresses are known."""
        return len(self._discovery)

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        """Send a request to a connected peer; return its answer. Raises RequestFailed."""
        limits, peer = self._limits[protocol], self._connections.peers.get(peer_id)
        if peer is None:
            raise RequestFailed(f"{peer_id} is not connected")
        name = self._settings.protocol(protocol)
        try:
            with self.traffic.requests[name].asking():
                return await ask(peer.connection, name, data, limits, seconds or limits.timeout)
        except RequestFailed as error:
            if isinstance(error.__cause__, RemoteError):
                log.debug("%s breaks the rules in its answer to %s: %s", peer_id, protocol, error)
            raise

    def serve_requests(
        self, protocol: str, handler: RequestHandler | None, limits: RequestLimits = DEFAULT_REQUESTS
    ) -> None:
        """Set limits and handler of a request protocol; without a handler requests are only sent."""
        self._limits[protocol], name = limits, self._settings.protocol(protocol)
        self.traffic.requests[name] = counts = RequestTraffic()
        if handler is not None:
            self._served[name] = ServedProtocol(handler, limits, counts)

    def notifications(
        self,
        protocol: str,
        handshake: Callable[[], bytes],
        limits: NotificationLimits = DEFAULT_NOTIFICATIONS,
        accept: Accept | None = None,
    ) -> Notifications:
        """Register a notification protocol; return its queues. `accept` may refuse a peer with a reason."""

        def check(peer: str, theirs: bytes) -> str | None:
            refusal = self._membership.refusal(protocol, peer, theirs)
            return refusal or (accept(peer, theirs) if accept else None)

        notifications = Notifications(self._settings.protocol(protocol), handshake, limits, check)
        notifications.on_flood = lambda peer, reason: self.report(peer, FLOODED, reason)
        self.traffic.notifications[notifications.name] = notifications.traffic
        self._membership.declare(protocol, notifications)
        return notifications

    def report(self, peer_id: str, change: int, reason: str) -> None:
        """Change the reputation of a peer, with the reason for the log."""
        self._connections.reports.report(peer_id, change, reason)

    def mark_useful(self, peer_id: str) -> None:
        """Note that a peer has delivered something that passed its check."""
        self._connections.reports.mark_useful(peer_id)

    def evict(self, peer_id: str, reason: str) -> None:
        """Disconnect an outbound peer if all slots are taken and another node could be dialed."""
        peer = self._connections.peers.get(peer_id)
        is_replaceable = peer is not None and not peer.connection.inbound and peer_id not in self._reserved
        if is_replaceable and self._membership.free_slots <= 0 and self._dialing.has_candidates():
            log.debug("%s is evicted for another node: %s", peer_id, reason)
            self.disconnect(peer_id, reason)

    def disconnect(self, peer_id: str, reason: str) -> None:
        """Close the connection of a peer, with the reason for the log."""
        if peer_id in self._connections.peers:
            self._connections.peers[peer_id].connection.close(reason)

    async def run(
        self, *, listen: bool = True, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen (or not), dial and serve until cancelled; started once it listens. Raise DialError."""
        listening = await transport.listen(self._settings.listen if listen else ())
        self.listening = [listener.address for listener in listening]
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._useful.save_regularly)
            nursery.start_soon(
                self._dialing.run, self.connect, lambda: self._membership.free_slots, self._upkeep
            )
            nursery.start_soon(self._dialing.discover, lambda: list(self._connections.peers), self._ask_kad)
            for listener in listening:
                nursery.start_soon(self._accept, listener)
            task_status.started()

    async def _accept(self, listening: ListeningSocket) -> None:
        layers = [name for name, _ in listening.address.parts[2:]]

        async def serve(stream: trio.SocketStream) -> None:
            await self._connections.on_inbound(stream, *layers)

        await accept_connections(serve, [listening.listener], self._nursery, log, "peer")

    async def connect(self, address: Multiaddr) -> str:
        """Dial one address now, outside all slots; return the peer's id. Raise DialError."""
        connection = await self._connections.dial(address, self._nursery)
        return connection.peer_id

    # Substreams

    async def _on_substream(self, connection: PeerConnection, substream: Substream) -> None:
        links = {notifications.name: notifications for notifications in self._membership.protocols.values()}
        connection.last_opened = trio.current_time()
        name, first_bytes = await accept_protocol(substream, {PING, IDENTIFY, *self._served, *links})
        if name == PING:
            await answer_pings(substream, first_bytes, self._rate(connection, PING))
        elif name in self._rates and not self._rate(connection, name).allows(trio.current_time()):
            log.debug("%s exceeds the rate limit of %s", connection.peer_id, name)
        elif name == IDENTIFY:
            await answer_identify(substream, self._identify(connection))
        elif name in links:
            await links[name].serve(connection, substream, first_bytes)
        else:
            await self._served[name].serve(connection, substream, first_bytes)

    def _rate(self, connection: PeerConnection, name: str) -> Rate:
        per_second, burst = self._rates[name]
        return connection.rates.setdefault(name, Rate(per_second, burst))

    def _identify(self, connection: PeerConnection) -> Identify:
        names = {notifications.name for notifications in self._membership.protocols.values()}
        return Identify(
            public=self._identity.public,
            agent=self._settings.agent,
            listen=(*self._settings.public, *transport.reachable(self.listening, connection.stream)),
            protocols=(IDENTIFY, PING, *sorted({*self._served, *names})),
            observed=connection.address,
        )

    async def _on_connected(self, connection: PeerConnection) -> None:
        """Open the protocols with the node, and request its identify message."""
        self._dialing.reached(connection.peer_id)
        self._membership.keep_open(connection)
        if (identification := await request_identify(connection)) is None:
            return
        peer = self._connections.peers.get(connection.peer_id)
        if peer is not None and peer.connection is connection:
            peer.about = identification
            if self._settings.protocol("kad") in identification.protocols:
                self._discovery.learn(connection.peer_id, identification.listen, met=True)

    # Upkeep

    def _upkeep(self) -> None:
        """Open ended protocols again, and close unused connections."""
        now = trio.current_time()
        for identity, peer in list(self._connections.peers.items()):
            self._membership.keep_open(peer.connection)
            used = self._membership.includes(identity) or identity in self._reserved
            if not used and now - peer.connection.last_opened > IDLE_TIMEOUT:
                peer.connection.close(UNUSED)

    async def _ask_kad(self, peer: str, query: bytes) -> bytes:
        return await self.request(peer, "kad", query)

    def _info(self, identity: str, peer: Peer) -> PeerInfo:
        member, score = self._membership, self._peer_store.score(identity, trio.current_time())
        return peer.info(identity, member.opened(identity), score, member.handshake(identity))
