"""What can go wrong in a trie: bytes that are no node, and nodes that are not there."""

from __future__ import annotations


class TrieError(ValueError):
    """Bytes that are not a valid trie node, proof or compact proof."""


class MissingNode(Exception):
    """What is known of the trie does not tell: a node or value that its parent names is not at hand.

    This is not absence, and so no LookupError: code that reads a state must not take it for one. `key` is a
    key whose look-up needs what is missing: a proof for it helps.
    """

    def __init__(self, key: bytes, merkle_value: bytes = b"", child: bytes = b"") -> None:
        where = f" of child trie 0x{child.hex()}" if child else ""
        super().__init__(f"trie node or value 0x{merkle_value.hex()} is missing for key 0x{key.hex()}{where}")
        self.key = key
        self.merkle_value = merkle_value
        self.child = child
