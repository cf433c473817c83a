"""Record of the swaps in the books: one transaction of the database, from which a status is made."""

from __future__ import annotations

from typing import Any

from cfnode.core.addresses import BitcoinNetwork
from cfnode.core.assets import CHAINS
from cfnode.core.block import BlockRef
from cfnode.ledger.swap_events import SwapEvents
from cfnode.swap_service.events import Entry
from cfnode.swaps.identity import ChannelId, Place

__all__ = ["BookRecord"]


class BookRecord:
    """Books at their newest block; implements `cfnode.swap_service.source.SwapRecord`.

    Methods block: use a thread.
    """

    chains = tuple(CHAINS)

    def __init__(self, events: SwapEvents) -> None:
        self._events = events

    @property
    def network(self) -> BitcoinNetwork:
        """The network that addresses belong to."""
        return self._events.network

    @property
    def now(self) -> int:
        """The time of the newest block, Unix ms."""
        return self._events.now

    def find(self, *key: Any) -> list[Entry]:
        """Return the events with a key, oldest first."""
        return [
            Entry(
                BlockRef(bytes.fromhex(row.hash[2:]), row.block),
                row.time,
                row.index,
                row.pallet,
                row.name,
                row.fields,
            )
            for row in self._events.find(*key)
        ]

    def height(self, chain: str) -> int:
        """Return the last witnessed block of a foreign chain; 0 if it is unknown."""
        return self._events.height(chain)

    def key_change(self) -> Place | None:
        """Return the place from which on the present key of the vaults may have signed, or None."""
        return self._events.key_change()

    def error(self, entry: Entry) -> tuple[str, str]:
        """Return name and explanation of the module error in an event's `reason`.

        Returns ("Unknown", "") without one.
        """
        reason = entry.fields["reason"]
        if not (isinstance(reason, tuple) and reason[0] == "Module"):
            return "Unknown", ""
        return self._events.explanation(entry.block.number, entry.index)

    def announced(self, address: Any) -> None:
        """Return None: no event of a finalized block states an unconfirmed deposit."""

    def expected(self, channel: ChannelId) -> int | None:
        """Return the amount that was expected on a channel of this service; None without one."""
        return self._events.expected(channel)
