"""Which connections do we hold, one for each peer?

Who is let in is decided in `admission.py`, and a peer that is banned never is. Of two connections with a peer
one stays, and both sides choose the same.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import Identify
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import peer_id, public_of
from cfnode.network import transport
from cfnode.network.admission import Admission, origin_of
from cfnode.network.buffers import Buffers
from cfnode.network.connection import Connection, OnSubstream
from cfnode.network.dnsaddr import behind
from cfnode.network.peer_store import PeerStore
from cfnode.network.settings import Settings
from cfnode.network.transport import DialError
from cfnode.network.upgrade import Secured, upgrade

__all__ = ["Connections", "Peer"]

log = logging.getLogger("cfnode.sub-libp2p")

SET_UP = 10.0
"""Seconds in which a connection has to be secured."""
BROKEN_RULES = -(1 << 20)
"""Reputation for a connection that ended by a broken protocol."""
FLOODED = -(1 << 29)
"""And for one that made us work for nothing: three of them are too many."""


@dataclass(slots=True)
class Peer:
    """A connected node and what it said of itself."""

    connection: Connection
    about: Identify | None = None


class Connections:
    """All connections. `on_connected` runs within each new one; `on_fault` gets the peer of one that ended by
    a broken protocol, what that costs, and the reason; `on_gone` is told of each end.
    """

    def __init__(
        self,
        identity: Keypair,
        settings: Settings,
        standing: PeerStore,
        reserved: Container[str],
        useful: Container[str] = frozenset(),
        *,
        on_connected: Callable[[Connection], Awaitable[None]],
        on_substream: OnSubstream,
        on_fault: Callable[[str, int, str], None],
        on_gone: Callable[[], None],
    ) -> None:
        self.peers: dict[str, Peer] = {}
        self._own = peer_id(identity.public)
        self._identity, self._settings, self._standing = identity, settings, standing
        self._reserved = reserved
        self._on_connected, self._on_substream, self._on_gone = on_connected, on_substream, on_gone
        self._on_fault = on_fault
        slots = settings.in_peers + settings.in_peers_light + settings.out_peers
        self.admission = Admission(slots, reserved, useful)
        self._past_received = self._past_sent = 0
        self.buffers = Buffers(self._relieve)
        self._turns = trio.Lock()

    @property
    def received(self) -> int:
        """Bytes since the start, over all connections."""
        return self._past_received + sum(peer.connection.received for peer in self.peers.values())

    @property
    def sent(self) -> int:
        """Bytes since the start, over all connections."""
        return self._past_sent + sum(peer.connection.sent for peer in self.peers.values())

    async def on_inbound(self, stream: trio.SocketStream, *layers: str) -> None:
        """Serve a stranger who called, to the end of the connection. `layers`: what is on the TCP (`ws`)."""
        try:
            address = transport.remote_address(stream).inside(*layers)
            if not self.admission.crowded(address):
                with self.admission.counted(address):
                    await self._secure_inbound(stream, address)
        except* (DialError, OSError) as group:
            log.debug("inbound connection: %s", "; ".join(map(str, group.exceptions)))
        # The fence: what we did not foresee costs this connection, not the node.
        except* Exception:
            log.exception("an inbound connection failed")
        finally:
            await trio.aclose_forcefully(stream)

    async def _secure_inbound(self, stream: trio.SocketStream, address: Multiaddr) -> None:
        secured = None
        with self.admission.half_open(address):
            secured = await self._secured(stream, address, inbound=True)
        if secured is not None:
            await self._connect(*secured, address, inbound=True)

    async def dial(self, address: Multiaddr, nursery: trio.Nursery) -> Connection:
        """A connection to the address, served in the nursery from now on; raises DialError."""
        reasons = []
        for found in await behind(address):
            try:
                return await self._dial(found, public_of(address.peer) if address.peer else None, nursery)
            except DialError as error:
                reasons.append(str(error))
        raise DialError("; ".join(reasons))

    async def _dial(self, address: Multiaddr, expected: bytes | None, nursery: trio.Nursery) -> Connection:
        stream = await transport.dial(address)
        connection: Connection = await nursery.start(
            self._secured_dial, stream, address.without_peer, expected
        )
        return connection

    async def _secured_dial(
        self,
        stream: trio.abc.Stream,
        address: Multiaddr,
        expected: bytes | None,
        *,
        task_status: trio.TaskStatus[Connection],
    ) -> None:
        told = False

        def started(connection: Connection) -> None:
            nonlocal told
            told = True
            task_status.started(connection)

        try:
            secured = await self._secured(stream, address, inbound=False, expected=expected)
            await self._connect(*secured, address, inbound=False, started=started)
        except DialError:
            if not told:
                raise
        finally:
            await trio.aclose_forcefully(stream)

    async def _secured(
        self, stream: trio.abc.Stream, address: Multiaddr, *, inbound: bool, expected: bytes | None = None
    ) -> tuple[trio.abc.Stream, Secured]:
        """Secure the stream: what the connection runs in, and its peer; raises DialError."""
        try:
            with trio.fail_after(SET_UP):
                stream = await transport.with_layers(stream, address, dialed=not inbound)
                return stream, await upgrade(stream, self._identity, dialer=not inbound, expected=expected)
        except trio.TooSlowError:
            raise DialError(f"{address}: the connection was not secured within {SET_UP:.0f} s") from None
        except (RemoteError, trio.BrokenResourceError) as error:
            raise DialError(f"{address}: {error}") from error

    async def _connect(
        self,
        stream: trio.abc.Stream,
        secured: Secured,
        address: Multiaddr,
        *,
        inbound: bool,
        started: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        """Serve a secured connection to its end; DialError where it is not wanted."""
        connection = Connection(
            stream,
            secured.channel,
            remote=secured.remote,
            peer_id=peer_id(secured.remote),
            address=address,
            inbound=inbound,
            on_substream=self._on_substream,
            buffers=self.buffers,
            turns=self._turns,
        )
        self._take_in(connection)
        await self._serve(connection, secured.first, started)

    def _take_in(self, connection: Connection) -> None:
        """One connection a peer: raises DialError where this one is not wanted."""
        identity, now = connection.peer_id, trio.current_time()
        if (origin := self._strange(connection)) is not None:
            self._standing.meet(identity, origin, now)
        if identity == self._own:
            raise DialError(f"{connection.address}: that is this node itself")
        if self._standing.banned(identity, now):
            raise DialError(f"{identity} is banned for a while")
        if self._settings.reserved_only and identity not in self._reserved:
            raise DialError(f"{identity} is not a reserved node")
        old = self.peers.get(identity)
        if old is not None and not _outlives(connection, old.connection, self._identity.public):
            raise DialError(f"{identity} is connected already")
        if old is not None:
            old.connection.close("replaced by a newer connection")
            self._let_go(old.connection)
        if connection.inbound:
            self._make_room(connection)
        self.peers[identity] = Peer(connection)

    def _make_room(self, connection: Connection) -> None:
        """A place for a peer that called: raises DialError where there is none for it."""
        others = {identity: peer.connection for identity, peer in self.peers.items()}
        goes = self.admission.takes(connection.peer_id, connection.address, others)
        if goes is None:
            raise DialError(f"{connection.peer_id}: all places are taken")
        if goes:
            others[goes].close("it makes way for a node of another network")
            self._let_go(others[goes])

    def report(self, peer: str, change: int) -> bool:
        """Add to a peer's reputation, and to that of the address from which a stranger called; True where it
        has lost all trust by it."""
        connected = self.peers.get(peer)
        origin = None if connected is None else self._strange(connected.connection)
        return self._standing.report(peer, change, trio.current_time(), origin)

    def _strange(self, connection: Connection) -> str | None:
        """The address that shares a peer's losses: of a stranger that called over the internet."""
        known = connection.peer_id in self._reserved or connection.peer_id in self._settings.given
        if known or not connection.inbound or not connection.address.is_global:
            return None
        return origin_of(connection.address)

    async def _serve(
        self, connection: Connection, first: bytes, started: Callable[[Connection], None]
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
                self._on_fault(connection.peer_id, change, connection.why)
            log.debug("connection with %s ended: %s", connection.peer_id, connection.why)
            self._let_go(connection)

    def _relieve(self, connection: object) -> None:
        """The peers make us hold too much: let go of the one that holds most."""
        assert isinstance(connection, Connection)
        if not connection.why:
            log.info("%s makes us hold most of too much unread data", connection.peer_id)
            connection.close("too much unread data")

    def _let_go(self, connection: Connection) -> None:
        peer = self.peers.get(connection.peer_id)
        if peer is not None and peer.connection is connection:
            del self.peers[connection.peer_id]
            self._past_received += connection.received
            self._past_sent += connection.sent
            # However it ended: a node that takes part and hangs up at once is not called again at once.
            now = trio.current_time()
            self._standing.dials.ended(connection.peer_id, connection.taking_part_since, now)
            self._on_gone()


def _outlives(new: Connection, old: Connection, own: bytes) -> bool:
    """Which of two connections with a peer stays? Both sides must decide alike.

    Two in the same direction: the newer, since the peer has started anew. Two that crossed: the one that the
    node with the smaller key dialed.
    """
    return new.inbound == old.inbound or new.inbound == (new.remote < own)
