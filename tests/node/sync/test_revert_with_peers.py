"""A chain that is reverted while peers send votes goes on with its finality."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.core.grandpa import PRECOMMIT, PREVOTE, PROPOSE, NeighborPacket, Vote
from cfnode.node.call_cache import Call
from cfnode.node.sync.vote_queue import MAX_BATCH
from cfnode.runtime.calls import StateSource
from tests.node.sync.peers import Peer, followed, reached, running
from tests.node.sync.test_votes import VOTERS, Listener, vote


def many_votes(authority: Peer) -> list[Vote]:
    """Votes of two rounds, for all blocks: more than are checked in one turn."""
    blocks = [authority.chain.hash_at(number) for number in range(1, authority.chain.best.number + 1)]
    return [
        vote(key, authority, block, stage, number=number)
        for block in blocks if block is not None
        for stage in (PREVOTE, PRECOMMIT, PROPOSE)
        for number in (1, 2)
        for key in VOTERS
    ]  # fmt: skip


async def test_votes_that_wait_when_the_chain_is_reverted_are_dropped(
    authority: Peer, light: Peer, tmp_path: Path, patient_clock: trio.testing.MockClock
) -> None:
    finality, executor, known = light.sync.finality, light.rig.executor, trio.Event()
    make = executor.call_all

    async def made_later(at: StateSource, calls: Sequence[Call]) -> list[bytes]:
        await known.wait()  # the authorities are not known again at once
        return list(await make(at, calls))

    async with running(authority, light):
        await followed(light, authority)
        (tmp_path / "copy").mkdir()
        copy = await light.chain.copy(tmp_path / "copy")
        one, votes = Listener("one", light), many_votes(authority)
        one.says(NeighborPacket(1, 2, 0))
        assert len(votes) > 2 * MAX_BATCH
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(executor, "call_all", made_later)
            light.chain.states._calls.drop(light.chain.finalized.hash)
            await light.chain.restore(copy)
            for each in votes:  # before any task has handled the events of the revert
                assert finality._queue.received("one", each.encode()) is None
            await reached(light, lambda: finality.rounds.set_id < 0 and not finality._queue._queued)
            known.set()
            await reached(light, lambda: finality.rounds.set_id == 2)
        assert light.network.reports == []
        one.sends_round(authority, authority.chain.best.hash)
        await reached(light, lambda: light.chain.finalized == authority.chain.best)
