"""Compact proofs of state sync."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import (
    MissingNode,
    ProofState,
    TrieError,
    decode_compact_proof,
    decode_proof,
    encode_compact_proof,
)
from tests.conftest import shared
from tests.core.trie.proofs import build_proof
from tests.core.trie.strategies import PAIRS
from tests.lengths import examples
from tests.support.core.proofs import stored


def cases() -> list[dict[str, Any]]:
    """Return the three compact proofs of the main net's genesis."""
    proof_cases = json.loads(shared("vectors", "synthetic", "compact-proofs.json").read_text())["cases"]
    assert len(proof_cases) == 3
    return list(proof_cases)


def test_compact_proofs_of_the_main_net_genesis_show_their_keys() -> None:
    """Read the values that a compact proof holds, and raise MissingNode for those it only hashes."""
    for case in cases():
        root = bytes.fromhex(case["state_root"])
        items = decode_proof(bytes.fromhex(case["proof"]))
        assert len(items) == case["items"]
        state = ProofState(root, decode_compact_proof(items, root))
        for key in case["keys_with_value"]:
            assert state.get(bytes.fromhex(key)) is not None
        for key in case["keys_with_value_hash_only"]:
            entry = state.find(bytes.fromhex(key))
            assert entry is not None
            assert entry.hashed
            with pytest.raises(MissingNode):
                state.get(bytes.fromhex(key))


def test_packing_an_unpacked_proof_gives_the_same_items() -> None:
    """Pack an unpacked proof to the same items, escaped nodes included."""
    for case in cases():
        root = bytes.fromhex(case["state_root"])
        items = decode_proof(bytes.fromhex(case["proof"]))
        assert encode_compact_proof(root, decode_compact_proof(items, root)) == items
        assert sum(i[:1] == b"\x01" for i in items) >= case["escaped_nodes"]


@settings(max_examples=examples(60))
@given(PAIRS, st.integers(0, 30))
def test_compact_proofs_contain_the_same_entries_as_full_proofs(
    pairs: dict[bytes, bytes], count: int
) -> None:
    """Read the same values from a compact proof as from the full one."""
    root, nodes = stored(pairs, 1)
    keys = sorted(pairs)[:count]
    full = build_proof(nodes.get, pairs.get, keys or [b""])
    state = ProofState(root, decode_compact_proof(encode_compact_proof(root, full), root))
    assert [state.get(key) for key in keys] == [pairs[key] for key in keys]


def with_child() -> tuple[bytes, list[bytes], bytes]:
    """Return a root, a compact proof that includes a child trie, and the child's root."""
    child_root, child_nodes = stored({b"a": b"1", b"b": b"2" * 40}, 1)
    root, nodes = stored({CHILD_STORAGE_PREFIX + b"c": child_root, b"x": b"y"}, 1)
    entries = [*nodes.values(), *child_nodes.values(), b"2" * 40]
    return root, encode_compact_proof(root, entries, [child_root]), child_root


def test_child_tries_follow_the_top_trie() -> None:
    """Read a child trie's values behind the top trie's in one proof."""
    root, items, _ = with_child()
    state = ProofState(root, decode_compact_proof(items, root))
    assert (state.get(b"b", b"c"), state.get(b"x")) == (b"2" * 40, b"y")


def test_what_does_not_belong_to_the_proof_is_refused() -> None:
    """Refuse a proof with items missing, added, repeated or of another trie."""
    root, items, _ = with_child()
    stranger_root, stranger_nodes = stored({b"q": b"r"}, 1)
    stranger = encode_compact_proof(stranger_root, list(stranger_nodes.values()))
    for broken in (
        [],
        items[:-1],
        [*items, b""],
        [*items, b"\x00"],
        items + stranger,
        [b"\x01" + items[0], *items[1:]],
        stranger,
    ):
        with pytest.raises(TrieError):
            decode_compact_proof(broken, root)


@given(st.lists(st.binary(max_size=40) | st.just(b"\x80\xff\xff" + bytes(16)), max_size=12))
def test_any_items_are_refused_or_of_the_root(items: list[bytes]) -> None:
    """Refuse any items that do not lead to the root."""
    with pytest.raises(TrieError):
        decode_compact_proof(items, bytes(32))
