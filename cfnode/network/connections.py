"""The connections of the node: accepting, dialing, securing and closing them; one with each peer.

`admission.py` decides which inbound connections are accepted; a banned peer is always refused. Of two
connections with the same peer one stays, and both sides choose the same one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import peer_id, public_of
from cfnode.network import transport
from cfnode.network.admission import ConnectionAdmission
from cfnode.network.buffers import Buffers
from cfnode.network.connection import OnSubstream, PeerConnection
from cfnode.network.dnsaddr import resolve
from cfnode.network.peer_store import PeerStore
from cfnode.network.peers import FLOODED, Peer, Reports
from cfnode.network.settings import NetworkSettings
from cfnode.network.traffic import ConnectionTraffic, counting
from cfnode.network.transport import DialError
from cfnode.network.upgrade import Secured, upgrade
from cfnode.network.useful_peers import UsefulPeers

__all__ = ["Connections"]

log = logging.getLogger("cfnode.sub-libp2p")

SETUP_TIMEOUT = 10.0
"""Seconds within which a connection has to be secured."""
BROKEN_RULES = -(1 << 20)
"""Reputation change for a connection that ended because the peer broke the protocol."""


class Connections:
    """All connections of the node.

    `on_connected` runs within each new connection; `on_ended` runs at each end.
    """

    def __init__(
        self,
        identity: Keypair,
        settings: NetworkSettings,
        peer_store: PeerStore,
        reserved: Container[str],
        useful: UsefulPeers,
        *,
        on_connected: Callable[[PeerConnection], Awaitable[None]],
        on_substream: OnSubstream,
        on_ended: Callable[[], None],
    ) -> None:
        self.peers: dict[str, Peer] = {}
        self.reports = Reports(self.peers, peer_store, settings, reserved, useful)
        self._own = peer_id(identity.public)
        self._identity, self._settings, self._peer_store = identity, settings, peer_store
        self._reserved = reserved
        self._on_connected, self._on_substream, self._on_ended = on_connected, on_substream, on_ended
        slots = settings.in_peers + settings.in_peers_light + settings.out_peers
        self.admission = ConnectionAdmission(slots, reserved, useful)
        self.traffic = ConnectionTraffic()
        self._past_received = self._past_sent = 0
        self.buffers = Buffers(self._close_for_memory)
        self._flood_lock = trio.Lock()

    @property
    def received(self) -> int:
        """Bytes received since the start, over all connections."""
        return self._past_received + sum(peer.connection.received for peer in self.peers.values())

    @property
    def sent(self) -> int:
        """Bytes sent since the start, over all connections."""
        return self._past_sent + sum(peer.connection.sent for peer in self.peers.values())

    async def on_inbound(self, stream: trio.SocketStream, *layers: str) -> None:
        """Serve an inbound connection to its end. `layers`: the protocols over TCP (`ws`)."""
        try:
            address = transport.remote_address(stream).inside(*layers)
            self.traffic.incoming += 1
            if self.admission.at_limit(address):
                self.traffic.failed_incoming["limit-reached"] += 1
            else:
                with self.admission.counted(address):
                    await self._secure_inbound(stream, address)
        except* (DialError, OSError) as group:
            log.debug("inbound connection: %s", "; ".join(map(str, group.exceptions)))
        # An unforeseen error must end this connection, not the node.
        except* Exception:
            log.exception("an inbound connection failed")
        finally:
            await trio.aclose_forcefully(stream)

    async def _secure_inbound(self, stream: trio.SocketStream, address: Multiaddr) -> None:
        secured, failures = None, self.traffic.failed_incoming
        with self.admission.half_open(address), counting(DialError, failures, "transport-error"):
            secured = await self._secured(stream, address, inbound=True)
        if secured is None:
            failures["limit-reached"] += 1
        else:
            await self._connect(*secured, address, inbound=True)

    async def dial(self, address: Multiaddr, nursery: trio.Nursery) -> PeerConnection:
        """Return a connection to the address, served in the nursery from now on. Raise DialError."""
        reasons = []
        for resolved in await resolve(address):
            try:
                return await self._dial(resolved, public_of(address.peer) if address.peer else None, nursery)
            except DialError as error:
                reasons.append(str(error))
        raise DialError("; ".join(reasons))

    async def _dial(
        self, address: Multiaddr, expected: bytes | None, nursery: trio.Nursery
    ) -> PeerConnection:
        with counting(DialError, self.traffic.failed_dials, "transport-error"):
            stream = await transport.dial(address)
        connection: PeerConnection = await nursery.start(
            self._secured_dial, stream, address.without_peer, expected
        )
        return connection

    async def _secured_dial(
        self,
        stream: trio.abc.Stream,
        address: Multiaddr,
        expected: bytes | None,
        *,
        task_status: trio.TaskStatus[PeerConnection],
    ) -> None:
        connected = False

        def started(connection: PeerConnection) -> None:
            nonlocal connected
            connected = True
            task_status.started(connection)

        try:
            with counting(DialError, self.traffic.failed_dials, "transport-error"):
                secured = await self._secured(stream, address, inbound=False, expected=expected)
            await self._connect(*secured, address, inbound=False, started=started)
        except DialError:
            if not connected:
                raise
        finally:
            await trio.aclose_forcefully(stream)

    async def _secured(
        self, stream: trio.abc.Stream, address: Multiaddr, *, inbound: bool, expected: bytes | None = None
    ) -> tuple[trio.abc.Stream, Secured]:
        """Secure the stream; return the stream that the connection runs in, and its peer. Raise DialError."""
        try:
            with trio.fail_after(SETUP_TIMEOUT):
                stream = await transport.with_layers(stream, address, dialed=not inbound)
                return stream, await upgrade(stream, self._identity, dialer=not inbound, expected=expected)
        except trio.TooSlowError:
            raise DialError(f"{address}: not secured within {SETUP_TIMEOUT:.0f} s") from None
        except (RemoteError, trio.BrokenResourceError) as error:
            raise DialError(f"{address}: {error}") from error

    async def _connect(
        self,
        stream: trio.abc.Stream,
        secured: Secured,
        address: Multiaddr,
        *,
        inbound: bool,
        started: Callable[[PeerConnection], None] = lambda connection: None,
    ) -> None:
        """Serve a secured connection to its end. Raise DialError if it is refused."""
        connection = PeerConnection(
            stream,
            secured.channel,
            remote=secured.remote,
            peer_id=peer_id(secured.remote),
            address=address,
            inbound=inbound,
            on_substream=self._on_substream,
            buffers=self.buffers,
            flood_lock=self._flood_lock,
        )
        failures = self.traffic.failed_incoming if inbound else self.traffic.failed_dials
        with counting(DialError, failures, "denied"):
            self._accept(connection)
        with self.traffic.open(connection):
            await self._serve(connection, secured.first, started)

    def _accept(self, connection: PeerConnection) -> None:
        """Add the connection, one for each peer. Raise DialError if it is refused."""
        identity, now = connection.peer_id, trio.current_time()
        if (origin := self.reports.shared_origin(connection)) is not None:
            self._peer_store.add_stranger(identity, origin, now)
        if identity == self._own:
            raise DialError(f"{connection.address} is this node itself")
        if self._peer_store.banned(identity, now):
            raise DialError(f"{identity} is banned for a while")
        if self._settings.reserved_only and identity not in self._reserved:
            raise DialError(f"{identity} is not a reserved node")
        old = self.peers.get(identity)
        if old is not None and not _outlives(connection, old.connection, self._identity.public):
            raise DialError(f"{identity} is connected already")
        if old is not None:
            old.connection.close("replaced by a newer connection")
            self._remove(old.connection)
        if connection.inbound:
            self._make_room(connection)
        self.peers[identity] = Peer(connection)

    def _make_room(self, connection: PeerConnection) -> None:
        """Evict a peer for an inbound connection if needed. Raise DialError if no slot can be freed."""
        connections = {identity: peer.connection for identity, peer in self.peers.items()}
        evicted = self.admission.eviction_for(connection.peer_id, connection.address, connections)
        if evicted is None:
            raise DialError(f"{connection.peer_id}: all slots are taken")
        if evicted:
            connections[evicted].close("evicted for a node of another network")
            self._remove(connections[evicted])

    async def _serve(
        self, connection: PeerConnection, first: bytes, started: Callable[[PeerConnection], None]
    ) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.run, first)
                await connection.ready.wait()
                connection.start(lambda: self._on_connected(connection), "identify of")
                started(connection)
        finally:
            if connection.at_fault:
                change = FLOODED if connection.flooded else BROKEN_RULES
                self.reports.report(connection.peer_id, change, connection.end_reason)
            log.debug("connection with %s ended: %s", connection.peer_id, connection.end_reason)
            self._remove(connection)

    def _close_for_memory(self, connection: object) -> None:
        """Close the connection with the most unread data, since all together hold too much."""
        assert isinstance(connection, PeerConnection)
        if not connection.end_reason:
            log.info("Disconnected %s: too much unread data, most of it from this peer", connection.peer_id)
            connection.close("too much unread data")

    def _remove(self, connection: PeerConnection) -> None:
        peer = self.peers.get(connection.peer_id)
        if peer is not None and peer.connection is connection:
            del self.peers[connection.peer_id]
            self._past_received += connection.received
            self._past_sent += connection.sent
            # Whatever the reason: a peer that disconnects at once is not dialed again at once.
            now = trio.current_time()
            self._peer_store.dials.ended(connection.peer_id, connection.peer_since, now)
            self._on_ended()


def _outlives(new: PeerConnection, old: PeerConnection, own: bytes) -> bool:
    """Return whether the newer of two connections with one peer stays. Both sides must decide alike.

    Of two in the same direction the newer stays, since the peer has restarted. Of two in opposite directions
    the one stays that the node with the smaller key dialed.
    """
    return new.inbound == old.inbound or new.inbound == (new.remote < own)
