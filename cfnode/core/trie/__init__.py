"""The state trie: nodes, roots, changes and proofs (Polkadot spec, state storage)."""

from __future__ import annotations

from cfnode.core.trie.codec import EMPTY_ROOT, TrieNode, decode_node, encode_node
from cfnode.core.trie.compact import decode_compact_proof, encode_compact_proof
from cfnode.core.trie.diff import Change, differences
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.healing import Healing, MissingSubtrie, WalkFindings
from cfnode.core.trie.proof import ProofState, decode_proof, encode_proof
from cfnode.core.trie.range_builder import OrderedState, build_range
from cfnode.core.trie.range_reader import read_range
from cfnode.core.trie.ranges import Position, StateRange, is_child_root, trie_rows
from cfnode.core.trie.recorder import Recorder, prove_keys
from cfnode.core.trie.roots import RootOfSorted, ordered_root, root
from cfnode.core.trie.update import NodeReader, TrieUpdate, update
from cfnode.core.trie.walk import closest_merkle_value

__all__ = [
    "EMPTY_ROOT",
    "Change",
    "Healing",
    "MissingNode",
    "MissingSubtrie",
    "NodeReader",
    "OrderedState",
    "Position",
    "ProofState",
    "Recorder",
    "RootOfSorted",
    "StateRange",
    "TrieError",
    "TrieNode",
    "TrieUpdate",
    "WalkFindings",
    "build_range",
    "closest_merkle_value",
    "decode_compact_proof",
    "decode_node",
    "decode_proof",
    "differences",
    "encode_compact_proof",
    "encode_node",
    "encode_proof",
    "is_child_root",
    "ordered_root",
    "prove_keys",
    "read_range",
    "root",
    "trie_rows",
    "update",
]
