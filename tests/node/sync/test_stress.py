"""A follower survives deep forks, rival authorities and stalled finality."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from cfnode.node.grandpa.stall import MAX_FINALITY_LAG
from cfnode.node.pool.watchers import StatusKind
from cfnode.store.overlays import MAX_OVERLAY_BLOCKS
from tests.node.mini import put, tx, voter_set, voters_of
from tests.support.node.peers import KEYS, Peer, followed, in_step, reached, running

DEEP = MAX_OVERLAY_BLOCKS + 16
"""More unfinalized blocks than are held in memory."""


@pytest.mark.world
async def test_a_fork_deeper_than_the_memory_limit_is_followed_and_becomes_final(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Follow a fork that is deeper than the memory's limit, to its finality."""
    async with running(authority, light):
        await followed(light, authority)
        base = authority.chain.finalized.hash
        loser = await authority.rig.blocks(DEEP, on=base)
        await in_step(light, authority)
        assert light.chain.best.hash == loser[-1]
        first = await authority.rig.block(tx("carol", 0, put("fork", "wins")), on=base)
        winner = [first, *await authority.rig.blocks(DEEP, on=first)]
        await in_step(light, authority)
        assert light.chain.best.hash == winner[-1]
        assert light.rig.read("fork") == "wins"
        assert len(light.rig.store.overlays()) <= MAX_OVERLAY_BLOCKS
        await authority.rig.finality.finalize(winner[-1])
        await in_step(light, authority)
        assert light.chain.finalized.hash == winner[-1]
        assert not light.chain.descends_from_finalized(loser[-1])
        assert light.rig.read("fork") == "wins"
        assert light.network.reports == []


async def test_of_two_forks_that_change_the_authorities_the_final_one_counts(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Take the authorities of the fork that becomes final, not of the longest one."""
    async with running(authority, light):
        await followed(light, authority)
        base = authority.chain.finalized.hash
        rivals, heads = [], []
        for keys, length in ((KEYS, 6), (KEYS[:2], 9)):
            rivals.append(await authority.rig.block(tx("carol", 0, voters_of(keys)), on=base))
            heads.append((await authority.rig.blocks(length, on=rivals[-1]))[-1])
            await in_step(light, authority)
            assert light.chain.best.hash == heads[-1]
        await authority.rig.finality.finalize(rivals[0])
        await in_step(light, authority)
        assert (light.chain.finalized.hash, light.chain.best.hash) == (rivals[0], heads[0])
        assert await light.chain.voters() == voter_set(KEYS, 3)
        assert not light.chain.descends_from_finalized(heads[1])
        await authority.rig.finality.finalize(heads[0])
        await in_step(light, authority)


@pytest.mark.parametrize("silent", [False, True])
async def test_a_stall_of_finality_is_logged_and_bounded(
    authority: Peer,
    light: Peer,
    patient_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    silent: bool,
) -> None:
    """Log the reason of a stall of finality, bound the blocks in memory, and catch up afterwards."""
    why = "Too few authorities vote"
    if silent:
        monkeypatch.setattr(authority.sync.finality, "_send_packet", lambda peer: None)
        why = f"These peers never send their finalized block: {authority.network.name}."
    async with running(authority, light):
        await followed(light, authority)
        await authority.rig.blocks(DEEP)
        await in_step(light, authority)
        assert light.chain.best.number - light.chain.finalized.number > MAX_FINALITY_LAG
        await reached(light, lambda: "Finality has stalled: #4 is final" in caplog.text)
        assert why in caplog.text
        assert len(light.rig.store.overlays()) <= MAX_OVERLAY_BLOCKS
        monkeypatch.undo()
        await authority.rig.finality.finalize(authority.chain.best.hash)
        await in_step(light, authority)
        assert light.chain.finalized == light.chain.best


async def test_a_transaction_of_ours_is_watched_through_a_fork_until_it_is_final(
    authority: Peer, light: Peer, patient_clock: MockClock
) -> None:
    """Report a transaction's statuses through a fork until it is final."""
    ours = tx("dave", 0, put("ours", "twice"))
    async with running(authority, light) as nursery:
        nursery.start_soon(light.rig.pool.run)
        await followed(light, authority)
        base = authority.chain.best.hash
        watch = await light.rig.pool.submit_and_watch(ours)
        statuses: list[tuple[StatusKind, bytes | None]] = []

        async def until(kind: StatusKind) -> None:
            while not statuses or statuses[-1][0] is not kind:
                status = await watch.statuses.__anext__()
                statuses.append((status.kind, status.hash))

        await until(StatusKind.BROADCAST)
        first = await authority.rig.block(ours, on=base)
        await until(StatusKind.IN_BLOCK)
        fork = await authority.rig.blocks(2, on=base)
        await until(StatusKind.RETRACTED)
        again = await authority.rig.block(ours, on=fork[-1])
        await until(StatusKind.IN_BLOCK)
        await authority.rig.finality.finalize(again)
        await until(StatusKind.FINALIZED)
        places = [(kind, block) for kind, block in statuses if kind is not StatusKind.BROADCAST and block]
        assert places == [
            (StatusKind.IN_BLOCK, first),
            (StatusKind.RETRACTED, first),
            (StatusKind.IN_BLOCK, again),
            (StatusKind.FINALIZED, again),
        ]
        assert light.rig.read("ours", again) == "twice"
