"""A state that travels in ranges: what arrives is the state, whatever the size of the pieces."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie import Position, TrieError, build_range, read_range, update
from tests.lengths import examples
from tests.support.core.states import Held, Tables, tables


def download(state: Held, most: int) -> tuple[Held, int]:
    """Return the state as a client puts it together, and how many pieces it took."""
    got, pieces, start = Held({}), 0, ()
    position: Position | None = start
    got.storage, got.nodes = {}, {}
    while position is not None:
        items, _ = build_range(state, position, most)
        state_range = read_range(items, state.root, position)
        assert state_range.next is None or state_range.next != position
        for child, key, value in state_range.pairs:
            assert key not in got.storage.get(child, {}), "nothing comes twice"
            got.storage.setdefault(child, {})[key] = value
        for child, path, node in state_range.nodes:
            got.nodes.setdefault(child, {})[path] = node
        position, pieces = state_range.next, pieces + 1
    return got, pieces


@given(tables, st.dictionaries(st.binary(min_size=1, max_size=3), tables, max_size=3), st.integers(1, 600))
@settings(max_examples=examples(150))
def test_a_state_arrives_as_it_is_in_pieces_of_any_size(
    top: dict[bytes, bytes], children: Tables, most: int
) -> None:
    """Put together the same state from pieces of any size."""
    state = Held(top, children)
    got, _ = download(state, most)
    assert got.storage == {name: table for name, table in state.storage.items() if table}
    assert got.nodes == {name: table for name, table in state.nodes.items() if table}


def test_pieces_are_about_as_large_as_asked() -> None:
    """Build pieces of about the size that is asked for."""
    state = Held({bytes((i, j)): bytes(200) + bytes((i, j)) for i in range(40) for j in range(10)})
    items, is_whole = build_range(state, (), 10_000)
    assert not is_whole
    assert 7_000 < sum(map(len, items)) < 13_000
    _, pieces = download(state, 10_000)
    assert 5 < pieces < 20


def test_two_child_tries_of_the_same_root_both_arrive() -> None:
    """Deliver two child tries of one root both."""
    same = {b"key": b"value" * 20}
    got, _ = download(Held({b"a": b"b"}, {b"one": same, b"two": same}), 100)
    assert got.storage[b"one"] == got.storage[b"two"] == same


def test_a_start_within_no_child_trie_is_refused() -> None:
    """Refuse a start within a child trie that does not exist."""
    state = Held({b"a": b"b"})
    with pytest.raises(TrieError, match="no root of a child trie"):
        build_range(state, (CHILD_STORAGE_PREFIX + b"x", b""), 100)


def test_an_empty_state_is_whole_at_once() -> None:
    """Send the empty state whole, in one piece."""
    items, is_whole = build_range(Held({}), (), 100)
    assert is_whole
    assert read_range(items, Held({}).root, ()).next is None


def test_a_single_spoilt_byte_never_shows_a_false_pair() -> None:
    """Read no false pair from a piece in which a byte is spoilt."""
    state = Held({b"key %d" % i: b"value %d" % i * (i % 9) for i in range(60)})
    items, _ = build_range(state, (b"key 2",), 600)
    true = set(read_range(items, state.root, (b"key 2",)).pairs)
    for index, item in enumerate(items):
        for at in range(len(item)):
            spoilt = [
                *items[:index],
                item[:at] + bytes((item[at] ^ 1,)) + item[at + 1 :],
                *items[index + 1 :],
            ]
            with suppress(TrieError):
                assert set(read_range(spoilt, state.root, (b"key 2",)).pairs) <= true


def test_a_proof_of_another_state_is_refused() -> None:
    """Refuse a piece of another state."""
    items, _ = build_range(Held({b"a": b"b"}), (), 100)
    with pytest.raises(TrieError):
        read_range(items, update(lambda _: None, {b"a": b"c"}, 1).root, ())


def test_the_shares_of_all_pieces_are_the_whole() -> None:
    """Sum the shares of all pieces to one: the progress of a download is measured by them."""
    state = Held({bytes((i, j)): bytes(200) + bytes((i, j)) for i in range(40) for j in range(10)})
    position: Position | None = ()
    shares = []
    while position is not None:
        items, _ = build_range(state, position, 9_000)
        state_range = read_range(items, state.root, position)
        position = state_range.next
        shares.append(state_range.share)
    assert len(shares) > 5
    assert all(0 < share < 0.3 for share in shares)
    assert abs(sum(shares) - 1) < 1e-9
