"""The differences between the states of two blocks, page by page (archive_v1_storageDiff)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.hashing import blake2_256
from cfnode.core.state import TOP, BlockState
from cfnode.core.trie import Change, NodeReader, differences
from cfnode.node.threads import read_in_thread
from cfnode.rpc.substrate.storage import CLIENT_READS
from cfnode.rpc.table.convert import listed, to_hex
from cfnode.rpc.table.rows import Reader
from cfnode.rpc.table.serde_types import SerdeStruct, enum
from cfnode.rpc.v1.parameters import bytes_of, read_key_text
from cfnode.rpc.v1.queries import HASH, PAGE_BYTES, QUERY_PAGE_ROWS, VALUE, Row

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_DIFF_ITEMS: Final = 256


@dataclass(frozen=True, slots=True)
class DiffItem:
    """A part of the state to compare: the keys with a prefix, of the top trie or of a child trie."""

    prefix: bytes = b""
    kind: str = VALUE
    child: bytes = TOP

    def covers(self, key: bytes, other: DiffItem) -> bool:
        """Return whether this item has a row for a key of `other`, too."""
        return (self.child, self.kind) == (other.child, other.kind) and key.startswith(self.prefix)


@dataclass(frozen=True, slots=True)
class DiffPage:
    """Rows of a part of the differences, with their keys, and the key after which the next page begins."""

    rows: list[tuple[bytes, Row]]
    reached: bytes | None
    is_last: bool = False


_ITEM: Final = SerdeStruct(
    "struct ArchiveStorageDiffItem",
    {
        "key": (read_key_text, True),
        "returnType": (enum("ArchiveStorageDiffType", dict.fromkeys((VALUE, HASH))), False),
        "childTrieKey": (read_key_text, True),
    },
)


ITEMS: Final = listed(Reader("{key?, returnType, childTrieKey?}", _ITEM), MAX_DIFF_ITEMS)


def items_of(asked: Sequence[dict[str, Any]] | None) -> list[DiffItem]:
    """Parse items whose keys are texts; without items, one item for all keys. Raises InvalidParameter."""
    items = [
        DiffItem(bytes_of(item["key"] or ""), item["returnType"], bytes_of(item["childTrieKey"] or ""))
        for item in asked or ()
    ]
    return items or [DiffItem()]


async def differences_between(
    node: Node, earlier: bytes, later: bytes, items: Sequence[DiffItem]
) -> AsyncGenerator[Row, None]:
    """Yield each key that differs, once for each kind of row.

    Raises UnknownBlock or StateDiscarded.
    """
    for index, item in enumerate(items):
        page = DiffPage([], None)
        while not page.is_last:
            async with CLIENT_READS.of(node):
                page = await read_in_thread(_page, node, earlier, later, item, page.reached)
            for key, row in page.rows:
                if not any(before.covers(key, item) for before in items[:index]):
                    yield row


def _page(node: Node, earlier: bytes, later: bytes, item: DiffItem, after: bytes | None) -> DiffPage:
    rows: list[tuple[bytes, Row]] = []
    weight = 0
    with node.chain.state(earlier) as old, node.chain.state(later) as new:
        for key, change in differences(_nodes(old, item.child), _nodes(new, item.child), item.prefix, after):
            row = _row(old, new, item, key, change)
            rows.append((key, row))
            weight += len(row[item.kind]) // 2
            if len(rows) >= QUERY_PAGE_ROWS or weight >= PAGE_BYTES:
                return DiffPage(rows, key)
    return DiffPage(rows, None, is_last=True)


def _nodes(state: BlockState, child: bytes) -> NodeReader:
    return lambda path: state.node(path, child)


def _row(old: BlockState, new: BlockState, item: DiffItem, key: bytes, change: Change) -> Row:
    """Return the row of a key that differs; that of a deleted key has its old value."""
    value = (old if change is Change.DELETED else new).get(key, item.child) or b""
    text = to_hex(value if item.kind == VALUE else blake2_256(value))
    row = {"key": to_hex(key), item.kind: text, "type": change.value}
    return row if item.child == TOP else {**row, "childTrieKey": to_hex(item.child)}
