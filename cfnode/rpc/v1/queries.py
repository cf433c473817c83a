"""Storage queries of the new interface, and their answers in pages.

chainHead_v1_storage and archive_v1_storage take the same queries: a value, its hash, all values or hashes
below a key, or the closest descendant's merkle value. Each page is read from one view of the state and
bounded in bytes, so that neither a view nor memory is held while a client reads slowly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, BlockState
from cfnode.core.trie import closest_merkle_value
from cfnode.core.trie.codec import EMPTY_NODE
from cfnode.rpc.substrate.storage import in_state, keys_after
from cfnode.rpc.table.convert import listed, to_hex
from cfnode.rpc.table.rows import Reader
from cfnode.rpc.table.serde_types import SerdeStruct, enum
from cfnode.rpc.v1.parameters import InvalidParameter, bytes_of, read_key_text

if TYPE_CHECKING:
    from cfnode.node.node import Node

QUERY_PAGE_ROWS: Final = 256
PAGE_BYTES: Final = 128 * 1024
"""Bytes of keys and values after which a page ends; one value alone may be longer."""
MAX_QUERY_ITEMS: Final = 1024

VALUE, HASH, CLOSEST = "value", "hash", "closestDescendantMerkleValue"
BELOW: Final = {"descendantsValues": VALUE, "descendantsHashes": HASH}
"""The queries about all keys below one, and the kind of answer for each key."""

Row = dict[str, str]
Place = tuple[int, bytes | None]
"""The beginning of the next page: a query, and the key after which to begin if rows of it were read."""
BEGINNING: Final[Place] = (0, None)


@dataclass(frozen=True, slots=True)
class Query:
    """One query; `start`: begin after this key."""

    key: bytes
    kind: str
    start: bytes | None = None


@dataclass(frozen=True, slots=True)
class QueryPage:
    """The rows of a part of an answer, and where the next page begins; None at the end."""

    rows: list[Row]
    following: Place | None

    @property
    def size(self) -> int:
        """The number of characters of keys and values."""
        return sum(len(text) for row in self.rows for text in row.values())


_QUERY: Final = SerdeStruct(
    "struct StorageQuery",
    {
        "key": (read_key_text, False),
        "type": (enum("StorageQueryType", dict.fromkeys((VALUE, HASH, CLOSEST, *BELOW))), False),
        "paginationStartKey": (read_key_text, True),
    },
    defaults=1,
)


QUERIES: Final = listed(Reader("{key, type, paginationStartKey?}", _QUERY), MAX_QUERY_ITEMS)
QueryItems = Sequence[dict[str, Any]]
"""Queries whose keys are still texts."""


def head_queries(asked: QueryItems) -> list[Query]:
    """Return the queries of chainHead, which has no pagination. Raises InvalidParameter."""
    return [Query(bytes_of(item["key"]), item["type"]) for item in asked]


def archive_queries(asked: QueryItems) -> list[Query]:
    """Return the queries of an archive. Raises InvalidParameter."""
    return [_archive_query(item["key"], item["type"], item["paginationStartKey"]) for item in asked]


def _archive_query(key: str, kind: str, start: str | None) -> Query:
    parsed = bytes_of(key)
    if start is None:
        return Query(parsed, kind)
    if kind not in BELOW:
        reason = f"paginationStartKey is only valid for {' and '.join(BELOW)} query types"
        raise InvalidParameter(f"Invalid parameter: {reason}")
    return Query(parsed, kind, bytes_of(start))


async def page_from(
    node: Node, block: bytes, queries: Sequence[Query], child: bytes, place: Place
) -> QueryPage:
    """Return the next rows of the answers to all queries in order.

    Raises UnknownBlock or StateDiscarded.
    """
    return await in_state(node, block, partial(_page, queries, child, place), is_short=True)


def _page(queries: Sequence[Query], child: bytes, place: Place, state: BlockState) -> QueryPage:
    rows: list[Row] = []
    weight = 0
    for index, key, row in _rows(state, queries, child, place):
        if rows and (len(rows) >= QUERY_PAGE_ROWS or weight >= PAGE_BYTES):
            return QueryPage(rows, place)
        place = (index, key) if queries[index].kind in BELOW else (index + 1, None)
        weight += sum(len(text) for text in row.values()) // 2
        rows.append(row)
    return QueryPage(rows, None)


def _rows(
    state: BlockState, queries: Sequence[Query], child: bytes, place: Place
) -> Iterator[tuple[int, bytes, Row]]:
    """Yield each row with its query's index and its key, from a place on."""
    first, after = place
    for index in range(first, len(queries)):
        query = queries[index]
        after = after if index == first and after is not None else query.start
        for key, kind in _keys(state, query, child, after):
            answer = _answer(state, key, kind, child)
            if answer is not None:
                yield index, key, _row(key, kind, answer, child)


def _keys(state: BlockState, query: Query, child: bytes, after: bytes | None) -> Iterator[tuple[bytes, str]]:
    """Yield the keys of a query, each with the kind of its answer."""
    if query.kind not in BELOW:
        yield query.key, query.kind
        return
    for key in keys_after(state, query.key, after, child):
        yield key, BELOW[query.kind]


def _answer(state: BlockState, key: bytes, kind: str, child: bytes) -> bytes | None:
    if kind == CLOSEST:
        return _closest(state, key, child)
    value = state.get(key, child)
    return blake2_256(value) if value is not None and kind == HASH else value


def _closest(state: BlockState, key: bytes, child: bytes) -> bytes | None:
    root = state.get(CHILD_STORAGE_PREFIX + child) if child else state.root
    if root is None:
        return None
    return closest_merkle_value(lambda path, _: state.node(path, child) or EMPTY_NODE, root, key)


def _row(key: bytes, kind: str, answer: bytes, child: bytes) -> Row:
    row = {"key": to_hex(key), kind: to_hex(answer)}
    return row if child == TOP else {**row, "childTrieKey": to_hex(child)}
