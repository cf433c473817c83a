"""Votes of rounds: checked, counted, passed on, and charged where they are bad."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.grandpa import (
    COMMIT,
    NEIGHBOR,
    PRECOMMIT,
    PREVOTE,
    PROPOSE,
    VOTE,
    CatchUp,
    CatchUpRequest,
    NeighborPacket,
    Precommit,
    Vote,
    sign_payload,
)
from cfnode.core.keys import Keypair
from cfnode.core.wire.grandpa_gossip import decode_gossip
from cfnode.network.interface import ProtocolOpened, Received
from cfnode.node.asking import reputation
from cfnode.node.chain.call_cache import RuntimeCall
from cfnode.node.grandpa.neighbors import MIN_NEIGHBOR_REPEAT_S, Neighbors
from cfnode.node.grandpa.round_catch_up import ANSWER_INTERVAL_S, WAIT_FOR_COMMIT_S
from cfnode.node.grandpa.vote_queue import MAX_VOTE_BATCH, TURN_AFTER_BAD_VOTE_S
from cfnode.node.grandpa.vote_relay import MAX_CHOSEN, SLOW_ROUND_S
from cfnode.runtime.calls import StateSource
from tests.support.node.net import MemoryNetwork, join
from tests.support.node.peers import KEYS, Peer, followed, reached, running

VOTERS = [keys.grandpa for keys in KEYS[1:]]
"""Set 2 of the grown chain: two authorities, both are needed."""


@asynccontextmanager
async def following(light: Peer, authority: Peer) -> AsyncIterator[None]:
    """Yield while both run and the light node has the authority's blocks."""
    async with running(authority, light):
        await followed(light, authority)
        yield


class Listener:
    """A peer that speaks nothing but GRANDPA."""

    def __init__(self, name: str, peer: Peer, role: bytes = b"\x01") -> None:
        self.name, self.peer = name, peer
        self.network = MemoryNetwork(name)
        self.protocol = self.network.notifications("grandpa/1", lambda: role)
        join(self.network, peer.network)

    def says(self, message: NeighborPacket | Vote | CatchUpRequest | CatchUp) -> None:
        """Send a message to the node."""
        self.protocol.send(self.peer.network.name, message.encode())

    def sends_round(self, authority: Peer, block: bytes, number: int = 1) -> None:
        """Send all votes of a round."""
        for message in round_of(authority, block, number):
            self.says(message)

    def received(self, *kinds: int) -> list[object]:
        """Return the messages of these kinds since the last call."""
        messages: list[object] = []
        while True:
            try:
                event = self.protocol.events.receive_nowait()
            except trio.WouldBlock:
                return messages
            if isinstance(event, Received) and event.data[0] in kinds:
                messages.append(decode_gossip(event.data))


def pair(light: Peer) -> tuple[Listener, Listener]:
    """Return a sender of votes, and a peer in the first round that gets them."""
    one, near = Listener("one", light), Listener("near", light)
    near.says(NeighborPacket(1, 2, 0))
    return one, near


def signed_votes(authority: Peer, block: bytes) -> tuple[tuple[Precommit, ...], tuple[Precommit, ...]]:
    """Return the prevotes and the precommits of round 19."""
    votes = [message.signed() for message in round_of(authority, block, 19)]
    return tuple(votes[:2]), tuple(votes[2:])


def vote(
    key: Keypair, peer: Peer, block: bytes, stage: int = PRECOMMIT, *, number: int = 1, set_id: int = 2
) -> Vote:
    """Return a vote of an authority for a block."""
    at = peer.chain.block_ref(block)
    assert at is not None
    signature = key.sign(sign_payload(block, at.number, number, set_id, stage))
    return Vote(number, set_id, stage, block, at.number, signature, key.public)


def round_of(peer: Peer, block: bytes, number: int = 1) -> list[Vote]:
    """Return all votes of a round."""
    return [vote(key, peer, block, stage, number=number) for stage in (PREVOTE, PRECOMMIT) for key in VOTERS]


