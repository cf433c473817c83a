"""Source of the swap service on a development node: the index of swap events, and the node's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cfnode.core.addresses import BitcoinNetwork
from cfnode.core.jsonrpc import RpcError
from cfnode.core.runtime_names import RuntimeNames, names_of
from cfnode.core.scale.metadata import Metadata
from cfnode.devchain.swaps.broker import DefaultBroker
from cfnode.devchain.swaps.index import SwapIndex
from cfnode.rpc.cf.method import value
from cfnode.rpc.table.errors import explain
from cfnode.rpc.table.runtime_names import names_at
from cfnode.swap_service.source import ApiCall
from cfnode.swaps.events import KEY
from cfnode.swaps.fate import key_change
from cfnode.swaps.identity import ChannelId, Place
from cfnode.swaps.record import AnnouncedDeposit, Entry, SwapRecord

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["DevSwapSource", "Development"]

T = TypeVar("T")


class Development(Protocol):
    """The development chain, as far as the service uses it."""

    @property
    def swaps(self) -> SwapIndex:
        """The index of its swaps' events."""
        ...

    @property
    def announced(self) -> Mapping[Any, AnnouncedDeposit]:
        """Unconfirmed deposits, by deposit address in the events' format."""
        ...

    async def fund_account(self, account: bytes, amount: int) -> object:
        """Give an account FLIP (smallest unit)."""
        ...


class DevSwapSource:
    """The swaps of a development node; `cfnode.swap_service.source.SwapSource`."""

    def __init__(self, node: Node, chain: Development) -> None:
        self._node = node
        self._chain = chain
        self._broker = DefaultBroker(node, chain.fund_account)

    @property
    def broker(self) -> DefaultBroker:
        """The service's own account."""
        return self._broker

    async def best(self) -> _Best:
        """Return the chain at its best block."""
        block = self._node.chain.best.hash
        return _Best(self._node, block, await names_at(self._node, block))

    async def read(self, look: Callable[[SwapRecord], T]) -> T:
        """Return what `look` finds in the record after the best block has been indexed."""
        await self._chain.swaps.up_to_date()
        best_hash = self._node.chain.best.hash
        metadata = (await self._node.chain.runtime_at(best_hash)).metadata
        return look(_IndexedSwaps(self._node, best_hash, metadata, self._chain, self._broker.expected))

    def fault(self, error: Exception, path: str) -> tuple[int, str]:
        """Return the HTTP status and text of an error; an unforeseen exception is logged, as in JSON-RPC."""
        refused = error if isinstance(error, RpcError) else explain(error, path)
        return 500, refused.message


@dataclass(frozen=True, slots=True)
class _Best:
    node: Node
    block: bytes
    names: RuntimeNames

    async def value(self, function: str, /, **arguments: Any) -> Any:
        return await value(self.node, self.block, function, **arguments)

    async def values(self, *calls: ApiCall) -> list[Any]:
        return [await self.value(function, **arguments) for function, arguments in calls]


@dataclass(frozen=True, slots=True)
class _IndexedSwaps:
    """The index at the best block."""

    node: Node
    block: bytes
    metadata: Metadata
    chain: Development
    amounts: Mapping[ChannelId, int]

    @property
    def network(self) -> BitcoinNetwork:
        return self.chain.swaps.network

    @property
    def chains(self) -> tuple[str, ...]:
        return names_of(self.metadata.registry).chains

    @property
    def now(self) -> int:
        return int.from_bytes(self._stored("Timestamp", "Now") or b"", "little")

    def find(self, *key: Any) -> list[Entry]:
        return self.chain.swaps.find(*key)

    def height(self, chain: str) -> int:
        pallet, item = f"{chain}ChainTracking", "CurrentChainState"
        data = self._stored(pallet, item)
        if data is None:
            return 0
        height: int = self.metadata.storage_codec(pallet, item).decode(data)["block_height"]
        return height

    def key_change(self) -> Place | None:
        return key_change((entry.place, entry.name) for entry in self.chain.swaps.find(*KEY))

    def error(self, entry: Entry) -> tuple[str, str]:
        reason = entry.fields["reason"]
        if not (isinstance(reason, tuple) and reason[0] == "Module"):
            return "Unknown", ""
        _, name, docs = self.metadata.error(reason[1]["index"], reason[1]["error"])
        return name, docs

    def announced(self, address: Any) -> AnnouncedDeposit | None:
        return self.chain.announced.get(address)

    def expected(self, channel: ChannelId) -> int | None:
        return self.amounts.get(channel)

    def _stored(self, pallet: str, item: str) -> bytes | None:
        with self.node.chain.state(self.block) as state:
            return state.get(self.metadata.storage_key(pallet, item))
