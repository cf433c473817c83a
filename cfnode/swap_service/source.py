"""Interface of the source from which the swap service answers.

There are two sources. One is a development node, in its own process (`cfnode.devchain.swaps`). The other is
any node by JSON-RPC, with the books (`cfnode.swap_service.live_network`). The handlers of requests know this
interface only; that of statuses is `cfnode.swaps.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from cfnode.core.runtime_names import RuntimeNames
from cfnode.swap_service.requests import SwapTerms
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.record import SwapRecord

__all__ = ["ApiCall", "BestBlock", "ChannelBroker", "OpenedChannel", "SwapSource"]

T = TypeVar("T")
ApiCall: TypeAlias = tuple[str, Mapping[str, Any]]
"""Method of the CustomRuntimeApi, and its arguments by name."""


class BestBlock(Protocol):
    """Chain at its best block, for quotes and limits."""

    @property
    def names(self) -> RuntimeNames:
        """Assets and chains of the block's runtime."""
        ...

    async def value(self, function: str, /, **arguments: Any) -> Any:
        """Return the decoded answer of a method of the CustomRuntimeApi. Raises ApiMissing, ApiRefused."""
        ...

    async def values(self, *calls: ApiCall) -> list[Any]:
        """Return the answers of several methods, in one exchange. Raises ApiMissing, ApiRefused."""
        ...


@dataclass(frozen=True, slots=True)
class OpenedChannel:
    """Open channel; `opened_at` is the time of its block, Unix ms, `address` is as text.

    `opening_fee` is in smallest units of FLIP.
    """

    address: str
    channel_id: int
    issued_block: int
    opened_at: int
    source_chain_expiry_block: int
    opening_fee: int

    def id(self, chain: str) -> ChannelId:
        """Return the identity of the channel on its chain."""
        return ChannelId(chain, self.channel_id, self.issued_block)


class ChannelBroker(Protocol):
    """Account in whose name channels are opened and vault swaps encoded. Methods raise Refusal."""

    async def open(self, terms: SwapTerms, expected: int) -> OpenedChannel:
        """Open a deposit channel, and store the expected amount."""
        ...

    async def encode(self, terms: SwapTerms, extra: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the transaction of a vault swap as JSON, with names in snake_case.

        `extra` has the shape of the runtime's parameters of the source chain.
        """
        ...

    async def encode_terms(self, terms: SwapTerms) -> str:
        """Return only the parameters of a vault swap, in hex."""
        ...


class SwapSource(Protocol):
    """Source of the swap service: a chain, its swaps, and an account that opens channels."""

    @property
    def broker(self) -> ChannelBroker:
        """The broker that opens channels."""

    async def best(self) -> BestBlock:
        """Return the chain at its best block."""
        ...

    async def read(self, look: Callable[[SwapRecord], T]) -> T:
        """Return what `look` finds in the newest record."""
        ...

    def fault(self, error: Exception, path: str) -> tuple[int, str]:
        """Return HTTP status and message of an unforeseen exception, and log it if it is a bug."""
        ...
