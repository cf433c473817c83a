"""Dialing: which nodes are dialed when, and the nodes that could not be reached.

Reserved nodes are always dialed; others while outgoing slots are free, each as often as its failures allow,
or more often while this node is isolated. Meanwhile the node asks connected peers for more nodes, less often
while they name no new ones.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.discovery import Ask, Discovery
from cfnode.network.peer_store import PeerStore
from cfnode.network.settings import NetworkSettings
from cfnode.network.transport import DialError

__all__ = ["Dialing"]

log = logging.getLogger("cfnode.sub-libp2p")

UPKEEP_INTERVAL = 5.0
MAX_DIALS = 8
NODE_TIMEOUT = 30.0
"""Seconds over all addresses of one node; other peers may name ten of them."""
MAX_UNREACHABLE = 64
MIN_DISCOVERY_PAUSE, MAX_DISCOVERY_PAUSE = 5.0, 120.0

Dial = Callable[[Multiaddr], Awaitable[object]]
"""A function that connects to the address; it raises DialError."""


class Dialing:
    """The dials of one node.

    `reserved`, `connected`: live views. `isolated`: whether the node has no peer.
    """

    def __init__(
        self, settings: NetworkSettings, discovery: Discovery, peer_store: PeerStore,
        *, reserved: Container[str], connected: Container[str], isolated: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.unreachable = BoundedDict[str, str](MAX_UNREACHABLE)
        """Nodes that could not be reached at the last attempt, and the reasons."""
        self._settings, self._discovery, self._peer_store = settings, discovery, peer_store
        self._reserved, self._connected, self._isolated = reserved, connected, isolated
        self._under_way: set[str] = set()
        self._wake = trio.Event()

    def wake(self) -> None:
        """Check at once which nodes to dial, after a change."""
        self._wake.set()

    def reached(self, identity: str) -> None:
        """Record that a node is connected, in either direction."""
        self.unreachable.pop(identity, None)

    async def run(self, dial: Dial, free_slots: Callable[[], int], upkeep: Callable[[], None]) -> None:
        """Dial wanted nodes until cancelled; call `upkeep` before each check."""
        async with trio.open_nursery() as nursery:
            while True:
                self._wake = trio.Event()
                upkeep()
                for identity in self._wanted(free_slots()):
                    self._under_way.add(identity)
                    nursery.start_soon(self._dial, identity, dial)
                with trio.move_on_after(UPKEEP_INTERVAL):
                    await self._wake.wait()

    async def discover(self, connected: Callable[[], list[str]], ask: Ask) -> None:
        """Ask connected peers for more nodes until cancelled."""
        pause = MIN_DISCOVERY_PAUSE
        while not self._settings.reserved_only:
            await trio.sleep(pause)
            discovered = await self._discovery.discover(connected(), ask)
            pause = MIN_DISCOVERY_PAUSE if discovered else min(MAX_DISCOVERY_PAUSE, pause * 2)
            if discovered:
                self.wake()

    def has_candidates(self) -> bool:
        """Return whether there is a node that could be dialed now."""
        return not self._settings.reserved_only and any(map(self._may_dial, self._discovery.candidates()))

    def _wanted(self, free_slots: int) -> list[str]:
        free, limit = free_slots - len(self._under_way), MAX_DIALS - len(self._under_way)
        identities: list[str] = []
        for identity in self._discovery.candidates():
            reserved = identity in self._reserved
            allowed = reserved or (len(identities) < free and not self._settings.reserved_only)
            if allowed and len(identities) < limit and self._may_dial(identity):
                identities.append(identity)
        return identities

    def _may_dial(self, identity: str) -> bool:
        is_dialed = identity in self._connected or identity in self._under_way
        now, isolated = trio.current_time(), self._isolated()
        return not is_dialed and self._peer_store.may_dial(identity, now, isolated=isolated)

    async def _dial(self, identity: str, dial: Dial) -> None:
        reasons: list[str] = []
        try:
            with trio.move_on_after(NODE_TIMEOUT):
                if await self._dial_addresses(identity, dial, reasons):
                    return
            self._failed(identity, "; ".join(reasons) or "no address of it is known")
        finally:
            self._under_way.discard(identity)

    async def _dial_addresses(self, identity: str, dial: Dial, reasons: list[str]) -> bool:
        """Try one address after the other; if all fail, return False and add to `reasons`."""
        for address in self._discovery.addresses(identity):
            try:
                await dial(address.with_peer(identity))
                return True
            except DialError as error:
                reasons.append(str(error))
        return False

    def _failed(self, identity: str, reason: str) -> None:
        wait = self._peer_store.dials.failed(identity, trio.current_time(), isolated=self._isolated())
        self._discovery.forget(identity)
        log.info("Cannot reach %s, next try in %.0f s: %s", identity, wait, reason)
        self.unreachable.put_last(identity, reason)
