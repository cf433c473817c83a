"""A recorded proof shows what was read, all of it and nothing else; a walk finds its way step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.trie import EMPTY_ROOT, MissingNode, ProofState, Recorder, TrieError, prove_keys
from tests.core.trie.strategies import KEYS, PAIRS
from tests.lengths import examples
from tests.runtime.memory_state import MemoryState

QUESTIONS = st.lists(
    st.tuples(st.sampled_from(["get", "next_key", "node"]), KEYS, st.sampled_from([b"", b"child", b"none"])),
    max_size=12,
)
LARGE = 1 << 20
EMPTY_TRIE = b"\0"


def ask(state: object, questions: list[tuple[str, bytes, bytes]]) -> list[bytes | None]:
    """Return the answers of a state to questions."""
    return [
        getattr(state, method)(bytes(b & 15 for b in key) if method == "node" else key, child)
        for method, key, child in questions
    ]


@given(PAIRS, PAIRS, QUESTIONS)
@settings(max_examples=examples(60))
def test_a_proof_covers_all_reads_of_the_state(
    top: dict[bytes, bytes], child: dict[bytes, bytes], questions: list[tuple[str, bytes, bytes]]
) -> None:
    """Record a proof that answers all reads, and of which no entry can be left out."""
    state = MemoryState(top, **({"child": child} if child else {}))
    recorder = Recorder(state)
    answers = ask(recorder, questions)
    assert answers == ask(state, questions)
    proof = recorder.proof(LARGE)
    proven = ProofState(state.root, proof)
    assert ask(proven, questions) == answers
    proven.check_needed()
    for left_out in (entry for entry in proof if entry != EMPTY_TRIE):
        with pytest.raises(MissingNode):
            ask(ProofState(state.root, [entry for entry in proof if entry != left_out]), questions)


@given(PAIRS, KEYS)
@settings(max_examples=examples(60))
def test_what_belongs_to_nothing_is_found(pairs: dict[bytes, bytes], key: bytes) -> None:
    """Refuse a proof with an entry that no read needs: peers could pad their answers."""
    state = MemoryState(pairs)
    proof = prove_keys(state, [key], max_bytes=LARGE)
    with pytest.raises(TrieError, match="1 of"):
        ProofState(state.root, [*proof, b"an entry that no node names, longer than a hash"]).check_needed()


def test_a_proof_has_a_limit() -> None:
    """Refuse to build a proof over its limit in bytes."""
    state = MemoryState({bytes((n,)): bytes(100) + bytes((n,)) for n in range(50)})
    with pytest.raises(TrieError, match="too large"):
        prove_keys(state, [bytes((n,)) for n in range(50)], max_bytes=3_000)


@given(PAIRS, KEYS, st.integers(1, 40))
@settings(max_examples=examples(60))
def test_proofs_of_unknown_branches_lead_through_all_keys(
    pairs: dict[bytes, bytes], key: bytes, most: int
) -> None:
    """Lead through all keys behind a key by proofs of the branches that are still unknown."""
    state = MemoryState(pairs)
    proven = ProofState(state.root, prove_keys(state, [], max_bytes=LARGE))
    rounds = 0
    while unknown := proven.unknown_after(key, most):
        proven.add(prove_keys(state, unknown, max_bytes=LARGE))
        rounds += 1
        assert rounds < 200
    keys, last = [], proven.next_key(key)
    while last is not None:
        keys.append(last)
        last = proven.next_key(last)
    assert keys == sorted(k for k in pairs if k > key)


def test_many_branches_come_in_as_many_rounds_as_the_trie_is_deep() -> None:
    """Learn many branches in as many rounds as the trie is deep, not one by one."""
    pairs = {n.to_bytes(2, "big"): bytes(40) for n in range(0, 65536, 64)}
    state = MemoryState(pairs)
    proven, rounds = ProofState(state.root, []), 0
    while unknown := proven.unknown_after(b"", 4096):
        proven.add(prove_keys(state, unknown, max_bytes=LARGE))
        rounds += 1
    assert rounds <= 4
    assert state.root != EMPTY_ROOT
