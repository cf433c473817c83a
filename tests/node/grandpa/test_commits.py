"""Commits of peers: judged in the order of cost, at most one of each peer, and never twice for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.grandpa import Commit, CommitMessage, NeighborPacket, Precommit, sign_payload
from cfnode.core.header import Header
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import MAX_COMMIT, decode_gossip, encode_commit
from cfnode.node.asking import reputation
from cfnode.node.chain.events import BlocksFinalized
from cfnode.node.grandpa.commits import TURN_AFTER_USELESS_COMMIT_S
from cfnode.runtime.calls import ExecutorDied
from cfnode.store import Overlay
from tests.node.mini import put, tx, voters_of
from tests.support.node.peers import KEYS, Peer, followed, in_step, reached, running

Change = Callable[[tuple[Precommit, ...]], tuple[Precommit, ...]]


def commit_for(peer: Peer, block: bytes, *, set_id: int = 2, round_number: int = 9) -> CommitMessage:
    """Return the votes of the present authorities for a block of the authority."""
    at = peer.chain.block_ref(block)
    assert at is not None
    payload = sign_payload(block, at.number, round_number, set_id)
    votes = tuple(
        Precommit(block, at.number, keys.grandpa.sign(payload), keys.grandpa.public) for keys in KEYS[1:]
    )
    return CommitMessage(round_number, set_id, Commit(block, at.number, votes))


def with_votes(message: CommitMessage, change: Change) -> CommitMessage:
    """Return a commit with its votes changed."""
    return replace(message, commit=replace(message.commit, precommits=change(message.commit.precommits)))


def send(peer: Peer, message: CommitMessage) -> None:
    """Send a commit to the light node."""
    peer.network.protocols["grandpa/1"].send("light", encode_commit(message))


async def give(authority: Peer, light: Peer, block: bytes) -> None:
    """Import a block past the network."""
    header, body = authority.chain.header(block), authority.chain.body(block)
    assert header is not None
    assert body is not None
    await light.chain.import_block(header, body)


IMPLAUSIBLE: dict[str, Change] = {
    "votes for #0 to": lambda votes: (replace(votes[0], target_number=0), *votes[1:]),
    "5 votes of 2": lambda votes: votes * 2 + votes[:1],
    "weight of 1, 2 is needed": lambda votes: votes[:1],
    "weight of 0, 2 is needed": lambda votes: (),
    "votes of keys outside set 2": lambda votes: (*votes, replace(votes[0], authority=bytes(32))),
    "votes for #5 to #5000": lambda votes: (votes[0], replace(votes[1], target_number=5000)),
    "as #6, which is not its number": lambda votes: (votes[0], replace(votes[1], target_number=6)),
}


@pytest.mark.parametrize("reason", IMPLAUSIBLE)
async def test_an_implausible_commit_is_charged_and_costs_little_to_detect(
    authority: Peer, light: Peer, reason: str, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charge an implausible commit before any header is read for it."""
    async with running(authority, light):
        await followed(light, authority)
        block = authority.chain.hash_at(5)
        assert block is not None
        message = with_votes(commit_for(authority, block), IMPLAUSIBLE[reason])
        read: list[list[bytes]] = []
        monkeypatch.setattr(light.sync.finality._commits, "_headers", lambda blocks: read.append(blocks))
        send(authority, message)
        await reached(light, lambda: bool(light.network.reports))
        assert read == []
        ((peer, change, words),) = light.network.reports
        assert (peer, change) == ("authority", reputation.BAD_GOSSIP)
        assert reason in words
        assert light.chain.finalized.number == 4


@pytest.mark.parametrize(("round_number", "count"), [(0, 1), (1 << 32, 1), (9, 0)])
async def test_an_impossible_round_is_charged(
    authority: Peer, light: Peer, round_number: int, count: int, patient_clock: MockClock
) -> None:
    """Charge a round that cannot exist, and accept one that is only high."""
    async with running(authority, light):
        await followed(light, authority)
        block = authority.chain.best.hash
        send(authority, commit_for(authority, block, round_number=round_number))
        await reached(light, lambda: len(light.network.reports) == count)
        await trio.sleep(1)
        assert len(light.network.reports) == count
        assert (light.chain.finalized.hash == block) == (count == 0)


