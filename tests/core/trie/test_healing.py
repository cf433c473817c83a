"""A state put together from several ones becomes the newest of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.hashing import blake2_256
from cfnode.core.state import TOP
from cfnode.core.trie import Healing, MissingSubtrie, trie_rows
from tests.core.trie.proofs import build_proof
from tests.lengths import examples
from tests.support.core.states import Held, tables

states = st.builds(Held, tables, st.dictionaries(st.sampled_from([b"one", b"two"]), tables, max_size=2))
Rows = dict[bytes, dict[bytes, bytes]]


def mixed(older: Held, newer: Held, turns: list[bool]) -> Held:
    """Return rows of the older state and of the newer one, as the turns say; the root of the newer."""
    mix, turn = Held({}), iter(turns)

    def rows(before: Rows, after: Rows) -> Rows:
        chosen: Rows = {}
        for child in sorted(before.keys() | after.keys()):
            old, new = before.get(child, {}), after.get(child, {})
            for key in sorted(old.keys() | new.keys()):
                row = (old if next(turn, True) else new).get(key)
                if row is not None:
                    chosen.setdefault(child, {})[key] = row
        return chosen

    mix.root = newer.root
    mix.storage, mix.nodes = rows(older.storage, newer.storage), rows(older.nodes, newer.nodes)
    return mix


def prove(state: Held, subtrie: MissingSubtrie) -> bytes:
    """Return the missing entry, out of the proof of its key."""
    proof = build_proof(
        lambda path: state.node(path, subtrie.child), lambda key: state.get(key, subtrie.child), [subtrie.key]
    )
    return next(entry for entry in proof if blake2_256(entry) == subtrie.hash)


def complete(mix: Held, newer: Held, most: int) -> Healing:
    """Walk over the mixed rows, a few at a time, and put in what is missing."""
    healing = Healing(newer.root)
    while not healing.done:
        walked = healing.walk(mix, most, 3)
        for child, key, value in walked.values:
            mix.storage.setdefault(child, {})[key] = value
        for subtrie in walked.missing:
            rows, name = (mix.storage, subtrie.key) if subtrie.is_value else (mix.nodes, subtrie.path)
            rows.setdefault(subtrie.child, {})[name] = prove(newer, subtrie)
            healing.complete(subtrie)
    return healing


def count(rows: Rows) -> int:
    """Count rows over all tries."""
    return sum(map(len, rows.values()))


@given(states, states, st.lists(st.booleans(), max_size=80), st.integers(1, 50))
@settings(max_examples=examples(150), deadline=None)
def test_rows_of_two_states_become_the_newer_one(
    older: Held, newer: Held, turns: list[bool], most: int
) -> None:
    """Complete rows of two states to the newer one, and count its keys and nodes."""
    mix = mixed(older, newer, turns)
    healing = complete(mix, newer, most)
    for mine, theirs in ((mix.storage, newer.storage), (mix.nodes, newer.nodes)):
        for child, rows in theirs.items():
            assert mine.get(child, {}).items() >= rows.items()
    assert (healing.keys, healing.nodes) == (count(newer.storage), count(newer.nodes))


def test_unchanged_nodes_are_not_missing() -> None:
    """Ask only for nodes that changed."""
    entries = {bytes([first, second]): bytes([second]) * 50 for first in range(30) for second in range(30)}
    older, newer = Held(entries), Held({**entries, bytes([7, 7]): b"changed" * 9})
    before = dict(older.nodes[TOP])
    healing, missing = Healing(newer.root), list[MissingSubtrie]()
    older.root = newer.root
    while not healing.done:
        walked = healing.walk(older, 10_000, 100)
        missing += walked.missing
        for subtrie in walked.missing:
            rows, name = (older.storage, subtrie.key) if subtrie.is_value else (older.nodes, subtrie.path)
            rows[TOP][name] = prove(newer, subtrie)
            healing.complete(subtrie)
    changed = [path for path, node in newer.nodes[TOP].items() if before.get(path) != node]
    assert sorted(subtrie.path for subtrie in missing if not subtrie.is_value) == sorted(changed)
    assert [subtrie.key for subtrie in missing if subtrie.is_value] == [bytes([7, 7])]


@given(states)
@settings(max_examples=examples(50), deadline=None)
def test_the_rows_of_a_trie_come_in_order_and_are_all_there_are(state: Held) -> None:
    """Walk the rows of each trie in order and miss none."""
    roots = {TOP: state.root}
    for child in (TOP, *sorted(state.storage.keys() - {TOP})):
        if child != TOP:
            roots[child] = state.storage[TOP][b":child_storage:default:" + child]
        rows = list(trie_rows(state, child, roots[child]))
        paths = [path for path, _, _ in rows if path is not None]
        keys = [key for _, key, _ in rows if key is not None]
        assert paths == sorted(state.nodes.get(child, {}))
        assert keys == sorted(state.storage.get(child, {}))
