"""Which connections do we hold, one for each peer?

Strangers are let in while there is room, from one address only so many, and never one that is banned. Of two
connections with a peer one stays, and both sides choose the same.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Network

import trio

from cfnode.core.keys import Keypair
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.identify import Identify
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.core.peer_id import peer_id, public_of
from cfnode.network import transport
from cfnode.network.buffers import Buffers
from cfnode.network.connection import Connection, OnSubstream
from cfnode.network.dnsaddr import behind
from cfnode.network.settings import Settings
from cfnode.network.standing import Standing
from cfnode.network.transport import DialError
from cfnode.network.upgrade import upgrade

__all__ = ["Connections", "Peer"]

log = logging.getLogger("cfnode.sub-libp2p")

SET_UP = 10.0
"""Seconds in which a connection has to be secured."""
SPARE_CONNECTIONS = 16
"""Connections beyond the slots: for who only asks, or looks for peers."""
MAX_PENDING = 32
"""Connections that are being secured while strangers are let in."""
MAX_PER_ADDRESS = 5
"""Connections from one address of the internet, or one IPv6 network of 64 bits, which one subscriber has."""
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
    """All connections. `on_connected` runs within each new one, `on_gone` is told of each end."""

    def __init__(
        self,
        identity: Keypair,
        settings: Settings,
        standing: Standing,
        reserved: Container[str],
        *,
        on_connected: Callable[[Connection], Awaitable[None]],
        on_substream: OnSubstream,
        on_gone: Callable[[], None],
    ) -> None:
        self.peers: dict[str, Peer] = {}
        self._own = peer_id(identity.public)
        self._identity, self._settings, self._standing = identity, settings, standing
        self._reserved = reserved
        self._on_connected, self._on_substream, self._on_gone = on_connected, on_substream, on_gone
        self._per_address: Counter[str] = Counter()
        self._pending = 0
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
            if self._admits(address):
                with self._counted(_origin(address)):
                    await self._secure(stream, address, inbound=True)
        except* (DialError, OSError) as group:
            log.debug("inbound connection: %s", "; ".join(map(str, group.exceptions)))
        # The fence: what we did not foresee costs this connection, not the node.
        except* Exception:
            log.exception("an inbound connection failed")
        finally:
            await trio.aclose_forcefully(stream)

    def _admits(self, address: Multiaddr) -> bool:
        slots = self._settings.in_peers + self._settings.in_peers_light + self._settings.out_peers
        crowded = address.is_global and self._per_address[_origin(address)] >= MAX_PER_ADDRESS
        return self._pending < MAX_PENDING and len(self.peers) < slots + SPARE_CONNECTIONS and not crowded

    @contextmanager
    def _counted(self, origin: str) -> Iterator[None]:
        """Count a stranger's connection, from before it is secured, with the others from there."""
        self._per_address[origin] += 1
        try:
            yield
        finally:
            self._per_address[origin] -= 1
            self._per_address += Counter()  # drops what is at zero

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
            await self._secure(stream, address, inbound=False, expected=expected, started=started)
        except DialError:
            if not told:
                raise
        finally:
            await trio.aclose_forcefully(stream)

    async def _secure(
        self,
        stream: trio.abc.Stream,
        address: Multiaddr,
        *,
        inbound: bool,
        expected: bytes | None = None,
        started: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        """Secure the stream and serve the connection to its end; DialError where it comes to none."""
        self._pending += 1
        try:
            with trio.fail_after(SET_UP):
                stream = await transport.with_layers(stream, address, dialed=not inbound)
                secured = await upgrade(stream, self._identity, dialer=not inbound, expected=expected)
        except trio.TooSlowError:
            raise DialError(f"{address}: the connection was not secured within {SET_UP:.0f} s") from None
        except (RemoteError, trio.BrokenResourceError) as error:
            raise DialError(f"{address}: {error}") from error
        finally:
            self._pending -= 1
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
        identity = connection.peer_id
        if identity == self._own:
            raise DialError(f"{connection.address}: that is this node itself")
        if self._standing.banned(identity, trio.current_time()):
            raise DialError(f"{identity} is banned for a while")
        if self._settings.reserved_only and identity not in self._reserved:
            raise DialError(f"{identity} is not a reserved node")
        old = self.peers.get(identity)
        if old is not None and not _outlives(connection, old.connection, self._identity.public):
            raise DialError(f"{identity} is connected already")
        if old is not None:
            old.connection.close("replaced by a newer connection")
            self._let_go(old.connection)
        self.peers[identity] = Peer(connection)

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
                self._standing.report(connection.peer_id, change, trio.current_time())
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


def _origin(address: Multiaddr) -> str:
    """Whose address is it? Of IPv6 the first half tells: whoever has that has all the rest."""
    kind, host = address.parts[0]
    return str(IPv6Network((host, 64), strict=False)) if kind == "ip6" else host


def _outlives(new: Connection, old: Connection, own: bytes) -> bool:
    """Which of two connections with a peer stays? Both sides must decide alike.

    Two in the same direction: the newer, since the peer has started anew. Two that crossed: the one that the
    node with the smaller key dialed.
    """
    return new.inbound == old.inbound or new.inbound == (new.remote < own)
