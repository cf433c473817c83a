"""Who are our peers, and what is said between us?

`Service` is the `Network` (model.py) over real connections: it listens and dials, keeps one connection a
peer, keeps the protocols open (`membership.py`), answers identify, ping and Kademlia, and lets go of who
breaks the rules. Declare the protocols, then `run` it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import MAX_IDENTIFY, Identify
from cfnode.core.p2p.identify import PROTOCOL as IDENTIFY
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.p2p.protobuf import framed
from cfnode.core.peer_id import peer_id
from cfnode.network import transport
from cfnode.network.accept import accept_connections
from cfnode.network.connection import Connection
from cfnode.network.connections import FLOODED, Connections, Peer
from cfnode.network.dialing import Dialing
from cfnode.network.discovery import LIMITS as KAD_LIMITS
from cfnode.network.discovery import Discovery
from cfnode.network.exchange import (
    PING,
    PINGS_AT_ONCE,
    PINGS_PER_SECOND,
    Served,
    accept_protocol,
    answer_pings,
    ask,
)
from cfnode.network.membership import Membership
from cfnode.network.model import (
    Accept,
    NotificationLimits,
    PeerInfo,
    RequestFailed,
    RequestHandler,
    RequestLimits,
)
from cfnode.network.notifications import Notifications
from cfnode.network.peer_store import PeerStore
from cfnode.network.rate import Rate
from cfnode.network.reports import Reports
from cfnode.network.settings import Settings
from cfnode.network.substream import Substream
from cfnode.network.transport import Listening
from cfnode.network.useful import UsefulPeers

__all__ = ["Service", "Settings"]

log = logging.getLogger("cfnode.sub-libp2p")

LINGER = 2.0
IDLE = 30.0
"""Seconds without a new substream after which a connection that is no peer ends."""
USUAL_REQUESTS, USUAL_NOTIFICATIONS = RequestLimits(), NotificationLimits()
IDENTIFY_RATE = (0.5, 10)
"""Questions who we are of one connection, each second and at once: a node asks when it connects."""
KAD_RATE = (5.0, 40)
"""And for other nodes: a search asks each node once."""
IDENTIFY_LIMITS = RequestLimits(request=0, response=MAX_IDENTIFY, timeout=10.0, window=256 * 1024)


class Service:
    """The network of one node."""

    def __init__(self, identity: Keypair, settings: Settings) -> None:
        self.peer_id = peer_id(identity.public)
        self.listening: list[Multiaddr] = []
        """Where we do listen, with real ports; set when `run` has started."""
        self._identity, self._settings = identity, settings
        self._reserved = {address.peer for address in settings.reserved_nodes if address.peer}
        self._peer_store = PeerStore(spared=self._reserved)
        self._useful = UsefulPeers(settings.useful_peers)
        self._connections = Connections(
            identity,
            settings,
            self._peer_store,
            self._reserved,
            self._useful,
            on_connected=self._on_connected,
            on_substream=self._on_substream,
            on_fault=self.report,
            on_gone=lambda: self._dialing.now(),
        )
        self._reports = Reports(self._connections, self._useful, self._reserved)
        self._membership = Membership(settings, self._reserved, self._connections.peers, self._useful)
        given = [*settings.reserved_nodes, *([] if settings.reserved_only else settings.boot_nodes)]
        self._discovery = Discovery(self.peer_id, given, private=settings.private_addresses)
        self._dialing = Dialing(
            settings,
            self._discovery,
            self._peer_store,
            reserved=self._reserved,
            connected=self._connections.peers,
            alone=lambda: self._membership.alone,
        )
        self._limits: dict[str, RequestLimits] = {}
        self._served: dict[str, Served] = {}
        self._rates = {
            PING: (PINGS_PER_SECOND, PINGS_AT_ONCE),
            IDENTIFY: IDENTIFY_RATE,
            settings.protocol("kad"): KAD_RATE,
        }
        self.serve_requests("kad", self._discovery.answer, KAD_LIMITS)

    # What the rest of the node sees (model.Network)

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        return {identity: self._info(identity, peer) for identity, peer in self._connections.peers.items()}

    @property
    def peer_count(self) -> int:
        """How many nodes take part with us; others may be connected as well."""
        return sum(peer.is_peer for peer in self.peers.values())

    @property
    def unreachable(self) -> Mapping[str, str]:
        """Nodes we could not reach at the last try, and why: for who wonders why there are no peers."""
        return self._dialing.unreachable

    @property
    def reserved(self) -> frozenset[str]:
        """The peers that are always kept."""
        return frozenset(self._reserved)

    @property
    def addresses(self) -> list[Multiaddr]:
        """Where other nodes reach this one: what the user says, then where it listens."""
        return [*self._settings.public, *transport.everywhere(self.listening)]

    def reserve(self, address: Multiaddr) -> None:
        """Keep this node as a peer from now on, in no slot. Raises ValueError where no peer id is given."""
        if address.peer is None:
            raise ValueError(f"{address}: a reserved node needs its peer id, as in {address}/p2p/12D3KooW…")
        self._reserved.add(address.peer)
        self._discovery.give(address)
        self._peer_store.dials.succeeded(address.peer)  # who names a node wants it called now
        self._peer_store.pardon(address.peer)
        if address.peer in self._connections.peers:
            self._membership.keep_open(self._connections.peers[address.peer].connection)
        self._dialing.now()

    def unreserve(self, peer_id: str) -> None:
        """Keep it no longer; a node with reserved peers only lets go of it."""
        if peer_id in self._reserved:
            self._reserved.discard(peer_id)
            self._discovery.take_back(peer_id)
            for address in () if self._settings.reserved_only else self._settings.boot_nodes:
                if address.peer == peer_id:
                    self._discovery.give(address)
            if self._settings.reserved_only:
                self.disconnect(peer_id, "no reserved node any more")

    @property
    def bytes_received(self) -> int:
        """Since the start, over all connections."""
        return self._connections.received

    @property
    def bytes_sent(self) -> int:
        return self._connections.sent

    @property
    def bytes_held(self) -> int:
        """What peers make us hold at the moment."""
        return self._connections.buffers.total

    @property
    def bans(self) -> int:
        """How often a peer was banned."""
        return self._peer_store.bans

    async def request(
        self, peer_id: str, protocol: str, data: bytes, *, seconds: float | None = None
    ) -> bytes:
        limits, peer = self._limits[protocol], self._connections.peers.get(peer_id)
        if peer is None:
            raise RequestFailed(f"{peer_id} is not connected")
        name = self._settings.protocol(protocol)
        try:
            return await ask(peer.connection, name, data, limits, seconds or limits.timeout)
        except RequestFailed as failed:
            if isinstance(failed.__cause__, RemoteError):
                log.debug("%s answers %s against the rules: %s", peer_id, protocol, failed)
            raise

    def serve_requests(
        self, protocol: str, handler: RequestHandler | None, limits: RequestLimits = USUAL_REQUESTS
    ) -> None:
        self._limits[protocol] = limits
        if handler is not None:
            self._served[self._settings.protocol(protocol)] = Served(handler, limits)

    def notifications(
        self,
        protocol: str,
        handshake: Callable[[], bytes],
        limits: NotificationLimits = USUAL_NOTIFICATIONS,
        accept: Accept | None = None,
    ) -> Notifications:
        def check(peer: str, theirs: bytes) -> str | None:
            refusal = self._membership.refusal(protocol, peer, theirs)
            return refusal or (accept(peer, theirs) if accept else None)

        added = Notifications(self._settings.protocol(protocol), handshake, limits, check)
        added.on_flood = lambda peer, reason: self.report(peer, FLOODED, reason)
        self._membership.declare(protocol, added)
        return added

    def report(self, peer_id: str, change: int, reason: str) -> None:
        self._reports.report(peer_id, change, reason)

    def mark_useful(self, peer_id: str) -> None:
        self._reports.mark_useful(peer_id)

    def evict(self, peer_id: str, reason: str) -> None:
        peer = self._connections.peers.get(peer_id)
        ours = peer is not None and not peer.connection.inbound and peer_id not in self._reserved
        if ours and self._membership.free <= 0 and self._dialing.knows_more():
            log.debug("%s makes way for somebody else: %s", peer_id, reason)
            self.disconnect(peer_id, reason)

    def disconnect(self, peer_id: str, reason: str) -> None:
        if peer_id in self._connections.peers:
            self._connections.peers[peer_id].connection.close(reason)

    async def run(
        self, *, listen: bool = True, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen (or not), dial and serve until cancelled; started once it listens. Raises DialError."""
        listening = await transport.listen(self._settings.listen if listen else ())
        self.listening = [each.address for each in listening]
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._useful.keep)
            nursery.start_soon(self._dialing.run, self.connect, lambda: self._membership.free, self._keep)
            nursery.start_soon(
                self._dialing.look_around, lambda: list(self._connections.peers), self._ask_kad
            )
            for each in listening:
                nursery.start_soon(self._accept, each)
            task_status.started()

    async def _accept(self, listening: Listening) -> None:
        layers = [name for name, _ in listening.address.parts[2:]]

        async def serve(stream: trio.SocketStream) -> None:
            await self._connections.on_inbound(stream, *layers)

        await accept_connections(serve, [listening.listener], self._nursery, log, "peer")

    async def connect(self, address: Multiaddr) -> str:
        """Dial one address now, outside all slots; the peer's id. Raises DialError."""
        connection = await self._connections.dial(address, self._nursery)
        return connection.peer_id

    # Substreams

    async def _on_substream(self, connection: Connection, substream: Substream) -> None:
        links = {added.name: added for added in self._membership.protocols.values()}
        connection.last_opened = trio.current_time()
        name, first = await accept_protocol(substream, {PING, IDENTIFY, *self._served, *links})
        if name == PING:
            await answer_pings(substream, first, self._rate(connection, PING))
        elif name in self._rates and not self._rate(connection, name).allows(trio.current_time()):
            log.debug("%s asks for %s more often than anybody needs", connection.peer_id, name)
        elif name == IDENTIFY:
            await self._tell_about_us(connection, substream)
        elif name in links:
            await links[name].serve(connection, substream, first)
        else:
            await self._served[name].serve(connection, substream, first)

    def _rate(self, connection: Connection, name: str) -> Rate:
        per_second, burst = self._rates[name]
        return connection.rates.setdefault(name, Rate(per_second, burst))

    async def _tell_about_us(self, connection: Connection, substream: Substream) -> None:
        """Our end waits for the peer's: js-libp2p loses an answer that comes together with its end."""
        await substream.send_all(framed(self._about(connection).encode()))
        with trio.move_on_after(LINGER):
            await substream.receive()
        substream.finish()

    def _about(self, connection: Connection) -> Identify:
        names = {added.name for added in self._membership.protocols.values()}
        return Identify(
            public=self._identity.public,
            agent=self._settings.agent,
            listen=(*self._settings.public, *transport.reachable(self.listening, connection.stream)),
            protocols=(IDENTIFY, PING, *sorted({*self._served, *names})),
            observed=connection.address,
        )

    async def _on_connected(self, connection: Connection) -> None:
        """Open what is to be open with it, and ask who it is."""
        self._dialing.reached(connection.peer_id)
        self._membership.keep_open(connection)
        try:
            answer = await ask(connection, IDENTIFY, None, IDENTIFY_LIMITS, IDENTIFY_LIMITS.timeout)
        except RequestFailed as error:
            log.debug("%s does not identify itself: %s", connection.peer_id, error)
            return
        about = Identify.decode(answer)
        if about.public != connection.remote:
            raise RemoteError("identify: another key than that of the connection")
        peer = self._connections.peers.get(connection.peer_id)
        if peer is not None and peer.connection is connection:
            peer.about = about
            if self._settings.protocol("kad") in about.protocols:
                self._discovery.learn(connection.peer_id, about.listen, met=True)

    # Upkeep

    def _keep(self) -> None:
        """Open again what has ended, and end what nobody uses."""
        now = trio.current_time()
        for identity, peer in list(self._connections.peers.items()):
            self._membership.keep_open(peer.connection)
            used = self._membership.holds(identity) or identity in self._reserved
            if not used and now - peer.connection.last_opened > IDLE:
                peer.connection.close("nothing to talk about")

    async def _ask_kad(self, peer: str, query: bytes) -> bytes:
        return await self.request(peer, "kad", query)

    def _info(self, identity: str, peer: Peer) -> PeerInfo:
        about = peer.about
        return PeerInfo(
            peer_id=identity,
            address=str(peer.connection.address),
            inbound=peer.connection.inbound,
            agent=about.agent if about else "",
            protocols=frozenset(about.protocols if about else ()),
            opened=self._membership.opened(identity),
            reputation=self._peer_store.score(identity, trio.current_time()),
            handshake=self._membership.handshake(identity),
        )
