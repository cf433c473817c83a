"""Peers are asked by their records, several if one is silent, and charged for each failure."""

from __future__ import annotations

import itertools

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.wire import WireError
from cfnode.network.interface import RequestFailed
from cfnode.node.asking import reputation
from cfnode.node.asking.asker import SILENCE_BEFORE_NEXT_PEER_S, AllPeersFailed, Asker, PeerAnswer
from cfnode.node.asking.peer_set import SLOW_ANSWER_S, PeerSet
from cfnode.node.asking.question import Question
from cfnode.node.asking.reputation import REACTIONS, Consequence, PeerFailure
from tests.support.node.net import MemoryNetwork, join

KIND = "sync/2"


class Peers:
    """A client, and peers that answer after so many seconds; a text that begins with ! is a lie."""

    def __init__(self, **peers: tuple[float, str | None]) -> None:
        self.network, self.peer_set = MemoryNetwork("client"), PeerSet(itertools.count().__next__)
        self.asker = Asker(self.network, self.peer_set)
        for name, (delay, answer) in peers.items():
            self.add(name, delay, answer)

    def add(self, name: str, delay: float, answer: str | None) -> None:
        """Connect a peer that answers after this many seconds."""

        async def give(peer: str, data: bytes) -> bytes | None:
            await trio.sleep(delay)
            return None if answer is None else answer.encode()

        peer = MemoryNetwork(name, handlers={KIND: give})
        join(self.network, peer)
        self.peer_set.update(name, 1, bytes(32))

    async def ask(self, **how: object) -> PeerAnswer[str]:
        """Ask one question."""
        return await self.asker.ask(Question(KIND, b"?", check, PeerFailure.BAD_PROOF, "no proof"), **how)  # type: ignore[arg-type]

    @property
    def asked(self) -> list[str]:
        """The peers that were asked, in order."""
        return [peer for peer, _, _ in self.network.asked]


def check(answer: bytes) -> str:
    """Return the answer's text; raise for one that is false or that the peer cannot give."""
    if answer.startswith(b"!"):
        raise WireError("it is false")
    if answer.startswith(b"-"):
        raise RequestFailed("it cannot tell")
    return answer.decode()


async def test_the_next_peer_is_asked_after_a_short_silence_and_the_slower_one_is_not_charged(
    patient_clock: MockClock,
) -> None:
    """Ask the next peer after a short silence, and charge the slower one nothing."""
    peers = Peers(slow=(SILENCE_BEFORE_NEXT_PEER_S + 1, "slow"), quick=(0.5, "quick"))
    began = trio.current_time()
    answer = await peers.ask()
    assert (answer.peer, answer.value, answer.size) == ("quick", "quick", 5)
    assert trio.current_time() - began == pytest.approx(SILENCE_BEFORE_NEXT_PEER_S + 0.5, abs=0.1)
    assert peers.network.reports == []
    assert peers.peer_set.record("slow").penalties == 0
    assert peers.peer_set.candidates() == ["quick", "slow"]


async def test_a_peer_overtaken_after_a_long_silence_is_asked_last(patient_clock: MockClock) -> None:
    """Ask a peer last that was overtaken after a long silence, and penalize no other."""
    peers = Peers(mute=(1_000, "never"), late=(SLOW_ANSWER_S - 1, "late"), stranger=(1_000, "never"))
    assert (await peers.ask()).peer == "late"
    assert peers.peer_set.record("mute").penalties == 1
    assert peers.peer_set.record("stranger").penalties == 0
    assert peers.peer_set.candidates() == ["late", "stranger", "mute"]


