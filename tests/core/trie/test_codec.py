"""Trie nodes as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_256
from cfnode.core.trie import TrieError, TrieNode, decode_node, encode_node
from cfnode.core.trie.codec import merkle_entry
from tests.conftest import shared

CHILD = merkle_entry(b"\x41\x00\x04x")
HASHED_CHILD = merkle_entry(b"\x40" * 40)


def branch(*at: int, value: bytes | None = None, hashed: bool = False, partial: bytes = b"") -> TrieNode:
    """Return a branch with children at some nibbles."""
    return TrieNode(partial, value, hashed, [HASHED_CHILD if i in at else b"" for i in range(16)])


def test_the_branch_with_a_partial_key_seen_on_chain_encodes_to_the_same_bytes() -> None:
    """Encode a branch with a partial key, recorded on a chain, to the same bytes."""
    data = bytes.fromhex(shared("vectors", "smoldot", "trie-node-branch-partial-key.hex").read_text())
    node = decode_node(data)
    assert node.children is not None
    assert encode_node(node) == data


@pytest.mark.parametrize(
    ("node", "head"),
    [
        (TrieNode(b"", b"v"), 0b01000000),
        (TrieNode(b"", b"h" * 32, True), 0b00100000),
        (branch(1, 2), 0b10000000),
        (branch(1, 2, value=b"v"), 0b11000000),
        (branch(1, 2, value=b"h" * 32, hashed=True), 0b00010000),
    ],
)
def test_each_kind_of_node_has_its_header(node: TrieNode, head: int) -> None:
    """Begin each kind of node with its header bits, and decode it."""
    data = encode_node(node)
    assert data[0] == head
    assert decode_node(data) == node


@pytest.mark.parametrize("length", [0, 1, 14, 15, 16, 30, 31, 32, 62, 63, 64, 317, 318, 319, 600])
def test_partial_keys_of_any_length_survive(length: int) -> None:
    """Encode and decode partial keys of any length, around the steps of their count."""
    partial = bytes(i % 16 for i in range(length))
    for node in (
        TrieNode(partial, b"v"),
        TrieNode(partial, b"h" * 32, True),
        branch(0, 15, partial=partial),
        branch(3, partial=partial, value=b"h" * 32, hashed=True),
    ):
        assert decode_node(encode_node(node)) == node


def test_a_long_partial_key_is_counted_in_steps_of_255() -> None:
    """Count a long partial key in steps of 255."""
    assert encode_node(TrieNode(bytes(63), b""))[:2] == bytes([0x7F, 0])
    assert encode_node(TrieNode(bytes(63 + 255), b""))[:3] == bytes([0x7F, 255, 0])


def test_a_small_child_stands_inside_and_a_large_one_by_its_hash() -> None:
    """Put a child below 32 bytes into its parent, and a larger one as its hash."""
    small, large = b"\x41\x00\x04x", b"\x40" * 32
    assert merkle_entry(small) == bytes([4 * 4]) + small
    assert merkle_entry(large) == bytes([32 * 4]) + blake2_256(large)
    node = TrieNode(b"\x05", None, False, [CHILD, HASHED_CHILD] + [b""] * 14)
    assert decode_node(encode_node(node)) == node


@pytest.mark.parametrize(
    "data",
    [
        "",
        "00",  # the empty trie is no node of a trie
        "01",
        "41",  # partial key cut off
        "411104ff",  # padding not zero
        "40",  # no value
        "4008ff",  # value cut off
        "4004ffff",  # a byte too many
        "4001ff",  # a compact length cut off
        "80",
        "800000",  # no child
        "80010000",  # a child of no bytes
        "800100" + "84" + "00" * 33,  # a child of more than 32 bytes
        "800100" + "80" + "00" * 31,
        "800100" + "80" + "00" * 33,
        "20" + "00" * 31,
        "7f" + "ff" * 2000,  # a key of half a million nibbles
    ],
)
def test_bytes_that_are_no_node_are_refused(data: str) -> None:
    """Refuse bytes that are not a node in its only form: two forms would have two hashes."""
    with pytest.raises(TrieError):
        decode_node(bytes.fromhex(data))


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: b"\x80\x01\x00" + b))
def test_any_bytes_decode_to_a_node_that_encodes_to_them_or_are_refused(data: bytes) -> None:
    """Answer any bytes with a node that encodes to them, or a TrieError."""
    try:
        node = decode_node(data)
    except TrieError:
        return
    assert encode_node(node) == data
