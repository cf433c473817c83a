"""The `archive_v1_*` methods: any block and any state of the past.

The node has them only if it prunes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from cfnode.rpc.table.blocks import ask_runtime
from cfnode.rpc.table.convert import HASH, TEXT, U64, to_hex
from cfnode.rpc.table.errors import one_line
from cfnode.rpc.table.rows import Method, Param, Subscription
from cfnode.rpc.v1.chain_spec import genesis_hash
from cfnode.rpc.v1.parameters import HEX, KEY_READER, InvalidParameter, archive_error, bytes_of
from cfnode.rpc.v1.queries import BEGINNING, QUERIES, Place, QueryItems, archive_queries, page_from
from cfnode.rpc.v1.storage_diff import ITEMS, differences_between, items_of
from cfnode.runtime.calls import Verdict

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_ARCHIVE_STREAMS: Final = 16
"""Concurrent reads of each kind on one connection."""


def body(node: Node, block: bytes) -> list[str] | None:
    """Return the extrinsics of a block, null if it is unknown."""
    extrinsics = node.chain.body(block)
    return None if extrinsics is None else [to_hex(extrinsic) for extrinsic in extrinsics]


def header(node: Node, block: bytes) -> str | None:
    """Return the SCALE header of a block, null if it is unknown."""
    block_header = node.chain.header(block)
    return None if block_header is None else to_hex(block_header.encode())


def hashes(node: Node, height: int) -> list[str]:
    """Return the final block at a height; above the last final block, all known blocks of that height."""
    if height > node.chain.finalized.number:
        return [to_hex(block.hash) for block, _ in node.chain.unfinalized() if block.number == height]
    block_hash = node.chain.hash_at(height)
    return [] if block_hash is None else [to_hex(block_hash)]


def finalized_height(node: Node) -> int:
    """Return the number of the last final block."""
    return node.chain.finalized.number


async def call(node: Node, block: bytes, function: str, parameters: str) -> dict[str, Any] | None:
    """Return the output or the error of a runtime call; null if the block is unknown."""
    try:
        data = bytes_of(parameters)
    except InvalidParameter as error:
        raise archive_error(error) from None
    if node.chain.header(block) is None:
        return None
    try:
        output = await ask_runtime(node, block, function, data)
    except (Verdict, LookupError) as error:
        return {"success": False, "error": one_line(error, "archive_v1_call")}
    return {"success": True, "value": to_hex(output)}


async def storage(
    node: Node, block: bytes, asked: QueryItems, child: str | None
) -> AsyncGenerator[dict[str, str], None]:
    """Read a block's state: events `storage`, then `storageDone`."""
    return _storage(node, block, asked, child or "")


async def _storage(
    node: Node, block: bytes, asked: QueryItems, child_trie: str
) -> AsyncGenerator[dict[str, str], None]:
    place: Place | None = BEGINNING
    try:
        queries, child = archive_queries(asked), bytes_of(child_trie)
        while place is not None:
            page = await page_from(node, block, queries, child, place)
            place = page.following
            for row in page.rows:
                yield {"event": "storage", **row}
    except InvalidParameter as error:
        yield {"event": "storageError", "error": str(error)}
    except LookupError as error:
        yield {"event": "storageError", "error": one_line(error, "archive_v1_storage")}
    else:
        yield {"event": "storageDone"}


async def storage_diff(
    node: Node, block: bytes, asked: list[dict[str, Any]] | None, previous: bytes | None
) -> AsyncGenerator[dict[str, str], None]:
    """Send state changes since a block (default: parent): events `storageDiff`, then `storageDiffDone`."""
    return _storage_diff(node, block, asked, previous)


async def _storage_diff(
    node: Node, block: bytes, asked: list[dict[str, Any]] | None, previous: bytes | None
) -> AsyncGenerator[dict[str, str], None]:
    header = node.chain.header(block)
    earlier = header.parent_hash if header is not None and previous is None else previous
    if header is None or earlier is None or not node.chain.is_ancestor(earlier, block):
        text = f"{to_hex(earlier or block)} is not a block before {to_hex(block)}"
        yield {"event": "storageDiffError", "error": text}
        return
    try:
        async with aclosing(differences_between(node, earlier, block, items_of(asked))) as rows:
            async for row in rows:
                yield {"event": "storageDiff", **row}
    except InvalidParameter as error:
        yield {"event": "storageDiffError", "error": str(error)}
    except LookupError as error:
        yield {"event": "storageDiffError", "error": one_line(error, "archive_v1_storageDiff")}
    else:
        yield {"event": "storageDiffDone"}


BLOCK: Final = Param("hash", HASH)

METHODS: Final = (
    Method("archive_v1_body", body, params=(BLOCK,)),
    Method("archive_v1_header", header, params=(BLOCK,)),
    Method("archive_v1_hashByHeight", hashes, params=(Param("height", U64),)),
    Method("archive_v1_finalizedHeight", finalized_height),
    Method("archive_v1_genesisHash", genesis_hash),
    Method(
        "archive_v1_call",
        call,
        params=(BLOCK, Param("function", TEXT), Param("call_parameters", HEX)),
    ),
    Subscription(
        "archive_v1_storage",
        storage,
        notification="archive_v1_storageEvent",
        unsubscribe="archive_v1_stopStorage",
        params=(BLOCK, Param("items", QUERIES), Param("child_trie", KEY_READER, optional=True)),
        patient=True,
        max_per_connection=MAX_ARCHIVE_STREAMS,
    ),
    Subscription(
        "archive_v1_storageDiff",
        storage_diff,
        notification="archive_v1_storageDiffEvent",
        unsubscribe="archive_v1_storageDiff_stopStorageDiff",
        unsubscribe_aliases=("archive_v1_stopStorageDiff",),
        params=(
            BLOCK,
            Param("items", ITEMS, optional=True),
            Param("previous_hash", HASH, optional=True),
        ),
        patient=True,
        max_per_connection=MAX_ARCHIVE_STREAMS,
    ),
)
