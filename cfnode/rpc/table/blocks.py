"""Blocks in JSON, and the block that a call without one means, for several namespaces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from cfnode.core import jsonrpc
from cfnode.core.block import BlockRef
from cfnode.core.bounded import BoundedDict
from cfnode.core.header import Header
from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.flow.fairness import FairLimiter
from cfnode.flow.shared_work import SharedWork
from cfnode.node.chain.events import BestChanged, BlocksFinalized, Imported
from cfnode.rpc.table.convert import HASH, to_hex
from cfnode.rpc.table.per_node import PerNode
from cfnode.rpc.table.rows import Param, SlowReader

if TYPE_CHECKING:
    from cfnode.node.node import Node

AT: Final = Param("at", HASH, optional=True, also=("hash",))
HASH_PARAM: Final = Param("hash", HASH, optional=True, also=("at",))

Key = TypeVar("Key")


class JsonCache(Generic[Key]):
    """A cache of encoded JSON: an answer or message for many clients is encoded once."""

    def __init__(self, capacity: int) -> None:
        self._texts: BoundedDict[Key, msgspec.Raw] = BoundedDict(capacity)
        self._making = SharedWork[Key, msgspec.Raw]()

    def get(self, key: Key, make: Callable[[], Any]) -> msgspec.Raw:
        """Return the cached JSON under `key`, otherwise that of `make()`."""
        text = self._texts.get(key)
        return self._keep(key, make()) if text is None else text

    async def wait(self, key: Key, make: Callable[[], Awaitable[Any]]) -> msgspec.Raw:
        """Return the cached JSON under `key`, otherwise that of the coroutine of `make()`.

        Concurrent callers wait for the one that is running.
        """

        async def made() -> msgspec.Raw:
            return self._keep(key, await make())

        text = self._texts.get(key)
        return await self._making.once(key, made) if text is None else text

    def _keep(self, key: Key, value: Any) -> msgspec.Raw:
        text = self._texts[key] = msgspec.Raw(jsonrpc.encode(value))
        return text


NO_PRESENT_STATE: Final = (
    "The node is syncing ({}): its best block is still the genesis block, which lacks today's accounts and "
    "balances; try again later (cfnode wait --synced), or name the block to ask about"
)
MAX_RUNTIME_CALLS: Final = 8
"""Runtime calls of all clients of a node that may be queued at its executor, which runs one at a time."""

CLIENT_CALLS: Final = PerNode(lambda: FairLimiter(MAX_RUNTIME_CALLS))
_HEADERS: Final = PerNode(lambda: JsonCache[bytes](256))


async def ask_runtime(node: Node, at: bytes | None, function: str, args: bytes) -> bytes:
    """Make a runtime call for a client; return its output.

    Only MAX_RUNTIME_CALLS are queued, so that blocks need not wait behind many.
    """
    async with CLIENT_CALLS.of(node):
        return await node.chain.queries.call(at_or_best(node, at), function, args)


Kind = type[BestChanged] | type[BlocksFinalized] | type[Imported]


async def blocks_of(node: Node, kind: Kind) -> AsyncGenerator[BlockRef, None]:
    """Yield the block that is best (or final) now, and then the blocks of each such event."""
    with node.chain.subscribe(only=kind) as events:
        yield node.chain.finalized if kind is BlocksFinalized else node.chain.best
        async for event in events:
            match event:
                case BestChanged():
                    yield event.new
                case Imported():
                    yield event.block
                case BlocksFinalized():
                    for block in event.blocks:
                        yield block
        raise SlowReader


def at_or_best(node: Node, at: bytes | None) -> bytes:
    """Return the block that `at` names, or the best one."""
    return node.chain.best.hash if at is None else at


def block_asked(node: Node, at: bytes | None) -> bytes:
    """Return the block that `at` names, or the best one, for a method about the chain's present.

    Such methods are about accounts, balances, channels and pools. Raises RpcError for the best block of a
    node that is syncing and has only the genesis state: by that state, a funded account is unregistered and
    empty. A client that names the genesis block gets its answer.
    """
    if at is None and node.chain.best.number == 0 and (phase := node.syncing) is not None:
        raise RpcError(ErrorCode.CALL_FAILED, NO_PRESENT_STATE.format(phase))
    return at_or_best(node, at)


def header_json(header: Header) -> dict[str, Any]:
    """Return a header as Substrate writes it; the number is hex."""
    return {
        "parentHash": to_hex(header.parent_hash),
        "number": hex(header.number),
        "stateRoot": to_hex(header.state_root),
        "extrinsicsRoot": to_hex(header.extrinsics_root),
        "digest": {"logs": [to_hex(item.encode()) for item in header.digest]},
    }


def header_text(node: Node, block_hash: bytes) -> msgspec.Raw | None:
    """Return a block's header as JSON text, None for an unknown block."""
    header = node.chain.header(block_hash)
    return None if header is None else _HEADERS.of(node).get(block_hash, lambda: header_json(header))
