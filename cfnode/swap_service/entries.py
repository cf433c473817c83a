"""What is known of a swap? Events of the chain, found by the names that a swap has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.block import BlockRef
from cfnode.swaps.identity import Place

__all__ = ["BROADCASTER", "INGRESS", "Entry", "Key", "transactions_of"]

INGRESS, BROADCASTER = "IngressEgress", "Broadcaster"
_ENDS: Final = (INGRESS, BROADCASTER)

Key = tuple[Any, ...]
"""A name of a swap: ("channel", "Bitcoin", 7), ("request", 12), ("transaction", 32 bytes), …"""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a swap. `time` is the block's, Unix ms; `index` its place among the block's events."""

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
        """The foreign chain whose pallet emitted the event, "" for Swapping."""
        for end in _ENDS:
            if self.pallet.endswith(end):
                return self.pallet.removesuffix(end)
        return ""


def transactions_of(chain: str, details: Any) -> list[bytes]:
    """The hashes of a deposit's transactions, in the byte order of the chain itself."""
    if not isinstance(details, dict):
        return []
    if chain == "Bitcoin":
        return [details["id"]["tx_id"]]
    return list(details.get("tx_hashes") or ())