async def test_each_timeout_is_charged_and_the_third_in_a_row_costs_as_much_as_an_invalid_proof(
    patient_clock: MockClock,
) -> None:
    """Charge each timeout, and the third in a row as much as an invalid proof: a mute peer costs time."""
    peers = Peers(mute=(0, "never"))
    peers.network.stalled.add("mute")
    for _ in range(4):
        with pytest.raises(AllPeersFailed) as failed:
            await peers.ask()
        assert failed.value.reasons == {"mute": "no answer to sync/2 within 20 s"}
        assert "mute" not in peers.network.peers
        peers.add("mute", 0, "never")
    changes = [change for _, change, _ in peers.network.reports]
    assert changes == [reputation.NO_ANSWER, reputation.NO_ANSWER, reputation.BAD_PROOF, reputation.BAD_PROOF]


async def test_each_failure_has_its_reaction_and_the_next_peer_is_asked(patient_clock: MockClock) -> None:
    """Drop a liar, ask a refusing peer later, and ask the next one, by the table of reactions."""
    peers = Peers(liar=(0, "!"), refusing=(0, None), unknowing=(0, "-"))
    peers.add("honest", 0, "true")
    peers.peer_set.record("liar").responsive = True  # one peer is known, so they are asked one by one
    assert (await peers.ask()).value == "true"
    assert peers.asked == ["liar", "refusing", "unknowing", "honest"]
    assert peers.network.reports == [("liar", reputation.BAD_PROOF, "no proof: it is false")]
    assert "liar" not in peers.network.peers
    assert peers.network.unwanted == ["refusing", "unknowing"]
    assert peers.peer_set.candidates() == ["honest", "refusing", "unknowing"]


async def test_a_slow_answer_is_accepted_and_its_peer_penalized(patient_clock: MockClock) -> None:
    """Accept a slow answer, and penalize its peer."""
    peers = Peers(slow=(SLOW_ANSWER_S + 1, "true"))
    assert (await peers.ask()).value == "true"
    record = peers.peer_set.record("slow")
    assert (record.answers, record.penalties) == (1, 1)


async def test_asking_ends_when_the_time_is_up_or_no_peer_is_left(patient_clock: MockClock) -> None:
    """Give up when the time is up or no peer is left."""
    peers = Peers(mute=(1_000, "never"))
    with pytest.raises(AllPeersFailed):
        await peers.ask(seconds=2)
    with pytest.raises(AllPeersFailed):
        await Peers().ask()


async def test_many_unknown_peers_are_probed_all_at_once(
    patient_clock: MockClock,
) -> None:
    """Probe fifty unknown peers at once: one by one the honest one would be found late."""
    peers = Peers(**{f"mute {number}": (1_000.0, "never") for number in range(50)})
    peers.add("honest", 0.2, "-")
    began = trio.current_time()
    answering = peers.network.others["honest"]

    async def true(peer: str, data: bytes) -> bytes | None:
        return b"true"

    with trio.move_on_after(60):
        peers.peer_set.record("honest").responsive = False
        await peers.asker._probe_unknown_peers(peers.peer_set.candidates())
        assert peers.asked.count("mute 1") == 1
        assert trio.current_time() - began < 5
    answering.handlers[KIND] = true
    assert set(peers.asked) == {"honest", *(f"mute {number}" for number in range(50))}


async def test_a_better_peer_that_comes_is_asked_at_once(patient_clock: MockClock) -> None:
    """Ask a better peer at once when it connects, while another one is silent."""
    peers = Peers(mute=(1_000, "never"))
    peers.peer_set.delivered("known", 1_000, 0.1)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:

        async def come() -> None:
            await trio.sleep(1)
            peers.add("known", 0, "true")

        nursery.start_soon(come)
        assert (await peers.ask()).peer == "known"
    assert trio.current_time() - began == pytest.approx(1, abs=0.1)


def test_the_table_has_a_penalty_for_each_failure() -> None:
    """List a penalty for every failure, and drop the peer for those that no honest peer has."""
    assert set(REACTIONS) == set(PeerFailure)
    assert all(reaction.penalties for reaction in REACTIONS.values())
    dropped = {
        failure for failure, reaction in REACTIONS.items() if reaction.consequence is Consequence.DROPPED
    }
    assert dropped == {PeerFailure.BAD_PROOF, PeerFailure.BAD_BLOCK, PeerFailure.MALFORMED}
