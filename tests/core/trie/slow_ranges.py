"""A second reader of ranges, written for clearness only: all entries by their hashes, then key after key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import EMPTY_ROOT, MissingNode, Position, ProofState, TrieError, decode_compact_proof

Pair = tuple[bytes, bytes, bytes]


def slow_range(items: Sequence[bytes], root: bytes, start: Position) -> tuple[list[Pair], Position | None]:
    """Return the pairs after `start`, and the position of the last one; None at the end of the state."""
    state = ProofState(root, decode_compact_proof(items, root))
    pairs: list[Pair] = []
    position: Position | None = start
    with suppress(MissingNode):
        for position, pair in _walk(state, start):  # noqa: B007 - the last one counts
            if pair is not None:
                pairs.append(pair)
    return pairs, position


def _walk(state: ProofState, start: Position) -> Iterator[tuple[Position | None, Pair | None]]:
    if len(start) == 2:
        root = state.get(start[0])
        if root is None or len(root) != 32:
            raise TrieError("no root of a child trie")
        yield from _child(state, start[0], start[1])
        yield start[:1], None
    for key, value in _pairs(state, TOP, start[0] if start else None):
        yield (key,), (TOP, key, value)
        if key.startswith(CHILD_STORAGE_PREFIX) and len(value) == 32:
            yield (key, b""), None
            if value != EMPTY_ROOT:
                yield from _child(state, key, None)
            yield (key,), None
    yield None, None


def _child(state: ProofState, name: bytes, after: bytes | None) -> Iterator[tuple[Position, Pair]]:
    child = name.removeprefix(CHILD_STORAGE_PREFIX)
    for key, value in _pairs(state, child, after):
        yield (name, key), (child, key, value)


def _pairs(state: ProofState, child: bytes, after: bytes | None) -> Iterator[tuple[bytes, bytes]]:
    for key in state.keys(b"", child) if after is None else _keys_after(state, child, after):
        value = state.get(key, child)
        assert value is not None
        yield key, value


def _keys_after(state: ProofState, child: bytes, key: bytes) -> Iterator[bytes]:
    following = state.next_key(key, child)
    while following is not None:
        yield following
        following = state.next_key(following, child)
