"""Answers to state requests: parts of a state, and proofs of keys, for `state/2` and `light/2`.

Each function reads one snapshot of the store, and raises UnknownBlock or StateDiscarded if the state is
missing. Call them in a thread.
"""

from __future__ import annotations

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import build_range, prove_keys
from cfnode.core.wire.light import RemoteRead
from cfnode.core.wire.state import MAX_STATE_PROOF_BYTES, StateEntries, StateRequest, StateResponse
from cfnode.store import StateView, Store

__all__ = ["read_proof", "state_range"]

MAX_RANGE_ENTRIES = 20_000
"""Entries of one answer without proof."""

MAX_PROOF = 15 << 20
"""Bytes of the proof of single keys: the limit of an answer, less its framing."""


def state_range(store: Store, request: StateRequest) -> StateResponse:
    """Return about 2 MiB of the state after the request's start. Raise TrieError for a malformed start."""
    with store.state(request.block) as state:
        if request.no_proof:
            return StateResponse(entries=(_entries(state, request.start),))
        items, _ = build_range(state, request.start, MAX_STATE_PROOF_BYTES)
    return StateResponse(proof=tuple(items))


def _entries(state: StateView, start: tuple[bytes, ...]) -> StateEntries:
    """Return the entries of the top trie without proof.

    A start within a child trie continues in that trie.
    """
    child = start[0].removeprefix(CHILD_STORAGE_PREFIX) if len(start) == 2 and start[0] else TOP
    root = state.get(start[0]) or b"" if child else b""
    entries: list[tuple[bytes, bytes]] = []
    size, key = 0, state.next_key(start[-1] if start else b"", child)
    while key is not None and size < MAX_STATE_PROOF_BYTES and len(entries) < MAX_RANGE_ENTRIES:
        value = state.get(key, child) or b""
        entries.append((key, value))
        size += len(key) + len(value)
        key = state.next_key(key, child)
    return StateEntries(root, tuple(entries), complete=key is None)


def read_proof(store: Store, request: RemoteRead) -> list[bytes]:
    """Return the nodes and values that prove the keys of a state, or of one of its child tries."""
    with store.state(request.block) as state:
        return prove_keys(state, request.keys, request.child, max_bytes=MAX_PROOF)
