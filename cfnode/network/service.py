"""Who are our peers, and what is said between us?

`Service` is the `Network` (model.py) over real connections: it listens and dials, keeps one connection a
peer, opens block announces where a slot is free and the other protocols after it, answers identify, ping
and Kademlia, and lets go of who breaks the rules. Declare the protocols, then `run` it.
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
from cfnode.network.connection import Connection, Substream
from cfnode.network.connections import Connections, Peer
from cfnode.network.discovery import LIMITS as KAD_LIMITS
from cfnode.network.discovery import Discovery
from cfnode.network.exchange import Served, accept_protocol, ask
from cfnode.network.model import (
    MASTER,
    Accept,
    NotificationLimits,
    PeerInfo,
    RequestFailed,
    RequestHandler,
    RequestLimits,
)
from cfnode.network.notifications import Notifications
from cfnode.network.settings import Settings
from cfnode.network.standing import Standing
from cfnode.network.transport import DialError, Listening

__all__ = ["Service", "Settings"]

log = logging.getLogger("cfnode.sub-libp2p")

PING = "/ipfs/ping/1.0.0"
PING_SIZE = 32
LINGER = 2.0
IDLE = 30.0
"""Seconds without a new substream after which a connection that is no peer ends."""
UPKEEP = 5.0
MAX_DIALS = 8
MAX_UNREACHABLE = 64
LOOK_FIRST, LOOK_LAST = 5.0, 120.0
USUAL_REQUESTS, USUAL_NOTIFICATIONS = RequestLimits(), NotificationLimits()
IDENTIFY_LIMITS = RequestLimits(request=0, response=MAX_IDENTIFY, timeout=10.0, window=256 * 1024)


class Service:
    """The network of one node."""

    def __init__(self, identity: Keypair, settings: Settings) -> None:
        self.peer_id = peer_id(identity.public)
        self.listening: list[Multiaddr] = []
        """Where we do listen, with real ports; set when `run` has started."""
        self.unreachable: dict[str, str] = {}
        """Nodes we could not reach at the last try, and why: for who wonders why there are no peers."""
        self._identity, self._settings = identity, settings
        self._reserved = {address.peer for address in settings.reserved_nodes} - {None}
        self._dialing: set[str] = set()
        self._standing = Standing()
        self._connections = Connections(
            identity,
            settings,
            self._standing,
            on_connected=self._on_connected,
            on_substream=self._on_substream,
            on_gone=lambda: self._dial_now.set(),
        )
        given = [*settings.reserved_nodes, *([] if settings.reserved_only else settings.boot_nodes)]
        self._discovery = Discovery(self.peer_id, given, private=settings.private_addresses)
        self._limits: dict[str, RequestLimits] = {}
        self._served: dict[str, Served] = {}
        self._notifications: dict[str, Notifications] = {}
        self._dial_now = trio.Event()
        self.serve_requests("kad", self._discovery.answer, KAD_LIMITS)

    # What the rest of the node sees (model.Network)

    @property
    def peers(self) -> Mapping[str, PeerInfo]:
        return {identity: self._info(identity, peer) for identity, peer in self._connections.peers.items()}

    @property
    def bytes_received(self) -> int:
        """Since the start, over all connections."""
        return self._connections.received

    @property
    def bytes_sent(self) -> int:
        return self._connections.sent

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
            return self._refusal(protocol, peer) or (accept(peer, theirs) if accept else None)

        added = Notifications(self._settings.protocol(protocol), handshake, limits, check)
        if protocol == MASTER:
            added.on_opened, added.on_closed = self._on_peer, self._on_peer_gone
        self._notifications[protocol] = added
        return added

    def report(self, peer_id: str, change: int, reason: str) -> None:
        banned = self._standing.report(peer_id, change, trio.current_time())
        log.debug("reputation of %s: %+d (%s)", peer_id, change, reason)
        if banned:
            log.info("Banned %s: %s", peer_id, reason)
            self.disconnect(peer_id, f"banned: {reason}")

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
            for added in self._notifications.values():
                nursery.start_soon(added.tell_ends)
            nursery.start_soon(self._dial_for_ever)
            nursery.start_soon(self._look_for_ever)
            for each in listening:
                nursery.start_soon(self._accept, each)
            task_status.started()

    async def _accept(self, listening: Listening) -> None:
        layers = [name for name, _ in listening.address.parts[2:]]

        async def serve(stream: trio.SocketStream) -> None:
            await self._connections.on_inbound(stream, *layers)

        await trio.serve_listeners(serve, [listening.listener])

    async def connect(self, address: Multiaddr) -> str:
        """Dial one address now, outside all slots; the peer's id. Raises DialError."""
        connection = await self._connections.dial(address, self._nursery)
        return connection.peer_id

    # Substreams

    async def _on_substream(self, substream: Substream) -> None:
        links = {added.name: added for added in self._notifications.values()}
        substream.connection.last_opened = trio.current_time()
        name, first = await accept_protocol(substream, {PING, IDENTIFY, *self._served, *links})
        if name == PING:
            await _answer_pings(substream, first)
        elif name == IDENTIFY:
            await self._tell_about_us(substream)
        elif name in links:
            await links[name].serve(substream, first)
        else:
            await self._served[name].serve(substream, first)

    async def _tell_about_us(self, substream: Substream) -> None:
        """Our end waits for the peer's: js-libp2p loses an answer that comes together with its end."""
        await substream.send_all(framed(self._about(substream.connection).encode()))
        with trio.move_on_after(LINGER):
            await substream.receive()
        substream.finish()

    def _about(self, connection: Connection) -> Identify:
        names = {added.name for added in self._notifications.values()}
        return Identify(
            public=self._identity.public,
            agent=self._settings.agent,
            listen=(*self._settings.public, *transport.reachable(self.listening, connection.stream)),
            protocols=(IDENTIFY, PING, *sorted({*self._served, *names})),
            observed=connection.address,
        )

    async def _on_connected(self, connection: Connection) -> None:
        """Who is it? Then, in a free slot, open block announces."""
        self.unreachable.pop(connection.peer_id, None)
        self._fill_slot(connection)
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
                self._discovery.learn(connection.peer_id, about.listen)

    # Slots

    def _fill_slot(self, connection: Connection) -> None:
        master = self._notifications.get(MASTER)
        if master is None or connection.inbound:
            return  # who called us opens it
        if connection.peer_id in self._reserved or self._free_out_slots() > 0:
            master.open(connection)

    def _free_out_slots(self) -> int:
        master = self._notifications.get(MASTER)
        taken = master.count(inbound=False) if master else len(self._connections.peers)
        return self._settings.out_peers - taken

    def _refusal(self, protocol: str, peer: str) -> str | None:
        master = self._notifications.get(MASTER)
        if protocol != MASTER:
            return None if master is None or master.holds(peer) else f"{MASTER} is not open"
        if master is None or peer in self._reserved or master.holds(peer):
            return None
        return "all slots are taken" if master.count(inbound=True) >= self._settings.in_peers else None

    def _on_peer(self, connection: Connection) -> None:
        self._standing.succeeded(connection.peer_id)
        for protocol, added in self._notifications.items():
            if protocol != MASTER:
                added.open(connection)

    def _on_peer_gone(self, connection: Connection) -> None:
        for protocol, added in self._notifications.items():
            if protocol != MASTER:
                added.close(connection.peer_id)

    # Dialing and discovery

    async def _dial_for_ever(self) -> None:
        while True:
            self._dial_now = trio.Event()
            self._end_idle()
            for identity in self._wanted():
                self._dialing.add(identity)
                self._nursery.start_soon(self._dial_peer, identity)
            with trio.move_on_after(UPKEEP):
                await self._dial_now.wait()

    def _wanted(self) -> list[str]:
        now = trio.current_time()
        wanted: list[str] = []
        free = self._free_out_slots() - len(self._dialing)
        for identity in self._discovery.candidates():
            reserved = identity in self._reserved
            if (free <= len(wanted) and not reserved) or len(self._dialing) + len(wanted) >= MAX_DIALS:
                continue
            if identity in self._connections.peers or identity in self._dialing:
                continue
            if (reserved or not self._settings.reserved_only) and self._standing.may_dial(identity, now):
                wanted.append(identity)
        return wanted

    async def _dial_peer(self, identity: str) -> None:
        reasons = []
        try:
            for address in self._discovery.addresses(identity):
                try:
                    await self._connections.dial(address.with_peer(identity), self._nursery)
                    return
                except DialError as error:
                    reasons.append(str(error))
            self._unreached(identity, "; ".join(reasons))
        finally:
            self._dialing.discard(identity)

    def _unreached(self, identity: str, reason: str) -> None:
        wait = self._standing.failed(identity, trio.current_time())
        self._discovery.forget(identity)
        log.info("Cannot reach %s, next try in %.0f s: %s", identity, wait, reason)
        self.unreachable.pop(identity, None)
        self.unreachable[identity] = reason
        if len(self.unreachable) > MAX_UNREACHABLE:
            del self.unreachable[next(iter(self.unreachable))]

    def _end_idle(self) -> None:
        now, master = trio.current_time(), self._notifications.get(MASTER)
        for identity, peer in list(self._connections.peers.items()):
            used = (master is not None and master.holds(identity)) or identity in self._reserved
            if not used and now - peer.connection.last_opened > IDLE:
                peer.connection.close("nothing to talk about")

    async def _look_for_ever(self) -> None:
        pause = LOOK_FIRST
        while not self._settings.reserved_only:
            await trio.sleep(pause)
            found = await self._discovery.look_around(list(self._connections.peers), self._ask_kad)
            pause = LOOK_FIRST if found else min(LOOK_LAST, pause * 2)
            if found:
                self._dial_now.set()

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
            opened=frozenset(name for name, added in self._notifications.items() if identity in added.peers),
            reputation=self._standing.score(identity, trio.current_time()),
        )


async def _answer_pings(substream: Substream, first: bytes) -> None:
    """Echo 32 bytes at a time, as long as the peer likes."""
    waiting = bytearray(first)
    while True:
        while len(waiting) >= PING_SIZE:
            await substream.send_all(bytes(waiting[:PING_SIZE]))
            del waiting[:PING_SIZE]
        data = await substream.receive()
        if not data:
            substream.finish()
            return
        waiting += data
