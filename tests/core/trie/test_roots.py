"""Roots of whole sets: known ones, and those of an independent implementation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.trie import EMPTY_ROOT, RootOfSorted, ordered_root, root, update
from tests.conftest import shared
from tests.core.trie.naive import naive_root
from tests.core.trie.strategies import PAIRS, VERSIONS
from tests.lengths import examples


def expected() -> dict[str, object]:
    """Return what smoldot's tests know of the vectors."""
    return json.loads(shared("vectors", "smoldot", "expected.json").read_text())  # type: ignore[no-any-return]


def test_published_roots_of_both_state_versions() -> None:
    """Compute published roots in both state versions."""
    cases = expected()["trie_roots"]
    assert isinstance(cases, list)
    assert len(cases) == 2
    for case in cases:
        pairs = {key.encode(): value.encode() for key, value in case["entries_utf8"].items()}
        assert root(pairs, case["version"]).hex() == case["root"]


def test_the_empty_trie_has_its_own_root() -> None:
    """Give the empty trie its known root in both versions."""
    assert EMPTY_ROOT.hex() == "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"
    assert root({}, 1) == root({}, 0) == ordered_root([], 0) == EMPTY_ROOT


def test_the_main_net_genesis_has_its_state_root_only_in_version_one(berghain_spec: Path) -> None:
    """Compute the main net's genesis root, which it has in version 1 only."""
    raw = json.loads(berghain_spec.read_text())["genesis"]["raw"]["top"]
    pairs = {bytes.fromhex(k[2:]): bytes.fromhex(v[2:]) for k, v in raw.items()}
    known = json.loads(shared("vectors", "chainflip", "genesis-expected.json").read_text())["berghain"]
    assert root(pairs, 1).hex() == known["state_root"]
    assert root(pairs, 0).hex().startswith(known["wrong_if_state_version_0"]["state_root_prefix"])


def test_a_value_above_32_bytes_is_hashed_in_version_one_only() -> None:
    """Hash a value above 32 bytes in version 1 only."""
    assert root({b"k": b"v" * 32}, 0) == root({b"k": b"v" * 32}, 1)
    assert root({b"k": b"v" * 33}, 0) != root({b"k": b"v" * 33}, 1)


@settings(max_examples=examples(150))
@given(PAIRS, VERSIONS)
def test_roots_agree_with_an_independent_trie(pairs: dict[bytes, bytes], version: int) -> None:
    """Compute the root that an independent trie has."""
    assert root(pairs, version) == naive_root(pairs, version)


@settings(max_examples=examples(60))
@given(PAIRS, VERSIONS)
def test_a_trie_built_from_left_to_right_is_the_one_that_changes_make(
    pairs: dict[bytes, bytes], version: int
) -> None:
    """Compute one root from sorted pairs and from changes."""
    assert root(pairs, version) == update(lambda _path: None, pairs, version).root


def test_pairs_that_are_not_in_order_have_no_root() -> None:
    """Refuse pairs that are not in order."""
    whole = RootOfSorted(1)
    whole.add(b"b", b"1")
    for key in (b"a", b"b", b""):
        with pytest.raises(ValueError, match="does not follow 0x62"):
            whole.add(key, b"2")


@settings(max_examples=examples(20))
@given(st.lists(st.binary(max_size=60), max_size=80), VERSIONS)
def test_ordered_roots_use_the_compact_index_as_key(items: list[bytes], version: int) -> None:
    """Compute the root of a list under its compact indices, as extrinsics are hashed."""
    keys = [bytes([i * 4]) if i < 64 else (i * 4 + 1).to_bytes(2, "little") for i in range(len(items))]
    assert ordered_root(items, version) == naive_root(dict(zip(keys, items, strict=True)), version)
