"""Answers to warp sync requests, protocol `sync/warp`.

They follow Substrate's GRANDPA warp proofs: one fragment for each change of authorities after the block in
the request, oldest first, up to 8 MiB; at the end the newest justification, if it is for a later block. A
node that has imported a state lacks the changes before it, and refuses requests from an earlier block on.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, forced_change
from cfnode.core.scale import encode_compact
from cfnode.core.wire.warp import MAX_WARP_PROOF_BYTES
from cfnode.store import Store

__all__ = ["warp_proof"]

CHANGES_AT_ONCE = 64
"""Authority set changes read from the store at a time."""


def warp_proof(store: Store, begin: bytes) -> bytes | None:
    """Return the encoded proof from a final block on; None to refuse. Reads much: call it in a thread."""
    number = _start_number(store, begin)
    if number is None:
        return None
    fragments: list[bytes] = []
    size = 0
    for block in _changes(store, number):
        fragment = _fragment(store, block)
        if fragment is None or size + len(fragment) > MAX_WARP_PROOF_BYTES:
            return _encoded(fragments, finished=False) if fragments else None
        fragments.append(fragment)
        size, number = size + len(fragment), block.number
    newest = _newest(store, number, known=bool(fragments))
    return _encoded([*fragments, *newest], finished=True)


def _start_number(store: Store, begin: bytes) -> int | None:
    """Return the block's number; None unless it is final and all changes after it are in the store."""
    header = store.header(begin)
    if header is None or header.number < store.oldest_header or store.hash_at(header.number) != begin:
        return None
    return header.number


def _changes(store: Store, after: int) -> Iterator[BlockRef]:
    while changes := store.set_changes(after, CHANGES_AT_ONCE):
        yield from changes
        after = changes[-1].number


def _fragment(store: Store, block: BlockRef) -> bytes | None:
    """Return a justified header; None where a proof has to end: at a forced change, or missing votes."""
    header, votes = store.header(block.hash), dict(store.justifications(block.hash)).get(ENGINE)
    if header is None or votes is None or forced_change(header) is not None:
        return None
    return header.encode() + votes


def _newest(store: Store, number: int, *, known: bool) -> list[bytes]:
    """Return the fragment of the newest justified block; none if the proof reaches it already."""
    header = store.header(store.chain_metadata.newest_justified)
    if header is None or header.number < number or (known and header.number == number):
        return []
    fragment = _fragment(store, BlockRef(header.hash, header.number))
    return [] if fragment is None else [fragment]


def _encoded(fragments: list[bytes], *, finished: bool) -> bytes:
    return encode_compact(len(fragments)) + b"".join(fragments) + bytes((finished,))
