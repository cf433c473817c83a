"""What the votes of one round decide, after the rules of finality-grandpa."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import (
    PRECOMMIT,
    PREVOTE,
    AuthoritySet,
    CatchUp,
    CatchUpRequest,
    Precommit,
    Round,
    Vote,
    sign_payload,
    verify_commit,
)
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import MAX_CATCH_UP_BYTES, decode_gossip

ALICE, BOB, CAROL, DAVE = (Keypair.from_suri(f"//{name}", "ed25519") for name in "abcd")
SET = AuthoritySet(7, tuple((key.public, 1) for key in (ALICE, BOB, CAROL, DAVE)))


def block(name: str) -> bytes:
    """Return the hash of a named block."""
    return name.encode().ljust(32, b".")


PARENTS = dict(zip("BCDE", "ABCD", strict=True)) | dict(zip("XYZ", "CXY", strict=True))
"""A - B - C - D - E, and X - Y - Z on C."""
NUMBERS = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 5, "X": 4, "Y": 5, "Z": 6}


def ref(name: str) -> BlockRef:
    """Return the hash and number of a named block."""
    return BlockRef(block(name), NUMBERS[name])


def parent(of: bytes) -> bytes | None:
    """Return the parent's hash, or None at the root and for unknown blocks."""
    return next((block(below) for name, below in PARENTS.items() if block(name) == of), None)


def vote(key: Keypair, stage: int, name: str) -> Vote:
    """Return a vote for a named block, signed for round 3 of set 7."""
    payload = sign_payload(block(name), NUMBERS[name], 3, 7, stage)
    return Vote(3, 7, stage, block(name), NUMBERS[name], key.sign(payload), key.public)


def round_of(prevotes: str = "", precommits: str = "", base: str = "A") -> Round:
    """Return a round: the votes by authority, from Alice on; a dot: no vote."""
    made = Round(3, SET, ref(base), parent)
    for stage, names in ((PREVOTE, prevotes), (PRECOMMIT, precommits)):
        for key, name in zip((ALICE, BOB, CAROL, DAVE), names, strict=False):
            assert name == "." or made.add(vote(key, stage, name))
    return made


@pytest.mark.parametrize(
    ("prevotes", "precommits", "ghost", "final", "estimate", "completable"),
    [
        ("", "", None, None, None, False),
        ("DD", "", None, None, None, False),
        ("DDE", "", "D", None, "D", False),
        ("DEZ", "", "C", None, "C", False),
        ("DDE", "DD", "D", None, "D", False),
        ("DDE", "DDD", "D", "D", "D", True),
        ("EEE", "DDD", "E", "D", "D", True),  # E could have two of three: no threshold
        ("EEE", "DDE", "E", "D", "E", True),  # Dave, and one who votes twice
        ("DDD", "DDE", "D", "D", "D", False),  # E could become final above the ghost
        ("DDDD", "DDDD", "D", "D", "D", True),
        ("EEEE", "EEZZ", "E", "C", "E", True),  # one of the other two may vote twice
        ("CCC", "EE", "C", None, "C", False),
    ],
)
def test_what_a_round_decides(
    prevotes: str,
    precommits: str,
    ghost: str | None,
    final: str | None,
    estimate: str | None,
    completable: bool,
) -> None:
    """Decide ghost, finalized block, estimate and completeness by the rules of finality-grandpa."""
    state = round_of(prevotes, precommits).state
    decided = (state.prevote_ghost, state.finalized, state.estimate, state.completable)
    assert decided == (*(name and ref(name) for name in (ghost, final, estimate)), completable)


def test_the_commit_of_a_round_holds_by_the_rules_of_commits() -> None:
    """Make a commit that verifies, from those votes that are for the block or above it."""
    assert round_of(precommits="DD").commit() is None
    message = round_of(precommits="DDEZ").commit()
    assert message is not None
    assert (message.round, message.set_id, message.commit.target_hash) == (3, 7, block("D"))
    assert {vote.authority for vote in message.commit.precommits} == {ALICE.public, BOB.public, CAROL.public}
    verify_commit(message.commit, 3, SET, parent)


