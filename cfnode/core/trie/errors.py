"""Errors of the trie: malformed nodes, and missing ones."""

from __future__ import annotations


class TrieError(ValueError):
    """Bytes are not a valid trie node, proof or compact proof."""


class MissingNode(Exception):
    """A node or value that its parent names is missing, so the known part of the trie gives no answer.

    This does not mean that the key is absent, so it is not a LookupError: code that reads a state must not
    confuse them. A look-up of `key` needs what is missing: a proof of that key provides it.
    """

    def __init__(self, key: bytes, merkle_value: bytes = b"", child: bytes = b"") -> None:
        suffix = f" of child trie 0x{child.hex()}" if child else ""
        super().__init__(
            f"trie node or value 0x{merkle_value.hex()} is missing for key 0x{key.hex()}{suffix}"
        )
        self.key = key
        self.merkle_value = merkle_value
        self.child = child
