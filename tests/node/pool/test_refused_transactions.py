"""Of a transaction that the pool refuses nothing is kept."""

from __future__ import annotations

import pytest
import trio

from cfnode.node.pool.errors import AlreadyImported, ImmediatelyDropped, TooLowPriority
from cfnode.node.pool.transaction import Limit
from cfnode.node.pool.watchers import StatusKind
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx


@pytest.fixture
async def rig(make_rig: MakeRig, nursery: trio.Nursery) -> Rig:
    """Return a rig whose pool follows the chain."""
    rig = await make_rig()
    nursery.start_soon(rig.pool.run)
    return rig


async def test_refused_watched_transactions_are_not_kept(rig: Rig) -> None:
    """Keep nothing of refused watched transactions: a client could fill the memory with them."""
    kept = await rig.pool.submit_and_watch(tx("alice", 0, priority=9))
    for number in range(100):
        with pytest.raises(TooLowPriority):
            await rig.pool.submit_and_watch(tx("alice", 0, put("refused", str(number))))
        with pytest.raises(TooLowPriority):
            await rig.pool.submit(tx("alice", 0, put("also refused", str(number))))
    assert list(rig.pool._watchers._watched) == [kept.hash]
    assert list(rig.pool._revalidation._validated_at) == [kept.hash]


async def test_a_second_submission_leaves_the_watcher_of_the_first(rig: Rig) -> None:
    """Keep the watcher of a transaction that is submitted a second time."""
    extrinsic = tx("alice", 0)
    watch = await rig.pool.submit_and_watch(extrinsic)
    with pytest.raises(AlreadyImported):
        await rig.pool.submit_and_watch(extrinsic)
    rig.pool.remove_invalid([watch.hash])
    assert [status.kind async for status in watch.statuses] == [StatusKind.READY, StatusKind.INVALID]


async def test_a_transaction_that_a_full_pool_drops_at_once_is_not_kept(make_rig: MakeRig) -> None:
    """Keep nothing of a transaction that a full pool drops at once."""
    rig = await make_rig(limit=Limit(1, 10_000))
    kept = await rig.pool.submit_and_watch(tx("alice", 0, priority=9))
    with pytest.raises(ImmediatelyDropped):
        await rig.pool.submit_and_watch(tx("bob", 0))
    assert list(rig.pool._watchers._watched) == [kept.hash]
    assert list(rig.pool._revalidation._validated_at) == [kept.hash]
