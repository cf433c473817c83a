"""What does the swap service need besides a node? The swaps of the chain, and a source of funds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cfnode.swap_service.index import SwapIndex

__all__ = ["AnnouncedDeposit", "SwapSource"]


class AnnouncedDeposit(Protocol):
    """A deposit that its chain has not confirmed yet: the amount (smallest unit) and, if known, the hash."""

    @property
    def amount(self) -> int: ...

    @property
    def transaction(self) -> bytes | None: ...


class SwapSource(Protocol):
    """The development chain, as far as the service uses it."""

    @property
    def swaps(self) -> SwapIndex:
        """The events of its swaps."""
        ...

    @property
    def announced(self) -> Mapping[Any, AnnouncedDeposit]:
        """Unconfirmed deposits, by deposit address in the events' format."""
        ...

    async def fund_account(self, account: bytes, amount: int) -> object:
        """Give an account FLIP (smallest unit)."""
        ...
