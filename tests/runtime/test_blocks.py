"""Executing and building blocks by the runtime's entry points, without any process."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from cfnode.core.aura import pre_runtime_item
from cfnode.core.hashing import blake2_256
from cfnode.core.state import TOP
from cfnode.runtime.blocks import MAX_SKIPPED, BuildOrder, build_block, execute_block
from cfnode.runtime.calls import BlockRefused, BuiltBlock, RuntimeTrap
from cfnode.runtime.journal import Journal
from tests.runtime.memory_state import MemoryState
from tests.runtime.toy import CODE, Toy, extrinsic, put

PARENT = bytes(32)
BASE = {b":code": CODE, b"old": b"value"}
ORDER = BuildOrder(PARENT, 1, (pre_runtime_item(5),), [(b"timstap0", b"now")], [], 1.0)


def build(order: BuildOrder, base: dict[bytes, bytes] = BASE, steps: float = 0.0) -> BuiltBlock:
    """Build a block on a state; the clock advances by `steps` at each look."""
    ticks = count()
    return build_block(Toy(), Journal(MemoryState(base)), order, lambda: next(ticks) * steps)


def execute(built: BuiltBlock, base: dict[bytes, bytes] = BASE) -> None:
    """Execute a built block on its parent's state and check the root."""
    changes = execute_block(Toy(), Journal(MemoryState(base)), built.header, built.body)
    assert changes.root == built.header.state_root


def test_a_built_block_holds_inherents_and_candidates_and_executes_to_the_same_state() -> None:
    """Build a block of inherents, then candidates, that executes to the same state."""
    built = build(replace(ORDER, candidates=[put(b"a", b"1"), put(b"b", b"2")]))
    assert built.body == [put(b"timstap0", b"now"), put(b"a", b"1"), put(b"b", b"2")]
    assert (built.header.parent_hash, built.header.number) == (PARENT, 1)
    assert built.header.digest == (pre_runtime_item(5),)
    assert built.changes.storage[TOP][b"a"] == b"1"
    assert built.changes.root == built.header.state_root
    execute(built)


def test_a_candidate_that_can_never_be_included_is_refused_and_leaves_no_changes() -> None:
    """Refuse a candidate that can never be included, with its reason, and undo what it has written."""
    stale, trap, good = extrinsic(b"s", b"1"), extrinsic(b"t", b"lost\0"), put(b"a", b"1")
    built = build(replace(ORDER, candidates=[stale, trap, good]))
    assert built.body[1:] == [good]
    assert [refused for refused, _ in built.refused] == [blake2_256(stale), blake2_256(trap)]
    assert built.refused[0][1] == "its nonce is used"
    assert "on request" in built.refused[1][1]
    assert b"lost" not in built.changes.storage[TOP]
    execute(built)


def test_a_candidate_that_does_not_fit_is_neither_included_nor_refused() -> None:
    """Skip a candidate that does not fit, for a later block, and stop after too many of them."""
    built = build(replace(ORDER, candidates=[extrinsic(b"x"), put(b"a", b"1")]))
    assert (built.body[1:], built.refused) == ([put(b"a", b"1")], [])
    full = [extrinsic(b"x", bytes([i])) for i in range(MAX_SKIPPED)]
    assert build(replace(ORDER, candidates=[*full, put(b"a", b"1")])).body[1:] == []


def test_no_candidate_is_tried_after_the_deadline() -> None:
    """Try no candidate after the deadline: the slot would be missed."""
    candidates = [put(b"%d" % i, b"") for i in range(10)]
    built = build(replace(ORDER, candidates=candidates), steps=0.3)
    assert built.body[1:] == candidates[:3]
    execute(built)


def test_an_open_transaction_of_a_call_is_rolled_back() -> None:
    """Roll back a transaction that a call has left open."""
    built = build(replace(ORDER, candidates=[extrinsic(b"o", b"open\0v"), put(b"a", b"1")]))
    assert b"open" not in built.changes.storage[TOP]


def test_only_inherents_are_applied_in_that_mode() -> None:
    """Apply inherents alone where the runtime demands it."""
    built = build(replace(ORDER, candidates=[put(b"a", b"1")]), BASE | {b"only-inherents": b"1"})
    assert built.body == [put(b"timstap0", b"now")]


def test_a_refused_inherent_ends_the_building() -> None:
    """End the building when an inherent is refused: the block would be invalid."""

    class Strict(Toy):
        def BlockBuilder_apply_extrinsic(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
            return bytes.fromhex("010105")

    with pytest.raises(BlockRefused, match=r"inherent.*reason 5"):
        build_block(Strict(), Journal(MemoryState(BASE)), ORDER, lambda: 0.0)


@pytest.mark.parametrize("field", ["state_root", "extrinsics_root", "digest"])
def test_a_header_that_does_not_match_is_refused(field: str) -> None:
    """Refuse a header whose roots or digest differ from what the execution gives."""
    built = build(replace(ORDER, candidates=[put(b"a", b"1")]))
    wrong = {"digest": (*built.header.digest, pre_runtime_item(6))}.get(field, b"\x01" * 32)
    header = replace(built.header, **{field: wrong})
    if field == "digest":

        class Forgetful(Toy):
            def Core_initialize_block(self, args: bytes, journal: Journal) -> bytes:  # noqa: N802
                return super().Core_initialize_block(built.header.encode(), journal)

        runtime: Toy = Forgetful()
    else:
        runtime = Toy()
    with pytest.raises(BlockRefused, match=field.replace("_", " ")):
        execute_block(runtime, Journal(MemoryState(BASE)), header, built.body)


def test_a_changed_body_is_refused() -> None:
    """Refuse a body with an extrinsic missing, added or moved, or one that traps."""
    built = build(replace(ORDER, candidates=[put(b"a", b"1")]))
    for body in (built.body[:1], [*built.body, built.body[0]], [built.body[1], built.body[0]]):
        with pytest.raises(BlockRefused):
            execute(replace(built, body=body))
    with pytest.raises(RuntimeTrap):
        execute(replace(built, body=[extrinsic(b"s")]))
