"""Row keys: storage keys of any length as LMDB keys, in the same order.

A *row key* is the child trie's name and the key, each encoded so that its order is kept and its end marked:
00 becomes 00 ff, and 00 00 is the end. So no row key is a prefix of another, and with a suffix (a block
number) a row still sorts next to its own key, never among the rows of another.

LMDB's keys have at most 511 bytes. A row key of `ROW_LIMIT` bytes or more is cut there: the first bytes are
the key of a *bucket*, whose value lists the rests of all row keys with these first bytes, sorted. A cut row
key is no prefix of another either, so order is kept across both kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

import msgspec

ROW_LIMIT = 500
"""Bytes of a bucket's row key; longer row keys do not exist. 4 bytes before and 4 after it fit in 511."""

Bucket: TypeAlias = list[tuple[bytes, bytes | None]]
"""The rests of long row keys, sorted, with their values; None (a deletion) only in buckets of changes."""

RowChange: TypeAlias = "bytes | dict[bytes, bytes | None] | None"
"""A row's new value, None for a deletion, or for a bucket a new value (or None) for each rest."""

_END = b"\0\0"
_bucket = msgspec.msgpack.Decoder(Bucket)
_encode = msgspec.msgpack.Encoder().encode


def delimited(text: bytes) -> bytes:
    """Return a text that keeps its order and marks its end: 00 becomes 00 ff, and 00 00 is the end."""
    return text.replace(b"\0", b"\0\xff") + _END


def key_of(row: bytes, child_row: bytes) -> bytes | None:
    """Return the key of a whole (uncut) row key.

    None if the row key belongs to another child than `delimited(child)`.
    """
    if not row.startswith(child_row):
        return None
    return row[len(child_row) : -len(_END)].replace(b"\0\xff", b"\0")


def row_changes(changes: Mapping[bytes, Mapping[bytes, bytes | None]]) -> dict[bytes, RowChange]:
    """Return a block's changes (by child, then by key) as changes of rows, sorted by row key."""
    rows: dict[bytes, RowChange] = {}
    for child, table in changes.items():
        child_row = delimited(child)
        for key, value in table.items():
            _change(rows, child_row + delimited(key), value)
    return dict(sorted(rows.items()))


def batch_rows(
    entries: Iterable[tuple[bytes, bytes, bytes]],
) -> tuple[list[tuple[bytes, bytes]], dict[bytes, RowChange]]:
    """Return the rows of a batch of (child, key, value), sorted by row key, and the changes of its buckets.

    Of two equal row keys the later one is last.
    """
    rows: list[tuple[bytes, bytes]] = []
    for child, group in groupby(entries, itemgetter(0)):
        child_row = delimited(child)
        rows += [(child_row + key.replace(b"\0", b"\0\xff") + _END, value) for _, key, value in group]
    buckets: dict[bytes, RowChange] = {}
    if max((len(row) for row, _ in rows), default=0) >= ROW_LIMIT:
        for row, value in rows:
            if len(row) >= ROW_LIMIT:
                _change(buckets, row, value)
        rows = [entry for entry in rows if len(entry[0]) < ROW_LIMIT]
    rows.sort(key=itemgetter(0))
    return rows, buckets


def row_deletions(whole: Iterable[bytes]) -> dict[bytes, RowChange]:
    """Return changes that delete these whole row keys."""
    rows: dict[bytes, RowChange] = {}
    for row in whole:
        _change(rows, row, None)
    return rows


def _change(rows: dict[bytes, RowChange], row: bytes, value: bytes | None) -> None:
    if len(row) < ROW_LIMIT:
        rows[row] = value
    else:
        bucket = rows.setdefault(row[:ROW_LIMIT], {})
        assert isinstance(bucket, dict)
        bucket[row[ROW_LIMIT:]] = value


def encode_bucket(entries: Mapping[bytes, bytes | None]) -> bytes:
    """Encode the entries of a row, in byte order of their suffixes; None: a removed key."""
    return _encode(sorted(entries.items()))


def decode_bucket(data: bytes | None) -> Bucket:
    """Decode the entries of a row; a missing row has none."""
    return _bucket.decode(data) if data is not None else []


def merged(old: bytes | None, change: RowChange) -> bytes | None:
    """Return the value of a row after a change; an emptied bucket is a deleted row."""
    if not isinstance(change, dict):
        return change
    entries = dict(decode_bucket(old)) | change
    set_entries = {suffix: value for suffix, value in entries.items() if value is not None}
    return encode_bucket(set_entries) if set_entries else None


def tagged(value: bytes | None) -> bytes:
    """Encode a value that may be absent, for rows that have to record absence."""
    return b"\0" if value is None else b"\1" + value


def untagged(data: bytes) -> bytes | None:
    """Return the value behind a tag byte; None for the tag of a removed key."""
    return data[1:] if data[0] else None


def overlaid(
    rows: Iterator[tuple[bytes, bytes]], changes: Iterator[tuple[bytes, bytes | None]]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield sorted rows with sorted changes laid over them; None is a deletion."""
    change = next(changes, None)
    for entry in rows:
        while change is not None and change[0] < entry[0]:
            if change[1] is not None:
                yield change[0], change[1]
            change = next(changes, None)
        if change is None or change[0] != entry[0]:
            yield entry
    while change is not None:
        if change[1] is not None:
            yield change[0], change[1]
        change = next(changes, None)


class RowWalk(ABC):
    """A walk from key to key over rows and buckets, whatever tables the rows come from."""

    __slots__ = ()

    @abstractmethod
    def data(self, row: bytes) -> bytes | None:
        """Return the value of a row; None if there is no such row."""

    @abstractmethod
    def following(self, row: bytes) -> bytes | None:
        """Return the next row key after this one; `data` may return None for it."""

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        """Return the first key after `key` that has a value; None after the last."""
        child_row = delimited(child)
        row = self._next_row(child_row + delimited(key))
        return None if row is None else key_of(row, child_row)

    def bucket(self, row: bytes) -> Bucket:
        """Return the entries of a row that several long keys share."""
        return decode_bucket(self.data(row))

    def _next_row(self, whole: bytes) -> bytes | None:
        """Return the first whole row key after `whole`."""
        row = whole[:ROW_LIMIT]
        if len(whole) >= ROW_LIMIT:
            bucket = self.bucket(row)
            index = bisect_right(bucket, whole[ROW_LIMIT:], key=lambda entry: entry[0])
            if index < len(bucket):
                return row + bucket[index][0]
        while (next_row := self.following(row)) is not None:
            row = next_row
            data = self.data(row)
            if data is not None:
                return row if len(row) < ROW_LIMIT else row + decode_bucket(data)[0][0]
        return None
