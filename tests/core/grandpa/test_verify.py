"""What finalizes a block, and what does not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.grandpa import (
    AuthoritySet,
    Commit,
    FinalityError,
    Justification,
    Precommit,
    WarpProof,
    sign_payload,
    threshold,
    verify_commit,
    verify_justification,
    verify_warp_proof,
)
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ScaleError
from tests.conftest import shared

PAIRS = [Keypair.from_suri(f"//{i}", "ed25519") for i in range(5)]
SET = AuthoritySet(
    9, tuple((pair.public, weight) for pair, weight in zip(PAIRS, (5, 1, 1, 1, 1), strict=True))
)


def cases(name: str) -> list[Any]:
    """Return the cases of a file of synthetic vectors."""
    return list(json.loads(shared("vectors", "synthetic", name).read_text())["cases"])


def authorities(listed: list[Any], set_id: int) -> AuthoritySet:
    """Return an authority set of keys in hex and weights."""
    return AuthoritySet(set_id, tuple((bytes.fromhex(key), weight) for key, weight in listed))


def test_thresholds_are_those_of_the_voters() -> None:
    """Set the threshold to the least weight over two thirds, as smoldot's values have it."""
    known = json.loads(shared("vectors", "smoldot", "expected.json").read_text())
    for total, wanted in known["grandpa_threshold_by_total_weight"].items():
        assert threshold(int(total)) == wanted
    assert all(threshold(n) * 3 > 2 * n >= (threshold(n) - 1) * 3 for n in range(1, 400))


def test_every_synthetic_justification_has_the_expected_verdict() -> None:
    """Judge each of the 15 synthetic justifications as their author expects."""
    vectors = cases("grandpa-justifications.json")
    assert len(vectors) == 15
    for case in vectors:
        justification = Justification.decode(bytes.fromhex(case["justification"]))
        voters = authorities(case["authorities"], case["set_id"])
        try:
            verify_justification(justification, voters)
            verdict = True
        except FinalityError:
            verdict = False
        assert verdict == case["valid"], (case["name"], case["why"])


def test_every_synthetic_warp_proof_has_the_expected_result() -> None:
    """Judge each of the 9 synthetic warp proofs as expected, and refuse one that begins at a known block."""
    vectors = cases("warp-proofs.json")
    assert len(vectors) == 9
    for case in vectors:
        start = authorities(case["start_authorities"], case["start_set_id"])
        if not case["valid"]:
            with pytest.raises((FinalityError, ScaleError)):
                verify_warp_proof(WarpProof.decode(bytes.fromhex(case["proof"])), start)
            continue
        proof = WarpProof.decode(bytes.fromhex(case["proof"]))
        assert proof.encode().hex() == case["proof"]
        target, result = verify_warp_proof(proof, start), case["result"]
        assert target.authorities == authorities(result["authorities"], result["set_id"])
        assert (target.header.hash.hex(), target.header.number) == (result["hash"], result["number"])
        assert target.finished == result["finished"]
        with pytest.raises(FinalityError, match="follows"):
            verify_warp_proof(proof, start, after=proof.fragments[0].header.number)


# --- a small chain of our own: #10 <- #11 <- #12, and a fork #11'


def child(parent: Header, mark: int = 0) -> Header:
    """Return a header on a parent; another mark gives another block."""
    return Header(parent.hash, parent.number + 1, bytes([mark]) * 32, bytes(32))


TEN = Header(bytes(32), 10, bytes(32), bytes(32))
ELEVEN = child(TEN)
TWELVE = child(ELEVEN)
FORK = child(TEN, 1)


def vote(voter: int, block: Header, round_number: int = 3, set_id: int = 9) -> Precommit:
    """Return a voter's signed precommit for a block."""
    payload = sign_payload(block.hash, block.number, round_number, set_id)
    return Precommit(block.hash, block.number, PAIRS[voter].sign(payload), PAIRS[voter].public)


def justify(target: Header, votes: list[Precommit], *ancestries: Header) -> Justification:
    """Return a justification of round 3 for a block."""
    return Justification(3, Commit(target.hash, target.number, tuple(votes)), ancestries)


def refused(justification: Justification, voters: AuthoritySet = SET) -> str:
    """Return the error's text for a justification that must not verify."""
    with pytest.raises(FinalityError) as caught:
        verify_justification(justification, voters)
    return str(caught.value)


def test_votes_for_the_block_by_more_than_two_thirds_of_the_weight_finalize_it() -> None:
    """Finalize by more than two thirds of the weight, not of the heads.

    Four of five voters have four of nine.
    """
    verify_justification(justify(TEN, [vote(0, TEN), vote(1, TEN), vote(2, TEN)]), SET, (TEN.hash, 10))
    assert "do not finalize" in refused(justify(TEN, [vote(i, TEN) for i in (1, 2, 3, 4)]))


