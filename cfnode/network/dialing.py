"""Whom do we call now, and whom could we not reach?

Reserved nodes always; others while outgoing slots are free, each at most so often as its failures allow, or
as somebody who is alone has to.
Meanwhile connected peers are asked for more nodes, the less often the less they know.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container

import trio

from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.discovery import Ask, Discovery
from cfnode.network.peer_store import PeerStore
from cfnode.network.settings import Settings
from cfnode.network.transport import DialError

__all__ = ["Dialing"]

log = logging.getLogger("cfnode.sub-libp2p")

UPKEEP = 5.0
MAX_DIALS = 8
CALL = 30.0
"""Seconds over all addresses of one node: strangers name ten of them."""
MAX_UNREACHABLE = 64
LOOK_FIRST, LOOK_LAST = 5.0, 120.0

Dial = Callable[[Multiaddr], Awaitable[object]]
"""Connect to the address; raises DialError."""


class Dialing:
    """The calls of one node. `reserved` and `connected` are live views of who is; `alone`: does nobody take
    part with us?
    """

    def __init__(
        self, settings: Settings, discovery: Discovery, standing: PeerStore,
        *, reserved: Container[str], connected: Container[str], alone: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.unreachable: dict[str, str] = {}
        """Nodes we could not reach at the last try, and why."""
        self._settings, self._discovery, self._standing = settings, discovery, standing
        self._reserved, self._connected, self._alone = reserved, connected, alone
        self._under_way: set[str] = set()
        self._soon = trio.Event()

    def now(self) -> None:
        """Something has changed: look at once whom to call."""
        self._soon.set()

    def reached(self, identity: str) -> None:
        """The node is connected, whoever called."""
        self.unreachable.pop(identity, None)

    async def run(self, dial: Dial, free_slots: Callable[[], int], upkeep: Callable[[], None]) -> None:
        """Call whom we want until cancelled; `upkeep` is done before each look."""
        async with trio.open_nursery() as nursery:
            while True:
                self._soon = trio.Event()
                upkeep()
                for identity in self._wanted(free_slots()):
                    self._under_way.add(identity)
                    nursery.start_soon(self._call, identity, dial)
                with trio.move_on_after(UPKEEP):
                    await self._soon.wait()

    async def look_around(self, connected: Callable[[], list[str]], ask: Ask) -> None:
        """Ask for more nodes until cancelled."""
        pause = LOOK_FIRST
        while not self._settings.reserved_only:
            await trio.sleep(pause)
            found = await self._discovery.look_around(connected(), ask)
            pause = LOOK_FIRST if found else min(LOOK_LAST, pause * 2)
            if found:
                self.now()

    def knows_more(self) -> bool:
        """Is there a node that could be called now?"""
        return not self._settings.reserved_only and any(map(self._may_call, self._discovery.candidates()))

    def _wanted(self, free_slots: int) -> list[str]:
        free, most = free_slots - len(self._under_way), MAX_DIALS - len(self._under_way)
        wanted: list[str] = []
        for identity in self._discovery.candidates():
            reserved = identity in self._reserved
            allowed = reserved or (len(wanted) < free and not self._settings.reserved_only)
            if allowed and len(wanted) < most and self._may_call(identity):
                wanted.append(identity)
        return wanted

    def _may_call(self, identity: str) -> bool:
        known = identity in self._connected or identity in self._under_way
        return not known and self._standing.may_dial(identity, trio.current_time(), alone=self._alone())

    async def _call(self, identity: str, dial: Dial) -> None:
        reasons: list[str] = []
        try:
            with trio.move_on_after(CALL):
                if await self._reached(identity, dial, reasons):
                    return
            self._failed(identity, "; ".join(reasons) or "no address of it is known")
        finally:
            self._under_way.discard(identity)

    async def _reached(self, identity: str, dial: Dial, reasons: list[str]) -> bool:
        """Try one address after the other; False where none leads to the node, with the reasons."""
        for address in self._discovery.addresses(identity):
            try:
                await dial(address.with_peer(identity))
                return True
            except DialError as error:
                reasons.append(str(error))
        return False

    def _failed(self, identity: str, reason: str) -> None:
        wait = self._standing.dials.failed(identity, trio.current_time(), alone=self._alone())
        self._discovery.forget(identity)
        log.info("Cannot reach %s, next try in %.0f s: %s", identity, wait, reason)
        self.unreachable.pop(identity, None)
        self.unreachable[identity] = reason
        if len(self.unreachable) > MAX_UNREACHABLE:
            del self.unreachable[next(iter(self.unreachable))]
