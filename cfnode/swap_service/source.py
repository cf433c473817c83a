"""What does the swap service need beside a node? The swaps of the chain, and an account that can pay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cfnode.swap_service.index import SwapIndex

__all__ = ["AnnouncedDeposit", "SwapSource"]


class AnnouncedDeposit(Protocol):
    """A deposit that other chains have not confirmed: its amount (smallest unit) and, if known, its hash."""

    @property
    def amount(self) -> int: ...

    @property
    def transaction(self) -> bytes | None: ...


class SwapSource(Protocol):
    """A chain whose swaps the service reports."""

    @property
    def swaps(self) -> SwapIndex:
        """The events of its swaps."""
        ...

    @property
    def announced(self) -> Mapping[Any, AnnouncedDeposit]:
        """Deposits not yet confirmed, by deposit address as events have it."""
        ...

    async def fund_account(self, account: bytes, amount: int) -> object:
        """Give an account FLIP (smallest unit)."""
        ...