def test_a_justification_of_another_block_does_not_serve() -> None:
    """Refuse a justification of another hash or number: a peer could pass off an old one."""
    good = justify(TEN, [vote(i, TEN) for i in range(5)])
    for target in ((TEN.hash, 11), (ELEVEN.hash, 10)):
        with pytest.raises(FinalityError, match="not for block"):
            verify_justification(good, SET, target)
    wrong_number = replace(good, commit=replace(good.commit, target_number=11))
    assert "do not finalize" in refused(wrong_number)


def test_a_signature_only_libsodium_dislikes_is_a_vote() -> None:
    """Accept the signature that ZIP 215 accepts and libsodium refuses: all nodes must agree on finality."""
    # Key and commitment are points of small order: s = 0 satisfies the cofactored equation for any message.
    small = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    signature = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a") + bytes(32)
    voters = AuthoritySet(9, ((small, 1),))
    verify_justification(justify(TEN, [Precommit(TEN.hash, 10, signature, small)]), voters)


def test_a_vote_above_counts_below_if_its_descent_is_proven() -> None:
    """Count a vote for a descendant only if headers prove the descent, and refuse superfluous headers."""
    votes = [vote(0, TWELVE), vote(1, TEN), vote(2, TEN)]
    verify_justification(justify(TEN, votes, ELEVEN, TWELVE), SET)
    assert "descent" in refused(justify(TEN, votes, TWELVE))
    assert "1 headers that no vote needs" in refused(justify(TEN, votes, ELEVEN, TWELVE, FORK))
    assert "twice" in refused(justify(TEN, votes, ELEVEN, TWELVE, TWELVE))


def test_votes_for_a_common_block_above_finalize_that_one_only() -> None:
    """Finalize the block that all votes have in common, and none above it."""
    votes = [vote(0, TWELVE), vote(1, TWELVE), vote(2, ELEVEN)]
    verify_justification(justify(ELEVEN, votes, TWELVE), SET)
    assert "do not finalize" in refused(justify(TWELVE, votes, TWELVE))


def test_an_equivocator_counts_for_every_block_but_once() -> None:
    """Count an equivocator's weight once, for every block."""
    twice = [vote(0, ELEVEN), vote(0, FORK)]
    verify_justification(justify(TEN, [*twice, vote(1, TEN), vote(2, TEN)], ELEVEN, FORK), SET)
    assert "do not finalize" in refused(justify(TEN, [*twice, vote(1, TEN)], ELEVEN, FORK))


def test_the_same_vote_again_counts_once() -> None:
    """Count a vote that is repeated once: one authority could finalize alone otherwise."""
    assert "do not finalize" in refused(justify(TEN, [vote(0, TEN)] * 5))


def test_votes_of_strangers_have_no_weight_but_are_looked_at() -> None:
    """Give a stranger's vote no weight, but refuse a justification that carries a forged one."""
    insiders = AuthoritySet(9, SET.authorities[:3])
    verify_justification(justify(TEN, [vote(i, TEN) for i in (0, 1, 2, 3)]), insiders)
    broken = replace(vote(3, TEN), signature=bytes(64))
    assert "bad signature" in refused(justify(TEN, [vote(i, TEN) for i in (0, 1, 2)] + [broken]), insiders)


def test_more_than_two_votes_an_authority_are_refused_before_any_signature_is_checked() -> None:
    """Refuse more than two votes an authority before any signature is checked, which is the costly part."""
    assert "11 votes of 5 authorities" in refused(
        justify(TEN, [replace(vote(0, TEN), signature=bytes(64))] * 11)
    )


def test_a_key_listed_twice_has_the_sum_of_its_weights() -> None:
    """Give a key that occurs twice in the set the sum of its weights."""
    doubled = AuthoritySet(9, ((PAIRS[0].public, 1), (PAIRS[0].public, 2), (PAIRS[1].public, 1)))
    verify_justification(justify(TEN, [vote(0, TEN)]), doubled)


@pytest.mark.parametrize(
    "listed", [(), ((bytes(32), 0),), ((bytes(31), 1),), ((bytes(32), 2**63), (bytes(32), 2**63))]
)
def test_sets_that_cannot_be_are_refused(listed: tuple[tuple[bytes, int], ...]) -> None:
    """Refuse an authority set that is empty, weightless, malformed or heavier than 64 bits."""
    with pytest.raises(ValueError, match="authority set"):
        AuthoritySet(0, listed)


def test_a_commit_is_judged_by_the_headers_the_node_knows() -> None:
    """Verify a commit by the node's own headers, and refuse one whose descent or round does not fit."""
    known = {h.hash: h.parent_hash for h in (TEN, ELEVEN, TWELVE, FORK)}
    commit = justify(TEN, [vote(0, TWELVE), vote(1, FORK), vote(2, TEN)]).commit
    verify_commit(commit, 3, SET, known.get)
    with pytest.raises(FinalityError, match="descent"):
        verify_commit(commit, 3, SET, {}.get)
    with pytest.raises(FinalityError, match="signature"):
        verify_commit(commit, 4, SET, known.get)
