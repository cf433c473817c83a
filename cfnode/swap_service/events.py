"""Events of the chain that are about a swap, as the sources return them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.block import BlockRef
from cfnode.swaps.events import chain_of
from cfnode.swaps.identity import Place

__all__ = ["Entry"]


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