def test_an_authority_that_votes_twice_counts_for_every_block_and_a_third_vote_for_nothing() -> None:
    """Count an equivocator for every block, and ignore its third vote: two prove the fraud."""
    made = round_of(precommits="DDZ")
    before = made.commit()
    assert before is not None
    assert before.commit.target_hash == block("C")
    assert made.add(vote(CAROL, PRECOMMIT, "Y"))
    assert not made.add(vote(CAROL, PRECOMMIT, "E"))
    message = made.commit()
    assert message is not None
    assert message.commit.target_hash == block("D")
    assert len(message.commit.precommits) == 4


def test_votes_that_do_not_descend_from_the_base_or_name_another_number_do_not_count() -> None:
    """Ignore a vote below the round's base, with a wrong number, for an unknown block, or cast again."""
    made = round_of(base="C")
    assert not made.add(vote(ALICE, PREVOTE, "B"))
    wrong = Vote(3, 7, PREVOTE, block("E"), 6, bytes(64), ALICE.public)
    assert not made.add(wrong)
    assert not made.add(Vote(3, 7, PREVOTE, bytes(32), 4, bytes(64), ALICE.public))
    assert made.add(vote(ALICE, PREVOTE, "E"))
    assert not made.add(vote(ALICE, PREVOTE, "E"))
    assert made.voted(ALICE.public, PREVOTE)
    assert not made.voted(ALICE.public, PRECOMMIT)


def test_a_catch_up_carries_the_whole_round() -> None:
    """Carry all votes of a round in a catch-up, so that another voter reaches the same state."""
    made = round_of("DDE", "DDD")
    answer = made.catch_up()
    assert decode_gossip(answer.encode()) == answer
    other = Round(3, SET, BlockRef(answer.base_hash, answer.base_number), parent)
    assert all(vote.is_signed() and other.add(vote) for vote in answer.votes())
    assert other.state == made.state
    with pytest.raises(WireError, match="a catch-up of"):
        decode_gossip(b"\x04" + bytes(MAX_CATCH_UP_BYTES))
    with pytest.raises(WireError):
        decode_gossip(answer.encode()[:-1])


def test_a_vote_is_signed_for_its_round_set_and_stage() -> None:
    """Sign a vote for its round, set and stage: a replayed vote must not verify elsewhere."""
    good = vote(ALICE, PREVOTE, "D")
    assert len(good.encode()) == 150
    assert good.is_signed()
    assert not Vote.of(good.signed(), 3, 7, PRECOMMIT).is_signed()
    assert not Vote.of(good.signed(), 4, 7, PREVOTE).is_signed()
    assert not Vote.of(good.signed(), 3, 8, PREVOTE).is_signed()
    data = bytearray(good.encode())
    data[17] = 3
    with pytest.raises(ScaleError, match="stage 3"):
        Vote.decode(bytes(data))
    with pytest.raises(ScaleError):
        Vote.decode(good.encode() + b"\0")


SIGNED = st.builds(
    Precommit, st.binary(min_size=32, max_size=32), st.integers(0, 2**32 - 1),
    st.binary(min_size=64, max_size=64), st.binary(min_size=32, max_size=32),
)  # fmt: skip
U64 = st.integers(0, 2**64 - 1)


@given(st.builds(Vote.of, SIGNED, U64, U64, st.integers(0, 2)))
def test_votes_decode_to_what_was_encoded(message: Vote) -> None:
    """Write any vote as gossip and read it back."""
    assert decode_gossip(message.encode()) == message


@given(st.builds(CatchUpRequest, U64, U64))
def test_requests_decode_to_what_was_encoded(message: CatchUpRequest) -> None:
    """Write any catch-up request as gossip and read it back."""
    assert decode_gossip(message.encode()) == message


VOTES = st.lists(SIGNED, max_size=3).map(tuple)


@given(st.builds(CatchUp, U64, U64, VOTES, VOTES, st.binary(min_size=32, max_size=32), st.integers(0, 99)))
def test_catch_ups_decode_to_what_was_encoded(message: CatchUp) -> None:
    """Write any catch-up as gossip and read it back."""
    assert decode_gossip(message.encode()) == message
