"""Recorder of the reads of a state, and the proof of exactly what was read.

A recorder wraps the state and records the reads. At the end each read is repeated on the trie itself, in the
way in which a proof is read; the nodes and values visited then are the proof. So its reader misses nothing,
and the proof has nothing that its reader does not need.

Substrate, execution proofs (`sp_state_machine::prove_execution`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cfnode.core.state import TOP, BlockState
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.source import ByPath, CollectingSource
from cfnode.core.trie.trie_state import TrieState

__all__ = ["Recorder", "prove_keys"]

_Question = tuple[bytes, bytes]
"""A key or a path, and the trie to which it belongs."""


class Recorder:
    """A state that records what is read of it, as a `cfnode.core.state.BlockState`."""

    def __init__(self, state: BlockState) -> None:
        self._state = state
        self._asked: tuple[dict[_Question, None], ...] = ({}, {}, {})

    @property
    def root(self) -> bytes:
        """The state root."""
        return self._state.root

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value under `key`, or None."""
        self._asked[0][key, child] = None
        return self._state.get(key, child)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the first key strictly after `key` in byte order, or None."""
        self._asked[1][key, child] = None
        return self._state.next_key(key, child)

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded node at `path`, or None."""
        self._asked[2][path, child] = None
        return self._state.node(path, child)

    def proof(self, max_bytes: int) -> list[bytes]:
        """Return the nodes and values that all recorded reads need; raise TrieError beyond `max_bytes`."""
        visited = CollectingSource(ByPath(self._state))
        trie = TrieState(self._state.root, visited)
        reads: tuple[Callable[[bytes, bytes], object], ...] = (trie.get, trie.next_key, trie.node)
        for read, questions in zip(reads, self._asked, strict=True):
            for question in questions:
                read(*question)
                if visited.size > max_bytes:
                    raise TrieError("the proof would be too large")
        return list(visited.entries)


def prove_keys(
    state: BlockState, keys: Iterable[bytes], child: bytes = TOP, *, max_bytes: int
) -> list[bytes]:
    """Return the proof of the values, or the absence, of `keys` in one trie of a state.

    Raises TrieError beyond `max_bytes`.
    """
    recorder = Recorder(state)
    for key in keys:
        recorder.get(key, child)
    return recorder.proof(max_bytes)