async def test_votes_are_relayed_once_to_peers_in_their_round_and_not_back(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Relay votes once, to peers in their round, and not back to the sender."""
    async with following(light, authority):
        one, near, far, old = (Listener(name, light) for name in ("one", "near", "far", "old"))
        for listener, packet in ((one, (1, 2)), (near, (2, 2)), (far, (3, 2)), (old, (1, 1))):
            listener.says(NeighborPacket(*packet, 0))
        votes = [vote(VOTERS[0], authority, authority.chain.best.hash, stage) for stage in (0, 1, 2)]
        for signed_vote in votes * 3:
            one.says(signed_vote)
        await trio.sleep(0.2)
        assert sorted(near.received(VOTE), key=votes.index) == votes  # type: ignore[arg-type]
        assert one.received(VOTE) == far.received(VOTE) == old.received(VOTE) == []
        far.says(NeighborPacket(1, 3, 0))
        old.says(NeighborPacket(1, 2, 0))  # it comes into the set later, and gets what it lacks
        await trio.sleep(0.2)
        assert len(old.received(VOTE)) == 3
        assert far.received(VOTE) == []
        assert light.network.reports == []


async def test_enough_precommits_make_a_block_final_before_any_commit(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Finalize a block by its precommits before any commit arrives, and relay a commit to who lacks it."""
    async with following(light, authority):
        best = authority.chain.best
        one, late = Listener("one", light), Listener("late", light)
        one.says(NeighborPacket(1, 2, 4))
        late.says(NeighborPacket(1, 2, 4))
        await trio.sleep(0.1)
        late.received(NEIGHBOR)
        one.sends_round(authority, best.hash)
        await reached(light, lambda: light.chain.finalized == best)
        await trio.sleep(0.1)
        packets = late.received(NEIGHBOR, COMMIT)
        assert packets[-1] == NeighborPacket(2, 2, best.number)
        assert all(isinstance(packet, NeighborPacket) for packet in packets)
        one.says(NeighborPacket(2, 2, best.number))
        await trio.sleep(2)
        (commit,) = late.received(COMMIT)  # it has not become final there by votes
        assert commit.commit.target_hash == best.hash  # type: ignore[attr-defined]
        assert one.received(COMMIT) == []
        assert light.network.reports == []


@pytest.mark.parametrize(
    ("change", "cost"),
    [
        ({"signature": bytes(64)}, reputation.BAD_GOSSIP),
        ({"stage": PREVOTE}, reputation.BAD_GOSSIP),
        ({"authority": KEYS[0].grandpa.public}, reputation.BAD_GOSSIP),
        ({"target_number": 8}, reputation.BAD_GOSSIP),
        ({"stage": 3}, reputation.BAD_MESSAGE),
        ({"round": 3}, None),
        ({"set_id": 1}, None),
        ({"round": 0}, None),
    ],
)
async def test_a_bad_vote_is_charged_and_one_of_another_round_is_not(
    authority: Peer, light: Peer, patient_clock: MockClock, change: dict[str, int], cost: int | None
) -> None:
    """Charge a bad vote, and relay none; a vote of another round or set is ignored without charge."""
    async with following(light, authority):
        one, near = pair(light)
        one.says(replace(vote(VOTERS[0], authority, authority.chain.best.hash), **change))  # type: ignore[arg-type]
        await trio.sleep(0.2)
        assert light.reports == ([] if cost is None else [("one", cost)])
        assert near.received(VOTE) == []


async def test_of_a_flood_of_bad_votes_one_is_checked_in_two_seconds_without_delaying_others(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Check one bad vote of a flood in two seconds without delaying other peers' votes."""
    async with following(light, authority):
        flood, one = Listener("flood", light), Listener("one", light)
        bad = replace(vote(VOTERS[0], authority, authority.chain.best.hash), signature=bytes(64))
        began = trio.current_time()
        for _ in range(100):
            for _ in range(20):
                flood.says(bad)
            await trio.sleep(0.1)
        seconds = trio.current_time() - began
        assert 2 <= len(light.network.reports) <= seconds / TURN_AFTER_BAD_VOTE_S + 2
        one.sends_round(authority, authority.chain.best.hash)
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
        assert {peer for peer, _ in light.reports} == {"flood"}


async def test_an_authority_has_two_votes_in_a_stage(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Relay two votes of an authority in a stage: the second one proves equivocation, a third nothing."""
    async with following(light, authority):
        one, near = pair(light)
        blocks = [authority.chain.hash_at(number) for number in (5, 6, 7)]
        for block in blocks:
            assert block is not None
            one.says(vote(VOTERS[0], authority, block))
        await trio.sleep(0.2)
        assert [vote.target_number for vote in near.received(VOTE)] == [5, 6]  # type: ignore[attr-defined]


async def test_votes_for_a_missing_block_are_relayed_and_count_at_its_import(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Relay votes for a missing block, and count them when it is imported."""
    async with following(light, authority):
        authority.network.protocols["block-announces/1"].open.discard("light")
        block = await authority.rig.block()
        one, near = pair(light)
        one.sends_round(authority, block)
        await trio.sleep(0.2)
        assert len(near.received(VOTE)) == 4
        assert light.chain.finalized.number == 4
        header, body = authority.chain.header(block), authority.chain.body(block)
        assert header is not None
        assert body is not None
        await light.chain.import_block(header, body)
        await reached(light, lambda: light.chain.finalized.hash == block)
        assert light.network.reports == []


async def test_packets_name_each_round_set_and_height_once_and_never_go_back(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send neighbor packets for each round, set and height once, and never go back."""
    async with following(light, authority):
        one = Listener("one", light)
        one.says(NeighborPacket(1, 2, 4))
        packets: list[object] = []

        for number in (5, 6, 7):
            block = authority.chain.hash_at(number)
            assert block is not None
            one.sends_round(authority, block, number - 4)
            one.says(NeighborPacket(number - 3, 2, number))
            await trio.sleep(1)
            packets += one.received(NEIGHBOR)
        await authority.rig.block(final=True)
        await trio.sleep(80)
        packets += one.received(NEIGHBOR)
        assert packets[0] == NeighborPacket(1, 2, 4)
        assert NeighborPacket(4, 2, 7) in packets
        for before, packet in pairwise(packets):
            assert isinstance(before, NeighborPacket)
            assert isinstance(packet, NeighborPacket)
            assert packet.round >= before.round
            assert packet.finalized >= before.finalized
            assert packet != before


async def test_packets_repeat_only_after_a_while_and_never_go_back(patient_clock: MockClock) -> None:
    """Repeat a neighbor packet only after a while, and never name a lower round or height."""
    network, other = MemoryNetwork("ours"), MemoryNetwork("theirs")
    neighbors = Neighbors(network.notifications("grandpa/1", lambda: b"\x01"))
    theirs = other.notifications("grandpa/1", lambda: b"\x01")
    join(network, other)
    neighbors.received("theirs", NeighborPacket(9, 2, 0))
    assert isinstance(theirs.events.receive_nowait(), ProtocolOpened)  # type: ignore[attr-defined]

    def sent(set_id: int, current: int, completed: int, finalized: int) -> NeighborPacket | None:
        neighbors.send("theirs", set_id, current, completed, finalized)
        try:
            event = theirs.events.receive_nowait()
        except trio.WouldBlock:
            return None
        assert isinstance(event, Received)
        return NeighborPacket.decode(event.data)

    assert sent(2, 9, 8, 40) == NeighborPacket(9, 2, 40)
    assert sent(2, 9, 8, 40) is None
    await trio.sleep(MIN_NEIGHBOR_REPEAT_S - 1)
    assert sent(2, 9, 8, 40) is None
    await trio.sleep(1)
    assert sent(2, 9, 8, 40) == NeighborPacket(9, 2, 40)
    assert sent(2, 9, 8, 39) is sent(1, 12, 11, 41) is sent(2, 8, 7, 40) is None
    assert sent(2, 20, 10, 40) == NeighborPacket(11, 2, 40)
    assert sent(2, 20, 19, 41) == NeighborPacket(20, 2, 41)
    assert sent(2, 21, 5, 42) == NeighborPacket(20, 2, 42)
    assert sent(3, 1, 0, 42) == NeighborPacket(1, 3, 42)


async def test_a_commit_is_relayed_after_the_packet_that_names_its_height(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """The other way round Substrate charges the packet as a repetition."""
    async with following(light, authority):
        one = Listener("one", light)
        one.says(NeighborPacket(1, 2, 4))
        await trio.sleep(0.1)
        one.received(NEIGHBOR)
        await authority.rig.finality.finalize(authority.chain.best.hash)
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
        await trio.sleep(1)
        packet, commit = one.received(NEIGHBOR, COMMIT)
        assert isinstance(packet, NeighborPacket)
        assert (packet.set_id, packet.finalized) == (2, 7)
        assert commit.commit.target_number == 7  # type: ignore[attr-defined]


async def test_only_some_peers_get_votes_at_once_and_all_of_them_in_a_slow_round(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send votes to some peers at once, authorities among them, and to all in a slow round."""
    async with following(light, authority):
        listeners = [Listener(f"listener {n}", light) for n in range(MAX_CHOSEN + 4)]
        voter = Listener("voter", light, role=b"\x04")
        for listener in (*listeners, voter):
            listener.says(NeighborPacket(1, 2, 4))
        await trio.sleep(0.1)
        first = vote(VOTERS[0], authority, authority.chain.best.hash, PROPOSE)
        authority.network.protocols["grandpa/1"].send("light", first.encode())
        await trio.sleep(0.1)
        served = [listener for listener in listeners if listener.received(VOTE)]
        assert voter.received(VOTE) == [first]
        assert MAX_CHOSEN - 2 <= len(served) <= MAX_CHOSEN - 1  # the first authority may be among them
        await trio.sleep(SLOW_ROUND_S + 2)
        late = [listener for listener in listeners if listener.received(VOTE)]
        assert len(served) + len(late) == len(listeners)


async def test_a_peer_that_is_behind_gets_the_votes_of_the_last_round_at_intervals(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Answer a peer that is behind with the votes of the last round, at most once an interval."""
    async with following(light, authority):
        one, behind = Listener("one", light), Listener("behind", light)
        one.says(NeighborPacket(1, 2, 4))
        behind.says(NeighborPacket(1, 2, 4))
        best = authority.chain.best
        for number in range(1, 6):
            one.sends_round(authority, best.hash, number)
            await trio.sleep(0.2)
        assert behind.received(NEIGHBOR)[-1] == NeighborPacket(6, 2, 7)
        for request in (CatchUpRequest(6, 2), CatchUpRequest(5, 1), CatchUpRequest(1, 2)):
            behind.says(request)  # beyond what is over, of another set, what it has itself: no answer
        for _ in range(20):
            behind.says(CatchUpRequest(5, 2))
        await trio.sleep(0.2)
        (answer,) = behind.received(4)
        assert isinstance(answer, CatchUp)
        assert answer.round == 5
        assert {vote.encode() for vote in answer.votes()} == {
            message.encode() for message in round_of(authority, best.hash, 5)
        }
        await trio.sleep(ANSWER_INTERVAL_S)
        behind.says(CatchUpRequest(5, 2))
        await trio.sleep(0.2)
        assert behind.received(4) == [answer]
        assert light.network.reports == []


async def test_a_packet_names_no_round_whose_votes_are_missing_to_a_peer_that_is_behind(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Commits have led to this round: a request for its votes would find none."""
    async with following(light, authority):
        for _ in range(6):
            await authority.rig.block(final=True)
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
        await reached(light, lambda: light.sync.finality.rounds.current > 4)
        one = Listener("one", light)
        await trio.sleep(0.1)
        assert [packet.round for packet in one.received(NEIGHBOR)] == [3]  # type: ignore[attr-defined]
        one.says(NeighborPacket(4, 2, 4))
        await trio.sleep(0.1)
        assert [packet.round for packet in one.received(NEIGHBOR)] == [6]  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", [5, 4])
async def test_a_round_is_accepted_without_its_first_blocks(
    authority: Peer, light: Peer, patient_clock: MockClock, number: int
) -> None:
    """A node whose first block is a proven one. Votes may be for a block that was final before."""
    async with following(light, authority):
        block = authority.chain.hash_at(number)
        assert block is not None
        prevotes, precommits = signed_votes(authority, block)
        rounds = light.sync.finality.rounds
        answer = CatchUp(2, 19, prevotes, precommits, bytes(32), 2)
        assert not rounds.apply_catch_up(replace(answer, precommits=precommits[:1]))
        assert rounds.apply_catch_up(answer)
        assert rounds.current == 20
        assert not rounds.apply_catch_up(answer)


async def test_a_node_that_is_behind_in_a_stall_asks_one_peer_for_a_round(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Ask one peer for a round in a stall, charge it for a bad answer, and ask the next one."""
    async with following(light, authority):
        best = authority.chain.best
        prevotes, precommits = signed_votes(authority, best.hash)
        good = CatchUp(2, 19, prevotes, precommits, best.hash, best.number)
        ahead, other = Listener("ahead", light), Listener("other", light)
        ahead.says(good)  # without a request
        for listener in (ahead, other):
            listener.says(NeighborPacket(20, 2, 4))
        await trio.sleep(WAIT_FOR_COMMIT_S - 2)
        assert ahead.received(3) + other.received(3) == []
        await trio.sleep(4)
        request = [CatchUpRequest(19, 2)]
        asked = next(listener for listener in (ahead, other) if listener.received(3) == request)
        asked.says(replace(good, prevotes=prevotes[::-1], precommits=prevotes))
        await reached(light, lambda: bool(light.network.reports))
        assert light.reports == [(asked.name, reputation.BAD_GOSSIP)]
        await trio.sleep(2)
        not_asked = ahead if asked is other else other
        assert not_asked.received(3) == request
        not_asked.says(good)
        await reached(light, lambda: light.chain.finalized == best)
        assert light.sync.finality.rounds.current == 20
        assert len(light.network.reports) == 1


def many_votes(authority: Peer) -> list[Vote]:
    """Return votes of two rounds, for all blocks: more than are checked in one turn."""
    blocks = [authority.chain.hash_at(number) for number in range(1, authority.chain.best.number + 1)]
    return [
        vote(key, authority, block, stage, number=number)
        for block in blocks if block is not None
        for stage in (PREVOTE, PRECOMMIT, PROPOSE)
        for number in (1, 2)
        for key in VOTERS
    ]  # fmt: skip


async def test_votes_that_wait_when_the_chain_is_reverted_are_dropped(
    authority: Peer, light: Peer, tmp_path: Path, patient_clock: MockClock
) -> None:
    """Drop waiting votes when the chain is reverted, without charge: their set may be another one."""
    finality, executor, known = light.sync.finality, light.rig.executor, trio.Event()
    make = executor.call_all

    async def made_later(at: StateSource, calls: Sequence[RuntimeCall]) -> list[bytes]:
        await known.wait()  # the authorities are not known again at once
        return list(await make(at, calls))

    async with running(authority, light):
        await followed(light, authority)
        (tmp_path / "copy").mkdir()
        copy = await light.chain.copy(tmp_path / "copy")
        one, votes = Listener("one", light), many_votes(authority)
        one.says(NeighborPacket(1, 2, 0))
        assert len(votes) > 2 * MAX_VOTE_BATCH
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(executor, "call_all", made_later)
            light.chain.states._calls.drop(light.chain.finalized.hash)
            await light.chain.restore(copy)
            for vote in votes:  # before any task has handled the events of the revert
                assert finality._queue.received("one", vote.encode()) is None
            await reached(light, lambda: finality.rounds.set_id < 0 and not finality._queue._queued)
            known.set()
            await reached(light, lambda: finality.rounds.set_id == 2)
        assert light.network.reports == []
        one.sends_round(authority, authority.chain.best.hash)
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
