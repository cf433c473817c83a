"""Storage proofs: the part of a state that a set of trie nodes proves under a trusted root.

A proof is a list of node encodings, and of values that nodes contain by hash only, in any order. Each entry
is kept under its blake2-256 and read only when a trusted node names that hash, so a peer can leave entries
out or add useless ones, but cannot make a key appear, vanish or change. Three results must be distinguished:
the value, its certain absence, and "the proof does not cover it" (MissingNode).

Polkadot spec, state storage; the light client protocol carries the list as SCALE Vec<Vec<u8>>.
"""

from __future__ import annotations

from collections.abc import Iterable

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import ByteCursor, ScaleError, encode_compact
from cfnode.core.state import TOP
from cfnode.core.trie.codec import EMPTY_NODE, EMPTY_ROOT, HASH_LENGTH, decode_node, is_hash_entry
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.source import ByHash
from cfnode.core.trie.trie_state import TrieState
from cfnode.core.trie.walk import subtrees_after

MAX_PROOF_ENTRIES = 1 << 20
"""Entries of one proof; the receiver bounds its bytes."""


def encode_proof(entries: Iterable[bytes]) -> bytes:
    """Return the entries as SCALE Vec<Vec<u8>>."""
    items = list(entries)
    return encode_compact(len(items)) + b"".join(encode_compact(len(item)) + item for item in items)


def decode_proof(data: bytes) -> list[bytes]:
    """Return the entries of SCALE Vec<Vec<u8>>; raise TrieError."""
    cursor = ByteCursor(data)
    try:
        count = cursor.count()
        if count > MAX_PROOF_ENTRIES:
            raise TrieError(f"storage proof of {count} entries, more than {MAX_PROOF_ENTRIES}")
        entries = [cursor.bytes() for _ in range(count)]
        cursor.finish()
    except ScaleError as error:
        raise TrieError(f"storage proof is malformed: {error}") from error
    return entries


class ProofState(TrieState):
    """The part of a state that a proof covers, as a `cfnode.core.state.BlockState`.

    Reads raise MissingNode for what the proof does not cover, and TrieError where the trie under the trusted
    root is itself malformed.
    """

    def __init__(self, root: bytes, nodes: Iterable[bytes]) -> None:
        self._entries: dict[bytes, bytes] = {}
        super().__init__(root, ByHash(self._entries))
        self.add(nodes)

    def add(self, nodes: Iterable[bytes]) -> None:
        """Add nodes and values to the proof."""
        self._entries.update((blake2_256(entry), entry) for entry in nodes)

    def check_needed(self) -> None:
        """Raise TrieError unless every entry is named by another one, from the trusted root on."""
        nodes, values, waiting = {self._root}, set[bytes](), [self._root]
        while waiting:
            entry = self._entries.get(waiting.pop())
            if entry is None or entry == EMPTY_NODE:
                continue
            node = decode_node(entry)
            hashes = {child[1:] for child in node.children or () if is_hash_entry(child)}
            if node.value is not None and node.hashed:
                values.add(node.value)
            elif node.value is not None and len(node.value) == HASH_LENGTH:
                hashes.add(node.value)  # perhaps the root of a child trie
            waiting += hashes - nodes
            nodes |= hashes
        unneeded = len(self._entries.keys() - nodes - values)
        if unneeded:
            raise TrieError(f"storage proof: {unneeded} of {len(self._entries)} entries are not part of it")

    def unknown_after(self, key: bytes, limit: int, child: bytes = TOP) -> list[bytes]:
        """Return up to `limit` keys after `key` in order, one below each node that is named but missing.

        A proof for all of them leads a walk over the keys after `key` further, in one step.
        """
        unknown: list[bytes] = []

        def fetch(path: bytes, merkle_value: bytes) -> bytes:
            entry = EMPTY_NODE if merkle_value == EMPTY_ROOT else self._entries.get(merkle_value)
            if entry is None:
                unknown.append(covering_key(path))
            return entry or EMPTY_NODE

        root = self._root_of(child)
        for _ in subtrees_after(fetch, root, key) if root is not None else ():
            if len(unknown) >= limit:
                break
        return unknown
