"""Proofs: what they show, what they do not say, and what cannot be forged."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import (
    EMPTY_ROOT,
    MissingNode,
    ProofState,
    TrieError,
    decode_proof,
    encode_proof,
    update,
)
from tests.conftest import shared
from tests.core.trie.proofs import build_proof
from tests.core.trie.strategies import KEYS, PAIRS, VERSIONS
from tests.lengths import examples
from tests.support.core.proofs import expected, stored


def from_hex(name: str) -> list[bytes]:
    """Decode a recorded proof in hex."""
    return decode_proof(bytes.fromhex(shared("vectors", "smoldot", name).read_text()))


def from_file(name: str) -> list[bytes]:
    """Decode a recorded proof."""
    return decode_proof(shared("vectors", "smoldot", name).read_bytes())


def test_a_polkadot_proof_tells_presence_absence_and_silence_apart() -> None:
    """Distinguish a value, its proven absence, and what the proof does not say.

    Absence must not be assumed.
    """
    known = expected("state-proof-polkadot-genesis.hex")
    state = ProofState(bytes.fromhex(known["state_root"]), from_hex("state-proof-polkadot-genesis.hex"))
    for key, value in known["value_at"].items():
        assert state.get(bytes.fromhex(key)) == bytes.fromhex(value)
    for key in known["absent"]:
        assert state.get(bytes.fromhex(key)) is None
    for key in known["proof_incomplete_for"]:
        with pytest.raises(MissingNode) as caught:
            state.get(bytes.fromhex(key))
        assert caught.value.key == bytes.fromhex(key)


def test_nodes_below_32_bytes_are_found_inside_their_parent() -> None:
    """Find nodes below 32 bytes inside of their parent."""
    known = expected("state-proof-small-inline-nodes.hex")
    state = ProofState(bytes.fromhex(known["state_root"]), from_hex("state-proof-small-inline-nodes.hex"))
    for key, value in known["value_at"].items():
        assert state.get(bytes.fromhex(key)) == bytes.fromhex(value)


def test_a_root_below_32_bytes_is_still_addressed_by_its_hash() -> None:
    """Address the root by its hash though it is smaller than a hash."""
    root = bytes.fromhex(expected("state-proof-tiny-root.hex")["state_root"])
    entries = from_hex("state-proof-tiny-root.hex")
    assert [len(e) < 32 and blake2_256(e) == root for e in entries] == [True]
    state = ProofState(root, entries)
    key = state.next_key(b"") or b""
    assert state.get(b"") is not None or state.get(key) is not None


@pytest.mark.parametrize("name", ["issue_2035_proof", "issue_2035_bis_proof", "issue_2035_ter_proof"])
def test_the_next_key_is_found_over_a_proof(name: str) -> None:
    """Find the next key over a recorded proof."""
    known = expected(name)
    state = ProofState(bytes.fromhex(known["state_root"]), from_file(name))
    assert state.next_key(bytes.fromhex(known["next_key_after"])) == bytes.fromhex(known["expected"])


@pytest.mark.parametrize("name", ["proof-decode-small", "proof-decode-large"])
def test_captured_proofs_decode_and_encode_to_the_same_bytes(name: str) -> None:
    """Decode recorded proofs and encode them to the same bytes."""
    data = shared("vectors", "smoldot", name).read_bytes()
    assert encode_proof(decode_proof(data)) == data


def test_the_captured_proof_2175_decodes_to_nodes_of_one_trie() -> None:
    """Read a recorded proof that once broke a decoder as one trie, of which each entry is needed."""
    entries, roots = from_hex("state-proof-issue-2175.hex"), []
    for entry in entries:
        with suppress(TrieError):
            ProofState(blake2_256(entry), entries).check_needed()
            roots.append(entry)
    assert (len(entries) > 1, len(roots)) == (True, 1)


def test_successive_proofs_enumerate_every_key_under_a_prefix() -> None:
    """List every key below a prefix over successive recorded proofs."""
    case = json.loads(shared("vectors", "smoldot", "prefix-proof-regression-174.json").read_text())
    prefix, root = bytes.fromhex(case["prefix"][2:]), bytes.fromhex(case["trie_root_hash"][2:])
    wanted = [bytes.fromhex(key[2:]) for key in case["expected_entries"]]
    entries = [entry for proof in case["proofs"] for entry in decode_proof(bytes.fromhex(proof[2:]))]
    assert list(ProofState(root, entries).keys(prefix)) == sorted(wanted)


# --- against a plain dict


@settings(max_examples=examples(150))
@given(PAIRS, st.lists(KEYS, max_size=6), VERSIONS)
def test_a_proof_covers_exactly_the_keys_it_was_built_for(
    pairs: dict[bytes, bytes], keys: list[bytes], version: int
) -> None:
    """Prove exactly the keys that were asked for, present or absent."""
    root, nodes = stored(pairs, version)
    state = ProofState(root, build_proof(nodes.get, pairs.get, keys))
    for key in keys:
        assert state.get(key) == pairs.get(key)
    for key in pairs:
        try:
            assert state.get(key) == pairs[key]
        except MissingNode as missing:
            assert key not in keys
            assert missing.key == key


@settings(max_examples=examples(100))
@given(PAIRS, st.lists(KEYS, min_size=1, max_size=6), VERSIONS)
def test_next_key_and_nodes_over_a_full_proof_agree_with_a_sorted_dict(
    pairs: dict[bytes, bytes], keys: list[bytes], version: int
) -> None:
    """Find next keys, keys below a prefix and nodes over a full proof as in a sorted dict."""
    root, nodes = stored(pairs, version)
    state = ProofState(root, nodes.values())
    for key in (b"", *keys, *pairs):
        assert state.next_key(key) == min((k for k in pairs if k > key), default=None)
        assert list(state.keys(key)) == sorted(k for k in pairs if k.startswith(key))
    for path, node in nodes.items():
        assert state.node(path) == node
        assert state.node(path + b"\x01") == nodes.get(path + b"\x01")


@settings(max_examples=examples(60))
@given(PAIRS, st.dictionaries(KEYS, st.none() | st.binary(max_size=40), max_size=6), VERSIONS)
def test_a_trie_can_be_changed_over_a_full_proof(
    pairs: dict[bytes, bytes], changes: dict[bytes, bytes | None], version: int
) -> None:
    """Change a trie over a full proof with the result of changing the stored trie."""
    root, nodes = stored(pairs, version)
    assert update(ProofState(root, nodes.values()).node, changes, version) == update(
        nodes.get, changes, version
    )


@given(PAIRS.filter(len), st.data())
def test_leaving_an_entry_out_never_makes_a_key_vanish_or_change(
    pairs: dict[bytes, bytes], data: st.DataObject
) -> None:
    """Report a missing node when an entry is left out, never another value or an absence."""
    root, nodes = stored(pairs, 1)
    entries = build_proof(nodes.get, pairs.get, pairs)
    entries.pop(data.draw(st.integers(0, len(entries) - 1)))
    state = ProofState(root, [*entries, b"useless", b""])
    for key, value in pairs.items():
        try:
            assert state.get(key) == value
        except MissingNode:
            continue


def test_a_hashed_value_that_is_not_in_the_proof_is_missing() -> None:
    """Name the hash of a value that the proof does not hold."""
    pairs = {b"k": b"v" * 100}
    root, nodes = stored(pairs, 1)
    state = ProofState(root, nodes.values())
    entry = state.find(b"k")
    assert entry is not None
    assert (entry.hashed, entry.value) == (True, blake2_256(b"v" * 100))
    with pytest.raises(MissingNode) as caught:
        state.get(b"k")
    assert (caught.value.key, caught.value.merkle_value) == (b"k", blake2_256(b"v" * 100))


def test_the_empty_state_needs_no_proof() -> None:
    """Read the empty state without a proof."""
    state = ProofState(EMPTY_ROOT, [])
    assert (state.get(b"k"), state.next_key(b""), state.node(b"")) == (None, None, None)
    assert build_proof({}.get, {}.get, [b"k"]) == [b"\0"]


def test_child_tries_are_read_below_their_root_in_the_top_trie() -> None:
    """Read child tries below their root in the top trie, and name the child where a node is missing."""
    child_root, child_nodes = stored({b"a": b"1", b"b": b"2" * 40}, 1)
    root, nodes = stored({CHILD_STORAGE_PREFIX + b"c": child_root, b"x": b"y"}, 1)
    state = ProofState(root, [*nodes.values(), *child_nodes.values(), b"2" * 40])
    assert (state.get(b"a", b"c"), state.get(b"b", b"c"), state.get(b"x", b"c")) == (b"1", b"2" * 40, None)
    assert (state.next_key(b"a", b"c"), state.next_key(b"b", b"c")) == (b"b", None)
    assert (state.get(b"a", b"none"), state.next_key(b"", b"none"), state.node(b"", b"none")) == (None,) * 3
    assert state.node(b"", b"c") == child_nodes[b""]
    with pytest.raises(MissingNode) as caught:
        ProofState(root, nodes.values()).get(b"a", b"c")
    assert caught.value.child == b"c"


@pytest.mark.parametrize("data", ["", "04", "0404", "0400ff", "feffffff", "fffffffffffffffffff0"])
def test_malformed_proof_lists_are_refused(data: str) -> None:
    """Refuse a malformed list of entries."""
    with pytest.raises(TrieError):
        decode_proof(bytes.fromhex(data))


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_proof_lists_survive(entries: list[bytes]) -> None:
    """Encode any list of entries and decode it."""
    assert decode_proof(encode_proof(entries)) == entries
