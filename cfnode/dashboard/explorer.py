"""Blocks of a development chain: header, extrinsics and events, as the node has them now.

Unlike the books, the node has all events, and blocks that are not final yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.extrinsic import decode_extrinsic, extrinsic_hash
from cfnode.core.foreign import block_number, hex_bytes, whole_number
from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.ss58 import encode as account_text
from cfnode.dashboard.node import RpcNode
from cfnode.ledger.decoding import fields_text
from cfnode.ledger.errors import NodeError

__all__ = ["BlockLine", "BlockPage", "BlockPart", "Explorer"]

BLOCKS_PER_PAGE: Final = 25
"""Number of blocks of a page."""
MAX_LISTED_PARTS: Final = 2_000
"""Maximum extrinsics, or events, of a block that are listed."""
MAX_FIELDS_CHARS: Final = 20_000
"""Maximum characters of an event's fields."""
MAX_EXTRINSIC_BYTES: Final = 1_000_000
MAX_BLOCK_NUMBER_DIGITS: Final = 10
"""Maximum digits of the number of a block."""


@dataclass(frozen=True, slots=True)
class BlockLine:
    """Block in the list."""

    number: int
    hash: str
    extrinsics: int


@dataclass(frozen=True, slots=True)
class BlockPart:
    """Event or extrinsic: its name, fields (JSON), and for an extrinsic signer and hash."""

    index: int
    name: str
    fields: str
    signer: str | None = None
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class BlockPage:
    """Block with all its parts."""

    number: int
    hash: str
    parent: str
    state_root: str
    extrinsics: tuple[BlockPart, ...]
    events: tuple[BlockPart, ...]


class Explorer:
    """Reader of a node's blocks. Raises CallError, NodeError."""

    def __init__(self, node: RpcNode) -> None:
        self._node = node
        self._metadata = BoundedDict[int, Metadata](2)

    async def lines(self, before: int | None) -> list[BlockLine]:
        """Return blocks, the newest first; `before` is the last block number of the previous page."""
        with self._reading():
            return await self._lines(before)

    async def _lines(self, before: int | None) -> list[BlockLine]:
        best = block_number(await self._node.call("chain_getHeader"))
        newest = best if before is None else min(before - 1, best)
        lines = []
        for number in range(newest, max(newest - BLOCKS_PER_PAGE, -1), -1):
            block = await self._hash(number)
            if block is not None:
                lines.append(BlockLine(number, block, len((await self._block(block))["extrinsics"])))
        return lines

    async def page(self, key: str) -> BlockPage | None:
        """Return a block by its number or hash; None if it does not exist."""
        is_number = key.isascii() and key.isdigit() and len(key) <= MAX_BLOCK_NUMBER_DIGITS
        with self._reading():
            block = await self._hash(int(key)) if is_number else key
            return None if block is None else await self._page(block)

    async def _page(self, block: str) -> BlockPage | None:
        answer = await self._node.call("chain_getBlock", block)
        if answer is None:
            return None
        header, extrinsics = answer["block"]["header"], answer["block"]["extrinsics"][:MAX_LISTED_PARTS]
        events = (await self._node.call("dev_events", block))[:MAX_LISTED_PARTS]
        metadata = await self._metadata_at(header["parentHash"] if block_number(header) else block)
        return BlockPage(
            block_number(header),
            block,
            header["parentHash"],
            header["stateRoot"],
            tuple(_extrinsic(metadata, index, extrinsic) for index, extrinsic in enumerate(extrinsics)),
            tuple(_event(index, event) for index, event in enumerate(events)),
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Wrap the reading of an answer: one of an unexpected shape raises NodeError."""
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            text = f"{self._node.origin} sent a malformed block: is it a State Chain node?"
            raise NodeError(text) from None

    async def _hash(self, number: int) -> str | None:
        block_hash = await self._node.call("chain_getBlockHash", number)
        return block_hash if isinstance(block_hash, str) else None

    async def _block(self, block: str) -> dict[str, Any]:
        block_parts: dict[str, Any] = (await self._node.call("chain_getBlock", block))["block"]
        return block_parts

    async def _metadata_at(self, block: str) -> Metadata:
        """Return the metadata of the runtime that executed what follows a block."""
        version = whole_number((await self._node.call("state_getRuntimeVersion", block))["specVersion"], 32)
        if version not in self._metadata:
            data = await self._node.call("state_getMetadata", block)
            try:
                decoded = await trio.to_thread.run_sync(decode_metadata, hex_bytes(data))
            except ScaleError as error:
                raise NodeError(f"{self._node.origin} sent malformed metadata: {error}") from None
            self._metadata[version] = decoded
        return self._metadata[version]


def _event(index: int, event: dict[str, Any]) -> BlockPart:
    text = json.dumps(event["fields"], indent=2, ensure_ascii=False)
    return BlockPart(index, f"{event['pallet']}.{event['name']}", text[:MAX_FIELDS_CHARS])


def _extrinsic(metadata: Metadata, index: int, text: str) -> BlockPart:
    data = hex_bytes(text[: 2 * MAX_EXTRINSIC_BYTES])
    number = f"0x{extrinsic_hash(data).hex()}"
    try:
        extrinsic = decode_extrinsic(metadata, data)
    except ScaleError:
        return BlockPart(index, "unknown extrinsic", text[:MAX_FIELDS_CHARS], hash=number)
    pallet, call = extrinsic.call
    name, fields = (call, {}) if isinstance(call, str) else call
    signer = None
    if extrinsic.signed is not None and isinstance(extrinsic.signed.address, bytes):
        signer = account_text(extrinsic.signed.address)
    arguments = json.dumps(json.loads(fields_text(fields)), indent=2, ensure_ascii=False)
    return BlockPart(index, f"{pallet}.{name}", arguments[:MAX_FIELDS_CHARS], signer, number)
