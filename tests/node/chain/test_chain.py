"""Import, fork choice and finality of the chain, on a mini runtime over the real store."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from cfnode.core.aura import SLOT_MS, sealed, without_seal
from cfnode.core.header import Header
from cfnode.node.chain import errors as refused
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.events import BestChanged, BlocksFinalized, Imported, Lagged
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx


def events_of(subscription: object) -> list[object]:
    """Return the events of a subscription so far."""
    events = []
    while (event := subscription.receive_nowait()) is not None:  # type: ignore[attr-defined]
        events.append(event)
    return events


async def copy_of(rig: Rig, make_rig: MakeRig) -> NodeChain:
    """Return another node of the same chain, still at genesis."""
    return (await make_rig("other")).chain


async def blocks_of(rig: Rig, hashes: list[bytes]) -> list[tuple[Header, list[bytes]]]:
    """Return header and body of each block."""
    return [(rig.chain.header(block_hash), rig.chain.body(block_hash)) for block_hash in hashes]  # type: ignore[misc]


async def test_a_block_of_another_node_is_executed_and_becomes_the_best(rig: Rig, make_rig: MakeRig) -> None:
    """Execute a block of another node, make it the best, and import it once only."""
    block = await rig.block(tx("alice", 0, put("colour", "red")))
    other = await copy_of(rig, make_rig)
    (header, body), *_ = await blocks_of(rig, [block])
    with other.subscribe() as events:
        assert await other.import_block(header, body)
        assert not await other.import_block(header, body)
        assert events_of(events) == [
            Imported(other.best, header, True),
            BestChanged(other.best, (), (block,)),
        ]
    assert (other.best.hash, other.best.number) == (block, 1)
    with other.state(block) as state:
        assert state.get(b"data colour") == b"red"


async def test_a_broken_block_is_refused_with_the_rule_it_breaks(rig: Rig, make_rig: MakeRig) -> None:
    """Refuse a block by the rule that it breaks: parent, seal, roots, number, digest or slot."""
    first, second = await rig.blocks(2)
    (header, body), (later, later_body) = await blocks_of(rig, [first, second])
    other = await copy_of(rig, make_rig)
    key = rig.authorities[0].aura

    def resealed(changed: Header) -> Header:
        unsealed, _ = without_seal(changed)
        return sealed(unsealed, key.sign(unsealed.hash))

    with pytest.raises(refused.UnknownParent):
        await other.import_block(later, later_body)
    with pytest.raises(refused.BadSeal):
        await other.import_block(replace(header, state_root=bytes(32)), body)
    with pytest.raises(refused.ExecutionFailed):
        await other.import_block(resealed(replace(header, state_root=bytes(32))), body)
    with pytest.raises(refused.ExecutionFailed):
        await other.import_block(header, [*body, tx("alice", 0)])
    with pytest.raises(refused.WrongNumber):
        await other.import_block(resealed(replace(header, number=2)), body)
    with pytest.raises(refused.BadDigest):
        await other.import_block(replace(header, digest=header.digest[1:]), body)
    await other.import_block(header, body)
    with pytest.raises(refused.BadSlot, match="not later than its parent's"):
        await other.import_block(resealed(replace(later, digest=header.digest)), later_body)
    assert other.best.hash == first


async def test_a_block_from_the_future_is_refused(rig: Rig, make_rig: MakeRig) -> None:
    """Refuse a block from the future, and one without a valid seal before its time is looked at."""
    rig.wall_ms += 60_000
    rig.clock.jump((rig.clock.real_slot() - rig.clock.next_slot(None)) * SLOT_MS, None)
    block = await rig.block()
    other = await copy_of(rig, make_rig)
    (header, body), *_ = await blocks_of(rig, [block])
    with pytest.raises(refused.FutureSlot, match="lies in the future"):
        await other.import_block(header, body)
    unsealed, _ = without_seal(header)
    with pytest.raises(refused.BadSeal):
        await other.import_block(sealed(unsealed, bytes(64)), body)
    with pytest.raises(refused.BadSeal):
        await other.import_block(unsealed, body)


async def test_a_fork_of_depth_five_overtakes_and_both_branches_stay_readable(rig: Rig) -> None:
    """Follow a longer fork of depth five; both branches stay readable until finality drops one."""
    base = await rig.block(tx("alice", 0, put("branch", "none")))
    old = [await rig.block(tx("bob", n, put("branch", f"old {n}"))) for n in range(5)]
    assert rig.read("branch") == "old 4"
    new: list[bytes] = []
    with rig.chain.subscribe() as events:
        for n in range(6):
            new.append(
                await rig.block(tx("carol", n, put("branch", f"new {n}")), on=new[-1] if new else base)
            )
            assert rig.chain.best.hash == (old[4] if n < 5 else new[5])
        assert [type(event) for event in events_of(events)] == [Imported] * 6 + [BestChanged]
    route = rig.chain.tree_route(old[4], new[5])
    assert [step.hash for step in route.retracted] == old[::-1]
    assert [step.hash for step in route.enacted] == new
    assert rig.read("branch") == "new 5"
    assert [rig.read("branch", at) for at in old] == [f"old {n}" for n in range(5)]
    assert [rig.chain.hash_at(n) for n in (1, 2, 6, 7, 8)] == [base, new[0], new[4], new[5], None]
    assert rig.chain.leaves == 2
    assert not rig.chain.is_ancestor(old[0], new[5])
    assert rig.chain.is_ancestor(base, new[5])

    await rig.finality.finalize(new[4])
    assert rig.chain.finalized.hash == new[4]
    assert rig.read("branch", new[2]) == "new 2"
    with pytest.raises(LookupError):
        rig.read("branch", old[4])
    assert not rig.chain.descends_from_finalized(old[4])
    assert rig.chain.leaves == 1


async def test_finality_of_a_shorter_branch_makes_it_the_best_first(rig: Rig) -> None:
    """Make a shorter branch the best when it becomes final, before its finality is announced."""
    long = await rig.blocks(3)
    short = await rig.block(on=rig.chain.genesis_hash)
    with rig.chain.subscribe() as events:
        await rig.finality.finalize(short)
        changed, final = events_of(events)
    assert changed == BestChanged(rig.chain.best, tuple(reversed(long)), (short,))
    assert isinstance(final, BlocksFinalized)
    assert [block.hash for block in final.blocks] == [short]
    assert sorted(final.dropped) == sorted(long)
    with pytest.raises(refused.NotInTree):
        await rig.finality.finalize(long[2])


async def test_a_cancelled_import_leaves_a_whole_block(rig: Rig) -> None:
    """Complete the import of a block whose task is cancelled: half a block would break the store."""
    add_block = rig.store.add_block
    with trio.CancelScope() as scope:

        def leave(*args: object) -> object:
            trio.from_thread.run_sync(scope.cancel)
            return add_block(*args)  # type: ignore[arg-type]

        rig.store.add_block = leave  # type: ignore[method-assign, assignment]
        await rig.block(tx("alice", 0, put("colour", "red")))
    rig.store.add_block = add_block  # type: ignore[method-assign]
    assert scope.cancel_called
    assert (rig.chain.best.number, rig.read("colour")) == (1, "red")
    await rig.block(tx("alice", 1, put("colour", "blue")))
    assert (rig.chain.best.number, rig.read("colour")) == (2, "blue")


async def test_a_slow_listener_is_cut_off_and_receives_lagged(rig: Rig) -> None:
    """Cut off a slow listener with Lagged, rather than keep its events without bound."""
    with rig.chain.subscribe(capacity=3) as events:
        await rig.blocks(3)
        kinds = [type(event) async for event in events]
    assert kinds == [Imported, BestChanged, Imported, Lagged]


async def test_unfinalized_blocks_come_back_after_a_restart(make_rig: MakeRig) -> None:
    """Restore unfinalized blocks of both branches after a restart."""
    rig = await make_rig()
    first = await rig.block(tx("alice", 0, put("colour", "red")), final=True)
    kept = await rig.blocks(3)
    fork = await rig.block(tx("bob", 0, put("colour", "blue")), on=first)
    rig.store.close()

    again = await make_rig()
    assert again.chain.finalized.hash == first
    assert again.chain.best.hash == kept[2]
    assert (again.read("colour"), again.read("colour", fork)) == ("red", "blue")
    assert again.chain.leaves == 2


async def test_states_older_than_the_window_are_discarded_and_headers_kept(make_rig: MakeRig) -> None:
    """Discard states and bodies older than the window, and keep their headers."""
    from cfnode.store import Pruning, StateDiscarded

    rig = await make_rig(pruning=Pruning(blocks=4, state=4))
    hashes = await rig.blocks(10)
    await rig.finality.finalize(hashes[-1])
    assert rig.read("x", hashes[5]) is None
    with pytest.raises(StateDiscarded):
        rig.read("x", hashes[3])
    assert rig.chain.header(hashes[3]) is not None
    assert rig.chain.body(hashes[2]) is None
