"""Methods of the new JSON-RPC interface of Substrate chains: chainSpec, transactionWatch, archive.

(paritytech.github.io/json-rpc-interface-spec.) `archive_v1_*` are there only where nothing is pruned. What
follows the head of the chain (`chainHead_v1_*`) is not served.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

from cfnode.node.pool_errors import PoolError
from cfnode.node.watchers import StatusKind, TxStatus
from cfnode.rpc.blocks import ask_runtime
from cfnode.rpc.convert import BYTES, HASH, TEXT, U32, to_hex
from cfnode.rpc.table import Method, Param, Subscription
from cfnode.runtime.door import DoorError

if TYPE_CHECKING:
    from cfnode.node.node import Node


# chainSpec


def chain_name(node: Node) -> str:
    """The chain's name."""
    return node.spec.name


def genesis_hash(node: Node) -> str:
    """The hash of block 0."""
    return to_hex(node.chain.genesis_hash)


def properties(node: Node) -> dict[str, Any]:
    """What wallets want to know of the chain."""
    return dict(node.spec.properties)


# transactionWatch

_ENDINGS: Final = {
    StatusKind.FINALITY_TIMEOUT: ("dropped", "Maximum number of finality watchers has been reached"),
    StatusKind.USURPED: ("invalid", "Extrinsic was rendered invalid by another extrinsic"),
    StatusKind.DROPPED: ("dropped", "Extrinsic dropped from the pool due to exceeding limits"),
    StatusKind.INVALID: ("invalid", "Extrinsic marked as invalid"),
}


async def watch(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    """Put a signed extrinsic into the pool and follow it; a refusal is its only event."""
    return _events(node, extrinsic)


async def _events(node: Node, extrinsic: bytes) -> AsyncGenerator[Any, None]:
    try:
        watched = await node.pool.submit_and_watch(extrinsic)
    except PoolError as error:
        yield {"event": "invalid", "error": str(error)}
        return
    with watched.statuses as statuses:
        async for status in statuses:
            event = event_json(status)
            if event is not None:
                yield event


def event_json(status: TxStatus) -> dict[str, Any] | None:
    """A status as an event of the new interface; some have none."""
    if status.kind in (StatusKind.FUTURE, StatusKind.READY):
        return {"event": "validated"}
    if status.kind is StatusKind.IN_BLOCK:
        return {"event": "bestChainBlockIncluded", "block": _place(status)}
    if status.kind is StatusKind.RETRACTED:
        return {"event": "bestChainBlockIncluded", "block": None}
    if status.kind is StatusKind.FINALIZED:
        return {"event": "finalized", "block": _place(status)}
    if status.kind in _ENDINGS:
        event, error = _ENDINGS[status.kind]
        return {"event": event, "error": error}
    return None


def _place(status: TxStatus) -> dict[str, Any]:
    return {"hash": to_hex(status.hash or b""), "index": status.index}


# archive


def archive_body(node: Node, block: bytes) -> list[str] | None:
    """The extrinsics of a block, null if it is unknown."""
    body = node.chain.body(block)
    return None if body is None else [to_hex(extrinsic) for extrinsic in body]


def archive_header(node: Node, block: bytes) -> str | None:
    """The SCALE header of a block, null if it is unknown."""
    header = node.chain.header(block)
    return None if header is None else to_hex(header.encode())


def archive_hashes(node: Node, height: int) -> list[str]:
    """The hash of the best chain's block at a height; none above it."""
    found = node.chain.hash_at(height)
    return [] if found is None else [to_hex(found)]


def archive_finalized_height(node: Node) -> int:
    """The number of the last final block."""
    return node.chain.finalized.number


async def archive_call(node: Node, block: bytes, function: str, data: bytes) -> dict[str, Any] | None:
    """The output of a runtime call, or why there is none; null if the block is unknown."""
    if node.chain.header(block) is None:
        return None
    try:
        output = await ask_runtime(node, block, function, data)
    except DoorError as error:
        return {"success": False, "error": str(error)}
    return {"success": True, "value": to_hex(output)}


BLOCK: Final = Param("hash", HASH)

METHODS: Final = (
    Method("chainSpec_v1_chainName", chain_name),
    Method("chainSpec_v1_genesisHash", genesis_hash),
    Method("chainSpec_v1_properties", properties),
    Subscription(
        "transactionWatch_v1_submitAndWatch",
        watch,
        notification="transactionWatch_v1_watchEvent",
        unsubscribe="transactionWatch_v1_unwatch",
        params=(Param("bytes", BYTES, also=("extrinsic",)),),
        submits=True,
    ),
)
ARCHIVE: Final = (
    Method("archive_v1_body", archive_body, params=(BLOCK,)),
    Method("archive_v1_header", archive_header, params=(BLOCK,)),
    Method("archive_v1_hashByHeight", archive_hashes, params=(Param("height", U32),)),
    Method("archive_v1_finalizedHeight", archive_finalized_height),
    Method("archive_v1_genesisHash", genesis_hash),
    Method(
        "archive_v1_call",
        archive_call,
        params=(BLOCK, Param("function", TEXT), Param("call_parameters", BYTES)),
    ),
)
