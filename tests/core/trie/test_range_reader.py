"""The one-pass reader of range proofs reads what a slow one reads, and refuses what that one refuses."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import (
    EMPTY_ROOT,
    Position,
    TrieError,
    TrieNode,
    build_range,
    encode_compact_proof,
    encode_node,
    range_reader,
    read_range,
)
from tests.core.trie.slow_ranges import slow_range
from tests.core.trie.strategies import PAIRS, VERSIONS
from tests.lengths import examples
from tests.support.core.proofs import stored
from tests.support.core.states import Held, Tables

CHILDREN = st.dictionaries(st.binary(min_size=1, max_size=3), PAIRS, max_size=3)
BOUNDS = st.sampled_from([0, 100, 3_000, range_reader.MAX_UNPROVEN_NIBBLES])


def has_equal_entries(state: Held) -> bool:
    """Return whether two entries of a state are equal."""
    values = [value for table in state.storage.values() for value in table.values() if len(value) > 32]
    entries = [*values, *(node for table in state.nodes.values() for node in table.values())]
    return len(set(entries)) < len(entries)


def assert_read_alike(items: list[bytes], state: Held, start: Position) -> Position | None:
    """Check that both readers agree about a proof, and each node is the state's; return where it ends.

    The slow one finds an entry also where only an equal one was sent, and may so get further.
    """
    state_range = read_range(items, state.root, start)
    pairs, following = slow_range(items, state.root, start)
    if has_equal_entries(state):
        assert state_range.pairs == pairs[: len(state_range.pairs)]
    else:
        assert (state_range.pairs, state_range.next) == (pairs, following)
    for child, path, encoded in state_range.nodes:
        assert state.node(path, child) == encoded
    assert len({(child, path) for child, path, _ in state_range.nodes}) == len(state_range.nodes)
    return state_range.next


@given(PAIRS, CHILDREN, VERSIONS, st.integers(1, 800), BOUNDS)
@settings(max_examples=examples(150), deadline=None)
def test_ranges_are_read_as_by_the_slow_reader(
    top: dict[bytes, bytes], children: Tables, version: int, most: int, bound: int
) -> None:
    """Read ranges of any state and size as the slow reader does, until the state is whole."""
    state = Held(top, children, version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_reader, "MAX_UNPROVEN_NIBBLES", bound)
        following: Position | None = ()
        while following is not None:
            start = following
            items, is_whole = build_range(state, start, most)
            following = assert_read_alike(items, state, start)
            assert following != start
            assert not is_whole or following is None


@given(PAIRS, VERSIONS, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_a_proof_with_any_entries_left_out_is_read_as_by_the_slow_reader(
    top: dict[bytes, bytes], version: int, data: st.DataObject
) -> None:
    """A range may end at any node or value, also before the start."""
    state = Held(top, {}, version)
    if state.root == EMPTY_ROOT:
        return
    entries = [*state.nodes[TOP].values(), *(value for value in top.values() if len(value) > 32)]
    left = data.draw(st.sets(st.sampled_from(entries), max_size=3))
    kept = [entry for entry in entries if entry not in left or entry == state.nodes[TOP][b""]]
    items = encode_compact_proof(state.root, kept)
    start = data.draw(st.sampled_from([(), *((key,) for key in top)]))
    assert_read_alike(items, state, start)


@given(PAIRS, VERSIONS, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_items_in_disorder_are_refused_by_both_readers_or_read_alike(
    top: dict[bytes, bytes], version: int, data: st.DataObject
) -> None:
    """Read items in disorder as the slow reader does, or refuse them with it."""
    state = Held(top, {}, version)
    items, _ = build_range(state, (), 2_000)
    at = data.draw(st.integers(0, len(items) - 1))
    other = data.draw(
        st.sampled_from([*items, b"", b"\x00", b"\x01", b"\x01\x40\x00", b"\x5f\x00", b"\x80\x01\x00\x00"])
    )
    spoilt = data.draw(
        st.sampled_from(
            [
                [*items[:at], *items[at + 1 :]],
                [*items[:at], other, *items[at:]],
                [*items[:at], other, *items[at + 1 :]],
                [*items, other],
                items[at:],
            ]
        )
    )
    try:
        slow = slow_range(spoilt, state.root, ())
    except TrieError:
        with pytest.raises(TrieError):
            read_range(spoilt, state.root, ())
    else:
        state_range = read_range(spoilt, state.root, ())
        assert (state_range.pairs, state_range.next) == slow


def with_child() -> tuple[bytes, list[bytes]]:
    """Return a root and the compact proof of a state with a child trie."""
    child_root, child_nodes = stored({b"a": b"1", b"b": b"2" * 40}, 1)
    root, nodes = stored({CHILD_STORAGE_PREFIX + b"c": child_root, b"x": b"y"}, 1)
    return root, encode_compact_proof(root, [*nodes.values(), *child_nodes.values(), b"2" * 40], [child_root])


def test_what_does_not_belong_to_the_range_is_refused() -> None:
    """Refuse a range with items missing, added, repeated or of another trie."""
    root, items = with_child()
    stranger_root, stranger_nodes = stored({b"q": b"r"}, 1)
    stranger = encode_compact_proof(stranger_root, list(stranger_nodes.values()))
    assert read_range(items, root, ()).next is None
    for broken in (
        [],
        items[:-1],
        [*items, b""],
        [*items, b"\x00"],
        items + stranger,
        [*items, *items[-3:]],
        [b"\x01" + items[0], *items[1:]],
        stranger,
    ):
        with pytest.raises(TrieError):
            read_range(broken, root, ())


@given(st.lists(st.binary(max_size=40) | st.just(b"\x80\xff\xff" + bytes(16)), max_size=12), st.booleans())
def test_any_items_are_refused(items: list[bytes], is_later: bool) -> None:
    """Refuse any items that do not lead to the root."""
    with pytest.raises(TrieError):
        read_range(items, bytes(32), (b"key",) if is_later else ())


def test_a_deep_proof_of_no_state_is_refused_without_recursion() -> None:
    """Refuse a chain of 20,000 nodes without recursion, for which the stack would be too small."""
    chain = [b"\x80\x01\x00\x00"] * 20_000
    for items in (chain, [*chain, b"\x41\x01\x04\x01"]):
        with pytest.raises(TrieError):
            read_range(items, bytes(32), ())


@pytest.mark.parametrize("inline", [False, True])
def test_unproven_keys_do_not_fill_the_memory(inline: bool) -> None:
    """A long partial key above many tiny leaves: keys and paths would take 600 MB."""
    leaf = b"\x40\x00"
    entry = b"\x08" + leaf if inline else b"\x00"
    branch = encode_node(TrieNode(b"", children=[b"\x00"] * 16))
    full = encode_node(TrieNode(b"", children=[entry] * 16))
    top = encode_node(TrieNode(bytes(99_999), children=[b"\x00"] * 16))
    items = [top, *[branch, *[full, *([] if inline else [leaf] * 16)] * 16] * 16]
    tracemalloc.start()
    try:
        with pytest.raises(TrieError, match="not of the state root"):
            read_range(items, bytes(32), ())
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_true_state_of_long_keys_is_read_nevertheless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a true state of long keys, though its keys exceed the bound for unproven ones."""
    monkeypatch.setattr(range_reader, "MAX_UNPROVEN_NIBBLES", 10_000)
    state = Held({bytes(900) + bytes((index,)): b"value" for index in range(40)})
    items, _ = build_range(state, (), 1 << 20)
    assert len(read_range(items, state.root, ()).pairs) == 40
