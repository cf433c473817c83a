"""Which proof do we give to those who want to get to the present quickly? Protocol `sync/warp`.

Substrate, GRANDPA warp proofs: one fragment for each change of authorities after the block that the asker
knows, oldest first, until 8 MiB are full; at the end the newest justification, if it is for a later block.
A node that adopted a block does not hold the changes before it and refuses those who begin earlier.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, forced_change
from cfnode.core.scale import encode_compact
from cfnode.core.wire.warp import MAX_PROOF_BYTES
from cfnode.store import Store

__all__ = ["warp_proof"]

CHANGES_AT_ONCE = 64
"""Set changes read from the store at a time."""


def warp_proof(store: Store, begin: bytes) -> bytes | None:
    """The encoded proof from a final block on; None where we cannot tell. Reads much: call it in a thread."""
    number = _place(store, begin)
    if number is None:
        return None
    fragments: list[bytes] = []
    size = 0
    for block in _changes(store, number):
        fragment = _fragment(store, block)
        if fragment is None or size + len(fragment) > MAX_PROOF_BYTES:
            return _encoded(fragments, finished=False) if fragments else None
        fragments.append(fragment)
        size, number = size + len(fragment), block.number
    newest = _newest(store, number, known=bool(fragments))
    return _encoded([*fragments, *newest], finished=True)


def _place(store: Store, begin: bytes) -> int | None:
    """The number of a final block from which on we know all changes."""
    header = store.header(begin)
    if header is None or header.number < store.oldest_header or store.hash_at(header.number) != begin:
        return None
    return header.number


def _changes(store: Store, after: int) -> Iterator[BlockRef]:
    while found := store.set_changes(after, CHANGES_AT_ONCE):
        yield from found
        after = found[-1].number


def _fragment(store: Store, block: BlockRef) -> bytes | None:
    """A justified header; None where a proof cannot go on: a forced change, or votes that are not here."""
    header, votes = store.header(block.hash), dict(store.justifications(block.hash)).get(ENGINE)
    if header is None or votes is None or forced_change(header) is not None:
        return None
    return header.encode() + votes


def _newest(store: Store, number: int, *, known: bool) -> list[bytes]:
    """The newest justified block, unless the proof leads beyond it already."""
    header = store.header(store.chain_metadata.newest_justified)
    if header is None or header.number < number or (known and header.number == number):
        return []
    fragment = _fragment(store, BlockRef(header.hash, header.number))
    return [] if fragment is None else [fragment]


def _encoded(fragments: list[bytes], *, finished: bool) -> bytes:
    return encode_compact(len(fragments)) + b"".join(fragments) + bytes((finished,))
