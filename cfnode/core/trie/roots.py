"""Which root does a whole set of pairs have? For genesis states and for the extrinsics root of a block.

Polkadot spec, state storage; the extrinsics root is the trie of compact(index) to extrinsic, state version 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cfnode.core.scale import encode_compact
from cfnode.core.trie.update import update


def root(pairs: Mapping[bytes, bytes], version: int) -> bytes:
    """The root hash of a trie that holds these pairs, in state version 0 or 1."""
    return update(lambda _path: None, pairs, version).root


def ordered_root(items: Iterable[bytes], version: int) -> bytes:
    """The root hash of the trie from compact(0), compact(1), … to the items."""
    return root({encode_compact(index): item for index, item in enumerate(items)}, version)