async def test_a_commit_with_votes_on_several_forks_is_invalid(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Charge a commit whose votes are on different forks."""
    async with running(authority, light):
        await followed(light, authority)
        one, below = authority.chain.hash_at(5), authority.chain.hash_at(4)
        assert one is not None
        other, *_ = await authority.rig.blocks(4, on=below)
        await reached(light, lambda: light.chain.descends_from_finalized(other))
        first, second = commit_for(authority, one), commit_for(authority, other)
        split = (first.commit.precommits[0], second.commit.precommits[1])
        send(authority, with_votes(first, lambda _: split))
        await reached(light, lambda: bool(light.network.reports))
        assert "on different forks" in light.network.reports[0][2]


async def test_a_commit_waits_for_its_missing_block_and_is_not_verified_before(
    authority: Peer, light: Peer, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wait for a commit's missing block, at most one commit a peer, and verify it once."""
    async with running(authority, light):
        await followed(light, authority)
        judged: list[int] = []
        commits = light.sync.finality._commits
        judge = commits._judge

        async def counting(peer: str, message: CommitMessage) -> None:
            judged.append(message.commit.target_number)
            await judge(peer, message)

        monkeypatch.setattr(commits, "_judge", counting)
        authority.network.protocols["block-announces/1"].open.discard("light")
        block = await authority.rig.block()
        for _ in range(3):
            send(authority, commit_for(authority, block))  # each takes the place of the one before
        await reached(light, lambda: bool(commits._waiting))
        first = len(judged)
        for fork in await authority.rig.blocks(5, on=authority.chain.hash_at(4)):
            await give(authority, light, fork)
        assert light.chain.best.number == 9
        assert len(judged) == first
        await give(authority, light, block)
        await reached(light, lambda: light.chain.finalized.hash == block)
        assert len(judged) == first + 1
        assert commits._waiting == commits._queued == {}
        assert light.network.reports == []


async def test_votes_for_a_block_that_is_being_added_wait_for_it(
    authority: Peer, light: Peer, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block is in the store already, and not in the tree yet."""
    async with running(authority, light):
        await followed(light, authority)
        added, release = trio.Event(), trio.Event()
        overlay_added = light.rig.executor.overlay_added

        async def held(overlay: Overlay) -> None:
            added.set()
            await release.wait()
            await overlay_added(overlay)

        monkeypatch.setattr(light.rig.executor, "overlay_added", held)
        block = await authority.rig.block()
        await added.wait()
        send(authority, commit_for(authority, block))
        try:
            await reached(light, lambda: bool(light.sync.finality._commits._waiting))
        finally:
            release.set()
        await reached(light, lambda: light.chain.finalized.hash == block)
        assert light.network.reports == []


async def test_a_local_fault_while_votes_are_verified_charges_no_peer_and_stops_nothing(
    authority: Peer,
    light: Peer,
    patient_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Charge no peer for a local fault during verification, and verify later votes."""

    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise ExecutorDied("killed")

    async with running(authority, light):
        await followed(light, authority)
        with monkeypatch.context() as patched:
            patched.setattr(light.chain, "voters", fail)
            send(authority, commit_for(authority, authority.chain.best.hash))
            await reached(light, lambda: "Votes for #7 could not be verified: killed" in caplog.text)
        send(authority, commit_for(authority, authority.chain.best.hash))
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
        assert light.network.reports == []


async def test_the_newest_votes_go_to_a_peer_once_however_often_it_asks(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Send the newest votes to a peer once: each request would cost bandwidth otherwise."""
    async with running(authority, light):
        await followed(light, authority)
        await authority.rig.finality.finalize(authority.chain.best.hash)
        await in_step(light, authority)
        sent: list[bytes] = []
        protocol = authority.network.protocols["grandpa/1"]
        original = protocol.send
        protocol.send = lambda peer, data: sent.append(data) or original(peer, data)  # type: ignore
        packet = NeighborPacket(1, 2, 0).encode()
        for _ in range(50):
            light.network.protocols["grandpa/1"].send("authority", packet)
        await trio.sleep(1)
        assert [data for data in sent if data[0] == 1] == []
        assert authority.network.reports == []


@pytest.mark.parametrize(
    "change",
    [
        lambda votes: votes[:1],
        lambda votes: tuple(replace(vote, signature=bytes(64)) for vote in votes),
    ],
    ids=["implausible", "forged"],
)
async def test_of_a_flood_of_useless_commits_one_is_verified_in_two_seconds(
    authority: Peer, light: Peer, change: Change, patient_clock: MockClock
) -> None:
    """Verify one useless commit of a flood in two seconds, and let a good one have its turn."""
    async with running(authority, light):
        await followed(light, authority)
        best = commit_for(authority, authority.chain.best.hash)
        useless = with_votes(best, change)
        began = trio.current_time()
        for _ in range(100):
            send(authority, useless)
            await trio.sleep(0.1)
        seconds = trio.current_time() - began
        assert 2 <= len(light.network.reports) <= seconds / TURN_AFTER_USELESS_COMMIT_S + 2
        authority.network.protocols["grandpa/1"].send("light", bytes((1,)) + bytes(20))
        await reached(light, lambda: light.reports[-1] == ("authority", reputation.BAD_MESSAGE))
        await authority.rig.finality.finalize(authority.chain.best.hash)  # a good one still has its turn
        await in_step(light, authority)


async def test_each_finalized_event_names_the_next_voters_and_the_votes(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Name the commit and the next voters in the event of a final block."""
    async with running(authority, light):
        await followed(light, authority)
        with light.chain.subscribe(only=BlocksFinalized) as events:
            change = await authority.rig.block(tx("carol", 0, voters_of(KEYS)))
            await authority.rig.finality.finalize(change)
            await reached(light, lambda: light.chain.finalized.hash == change)
            event = await anext(events)
        assert isinstance(event, BlocksFinalized)
        assert event.commit is not None
        assert event.voters is not None
        assert (event.commit.set_id, event.commit.commit.target_hash) == (2, change)
        assert event.voters == await light.chain.voters()
        assert event.voters.set_id == 3
        await trio.sleep(0.1)
        assert light.sync.finality.rounds.set_id == 3


def test_a_commit_beyond_any_set_is_not_decoded() -> None:
    """Refuse to decode a commit beyond any set of authorities."""
    with pytest.raises(WireError, match="a commit of"):
        decode_gossip(b"\x01" + bytes(MAX_COMMIT))


async def test_headers_pruned_meanwhile_do_not_block_the_verification(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Between tree and store another block may have become final."""
    async with running(authority, light):
        await followed(light, authority)
        assert light.sync.finality._commits._headers([bytes(32)]) == ()
        assert isinstance(light.chain.header(light.chain.best.hash), Header)
        await authority.rig.block(tx("dave", 0, put("a", "b")))
        await in_step(light, authority)
