"""Peers with valid but tiny or slow answers delay nothing while there is another peer."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.grandpa import WarpProof
from cfnode.core.trie import build_range
from cfnode.core.wire.blocks import Attributes, BlockRequest, BlockResponse
from cfnode.core.wire.state import StateRequest, StateResponse
from cfnode.node.asking import reputation
from cfnode.node.asking.peer_set import SLOW_ANSWER_S, PeerSet
from cfnode.node.sync.serving import serve_state
from cfnode.node.sync.warping import state_ranges
from cfnode.node.sync.warping.state_ranges import MAX_SMALL
from tests.node.conftest import MakeRig
from tests.support.node import states, warp
from tests.support.node.net import Tamper
from tests.support.node.peers import KEYS, Peer, in_step, join, running


def test_a_peer_that_was_slow_or_returned_little_is_asked_after_others() -> None:
    """Records decide, not claims, and a new connection forgives nothing."""
    peer_set = PeerSet(itertools.count().__next__)
    for number, peer in enumerate(("low", "middle", "high")):
        peer_set.update(peer, number, bytes(32))
    assert peer_set.candidates() == ["low", "middle", "high"], "the lot decides among strangers"
    assert peer_set.candidates(1) == ["middle", "high"]
    peer_set.delivered("high", 1_000, 1.0)
    peer_set.delivered("middle", 1_000, 0.1)
    assert peer_set.candidates() == ["middle", "high", "low"]
    assert not peer_set.has_better("high"), "only faster"
    peer_set.penalize("middle")
    assert peer_set.candidates() == ["high", "low", "middle"]
    assert peer_set.has_better("middle")
    assert not peer_set.has_better("middle", min_number=3), "no other peer is that high"
    peer_set.forget("middle")
    peer_set.update("middle", 9, bytes(32))
    peer_set.update("stranger", 1 << 31, bytes(32))
    assert peer_set.candidates() == ["high", "low", "stranger", "middle"]
    for _ in range(8):
        peer_set.delivered("middle", 1_000, 0.1)
    assert peer_set.candidates() == ["middle", "high", "low", "stranger"], (
        "eight answers make up for one failure"
    )


def test_unknown_peers_are_asked_in_random_order() -> None:
    """Ask unknown peers in random order: a liar cannot choose to be first."""
    firsts = set()
    for _ in range(200):
        peer_set = PeerSet()
        for peer in "abcd":
            peer_set.update(peer, 1, bytes(32))
        firsts.add(peer_set.candidates()[0])
    assert firsts == set("abcd")


def test_records_of_peers_that_delivered_survive_a_flood_of_unknown_peers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keep the records of peers that delivered through a flood of unknown ones."""
    monkeypatch.setattr("cfnode.node.asking.peer_set.MAX_RECORDS", 8)
    peer_set = PeerSet(itertools.count().__next__)
    peer_set.update("honest", 1, bytes(32))
    peer_set.delivered("honest", 1_000, 0.1)
    peer_set.forget("honest")
    for number in range(100):
        peer_set.update(f"stranger {number}", 1, bytes(32))
        peer_set.forget(f"stranger {number}")
        assert len(peer_set._records) <= 8
    assert peer_set.record("honest").answers == 1


def one_key(client: states.Client) -> Tamper:
    """Return the true answer to a state request, ended after the first key; later another peer connects."""

    def tiny(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        if protocol != "state/2":
            return answer
        asked = StateRequest.decode(request)
        with client.rig.store.state(asked.block) as state:
            items, _ = build_range(state, asked.start, 1)
        if len(client.network.asked) == MAX_SMALL:
            client.add("honest")
        return StateResponse(proof=tuple(items)).encode()

    return tiny


async def test_a_peer_that_sends_a_state_key_by_key_is_dropped(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drop a peer that sends a state key by key, while another one can help."""
    client = states.Client(await states.grown(make_rig, monkeypatch), tmp_path)
    monkeypatch.setattr(serve_state, "MAX_STATE_PROOF_BYTES", 6_000)
    monkeypatch.setattr(state_ranges, "SMALL_ANSWER", 2_000)
    client.add("miser", one_key(client))
    await client.run()
    client.assert_same()
    assert [(peer, change) for peer, change, _ in client.network.reports] == [
        ("miser", reputation.BAD_MESSAGE)
    ]
    assert "4 ranges of a state in a row" in client.network.reports[0][2]
    assert [peer for peer, _, _ in client.network.asked].count("miser") == MAX_SMALL


async def test_a_peer_that_sends_a_state_too_slowly_is_replaced(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_clock: MockClock
) -> None:
    """Replace a slow peer once another one can help, and keep it until then."""
    client = states.Client(await states.grown(make_rig, monkeypatch), tmp_path, slow=None)
    client.network.others["slow"].delay = 30
    monkeypatch.setattr(state_ranges.RangeSync, "_may_take_over", lambda *_: False)
    began = trio.current_time()

    async def come_later() -> None:
        while [peer for peer, _, _ in client.network.asked].count("slow") < 3:  # noqa: ASYNC110
            await trio.sleep(1)
        await trio.sleep(5)
        client.add("honest")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(come_later)
        await client.run()
    client.assert_same()
    assert [(peer, change) for peer, change, _ in client.network.reports] == [("slow", reputation.NO_ANSWER)]
    assert [peer for peer, _, _ in client.network.asked].count("slow") == 3, (
        "it is kept while it is the only one"
    )
    assert trio.current_time() - began < 100


async def test_a_peer_that_sends_tiny_proofs_is_asked_after_the_next(make_rig: MakeRig) -> None:
    """Ask a peer after the next one that sends tiny proofs, without a charge."""
    rig = await warp.grown(make_rig)

    def first_only(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        assert answer is not None
        proof = WarpProof.decode(answer)
        return answer if len(proof.fragments) == 1 else WarpProof(proof.fragments[:1], False).encode()

    client = warp.Client(rig, miser=first_only, honest=None)
    trust = await client.sync.run()
    assert trust.header.hash == rig.chain.finalized.hash
    assert [peer for peer, _, _ in client.network.asked] == ["miser", "honest"]
    assert client.network.reports == []


async def test_a_peer_that_sends_blocks_one_by_one_is_asked_after_the_next(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Ask a peer after the next one that sends blocks one by one, without a charge."""
    rig = await make_rig("authority", authorities=KEYS)
    authority, miser = Peer("authority", rig, author=True), Peer("miser", rig, author=True)
    client = Peer("client", await make_rig("client", authorities=KEYS))
    await rig.blocks(90)

    def one_block(protocol: str, request: bytes, answer: bytes | None) -> bytes | None:
        if protocol != "sync/2" or not answer or BlockRequest.decode(request).max_blocks == 1:
            return answer
        return BlockResponse(BlockResponse.decode(answer).blocks[:1]).encode()

    miser.network.tamper, miser.network.delay = one_block, SLOW_ANSWER_S - 1
    async with trio.open_nursery() as nursery:
        nursery.start_soon(miser.sync.run)
        join(client.network, miser.network)
        async with running(authority, client):
            await in_step(client, authority)
            asked = [
                peer
                for peer, protocol, request in client.network.asked
                if protocol == "sync/2" and Attributes.BODY in BlockRequest.decode(request).attributes
            ]
            assert asked.count("miser") <= 3
            assert client.reports == []
        nursery.cancel_scope.cancel()
