"""Record of a chain's swaps at one block: the events of a swap, found by its ids.

The interface between the rules and what keeps the events. There are two records: the index of a development
node (`cfnode.devchain.swaps`), and the books (`cfnode.swap_service.live_network`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cfnode.core.addresses import BitcoinNetwork
from cfnode.core.block import BlockRef
from cfnode.swaps.events import chain_of
from cfnode.swaps.identity import ChannelId, Place

__all__ = ["AnnouncedDeposit", "Entry", "SwapRecord"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Event of a swap. `time` is the block's, Unix ms; `index` is that among the block's events."""

    block: BlockRef
    time: int
    index: int
    pallet: str
    name: str
    fields: dict[str, Any]

    @property
    def place(self) -> Place:
        """Block and event index."""
        return self.block.number, self.index

    @property
    def block_index(self) -> str:
        """Block number and event index in the swap service's format."""
        return f"{self.block.number}-{self.index}"

    @property
    def chain(self) -> str:
        """The foreign chain whose pallet emitted the event; "" for other pallets."""
        return chain_of(self.pallet)


class AnnouncedDeposit(Protocol):
    """Deposit that its chain has not confirmed yet: the amount (smallest unit) and, if known, the hash."""

    @property
    def amount(self) -> int:
        """The amount in base units."""

    @property
    def transaction(self) -> bytes | None:
        """The hash of the transaction, or None if it is not known."""


class SwapRecord(Protocol):
    """Swaps of the chain at one block, which all reads of a status see."""

    @property
    def network(self) -> BitcoinNetwork:
        """The network that addresses belong to."""
        ...

    @property
    def chains(self) -> tuple[str, ...]:
        """The foreign chains."""
        ...

    @property
    def now(self) -> int:
        """The time of the block, Unix ms."""
        ...

    def find(self, *key: Any) -> list[Entry]:
        """Return the events with a key (one of a swap's names, and its parts), oldest first."""
        ...

    def height(self, chain: str) -> int:
        """Return the last witnessed block of a foreign chain; 0 if it is unknown."""
        ...

    def key_change(self) -> Place | None:
        """Return the place from which on the present key of the vaults may have signed.

        Returns None if no rotation is known.
        """
        ...

    def error(self, entry: Entry) -> tuple[str, str]:
        """Return name and explanation of the module error in an event's `reason`."""
        ...

    def announced(self, address: Any) -> AnnouncedDeposit | None:
        """Return the unconfirmed deposit to an address in the events' format; None without one."""
        ...

    def expected(self, channel: ChannelId) -> int | None:
        """Return the amount that was expected on a channel of this service; None without one."""
        ...
