"""Which authorities vote, how far behind the head, and what happens at a change of the voters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
import trio.testing

from cfnode.core.grandpa import ENGINE, FinalityError, Justification, verify_justification
from cfnode.devchain.authorities import AuthorityKeys, well_known
from cfnode.devchain.voter import NoMajority, Voter
from cfnode.node.chain.errors import BadJustification, NotInTree, PastSetChange
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, tx, voter_set, voters_of


def weighted(*weights: int) -> tuple[AuthorityKeys, ...]:
    """Return authorities with these weights."""
    return tuple(
        AuthorityKeys(keys.aura, keys.grandpa, weight)
        for keys, weight in zip(well_known(len(weights)), weights, strict=True)
    )


async def settle() -> None:
    """Wait until all tasks are blocked."""
    await trio.testing.wait_all_tasks_blocked()


def justification_of(rig: Rig, block: bytes) -> Justification:
    """Return the justification of a block."""
    ((engine, encoded),) = rig.chain.justifications(block)
    assert engine == ENGINE
    return Justification.decode(encoded)


async def follow(rig: Rig) -> None:
    """Play the finality task's part at each new best block."""
    await rig.finality.follow()


async def test_finality_stays_two_blocks_behind(rig: Rig) -> None:
    """Finalize two blocks behind the head."""
    for number in range(1, 6):
        await rig.block()
        await follow(rig)
        assert rig.chain.finalized.number == max(0, number - 2)


async def test_the_voter_task_follows_the_chain(rig: Rig, nursery: trio.Nursery) -> None:
    """Finalize new blocks in the voter's task."""
    nursery.start_soon(rig.finality.run)
    with rig.chain.subscribe() as events:
        await rig.blocks(4)
        while rig.chain.finalized.number < 2:
            await events.__anext__()
    assert (rig.chain.best.number, rig.chain.finalized.number) == (4, 2)


async def test_the_justification_can_be_verified(make_rig: MakeRig) -> None:
    """Justify a block so that the voters' set verifies it, and no other set does."""
    keys = weighted(1, 2, 3)
    rig = await make_rig(authorities=keys)
    block = await rig.block(final=True)
    justification = justification_of(rig, block)
    verify_justification(justification, voter_set(keys, 0), (block, 1))
    with pytest.raises(FinalityError):
        verify_justification(justification, voter_set(keys, 1), (block, 1))


async def test_held_finality_catches_up_when_released_and_obeys_on_demand(rig: Rig) -> None:
    """Hold finality, finalize one block on demand, and catch up once released."""
    rig.finality.hold()
    hashes = await rig.blocks(5)
    await follow(rig)
    assert rig.chain.finalized.number == 0
    await rig.finality.finalize(hashes[0])
    assert rig.chain.finalized.number == 1
    await rig.finality.release()
    assert rig.chain.finalized.number == 3


@pytest.mark.parametrize(
    ("weights", "silent", "final"),
    [
        ((1, 1, 1, 1), (0,), True),
        ((1, 1, 1, 1), (0, 3), False),
        ((1, 1, 5), (0, 1), True),
        ((3, 1, 1), (0,), False),
    ],
)
async def test_silence_counts_by_weight(
    make_rig: MakeRig, weights: Sequence[int], silent: Sequence[int], final: bool
) -> None:
    """Count silent authorities by weight: without more than two thirds nothing becomes final."""
    rig = await make_rig(authorities=weighted(*weights))
    rig.finality.silence(silent)
    hashes = await rig.blocks(3)
    await follow(rig)
    assert rig.chain.finalized.number == (1 if final else 0)
    if not final:
        with pytest.raises(NoMajority, match="let silent ones vote"):
            await rig.finality.finalize(hashes[0])
        rig.finality.silence(())
        await rig.finality.finalize(hashes[0])
        assert rig.chain.finalized.number == 1


async def test_a_change_of_voters_is_finalized_by_the_old_ones_and_then_the_new_ones_vote(
    make_rig: MakeRig,
) -> None:
    """Finalize a change of voters by the old ones before the new ones vote."""
    old, new = weighted(1, 1), weighted(1, 1, 1, 7)[2:]
    rig = await make_rig(authorities=old)
    every = {keys.grandpa.public: keys.grandpa for keys in (*old, *new)}
    finality = Voter(rig.chain, every, lag=0)
    before = await rig.block()
    change = await rig.block(tx("alice", 0, voters_of(new)))
    after = await rig.block()

    past = finality.justification(rig.chain.best, voter_set(old, 0), 1).encode()
    with pytest.raises(PastSetChange) as refusal:
        await rig.chain.finalize(after, past)
    assert refusal.value.number == 2
    assert rig.chain.finalized.number == 0

    await finality.finalize(after)
    assert rig.chain.finalized.hash == after
    verify_justification(justification_of(rig, change), voter_set(old, 0), (change, 2))
    verify_justification(justification_of(rig, after), voter_set(new, 1), (after, 3))
    assert rig.chain.justifications(before) == []
    assert (await rig.chain.voters()).set_id == 1


async def test_two_changes_on_the_way_are_taken_one_by_one(make_rig: MakeRig) -> None:
    """Finalize two changes on the way one by one, each by the voters of its time."""
    sets = [weighted(1), weighted(2), weighted(3)]
    rig = await make_rig(authorities=sets[0])
    changes = [await rig.block(tx("alice", n, voters_of(keys))) for n, keys in enumerate(sets[1:])]
    last = (await rig.blocks(3))[-1]
    await rig.finality.finalize(last)
    for number, (block, keys) in enumerate(zip([*changes, last], sets, strict=True)):
        target = rig.chain.block_ref(block)
        assert target is not None
        verify_justification(justification_of(rig, block), voter_set(keys, number), (block, target.number))


async def test_votes_by_unknown_keys_or_for_another_block_finalize_nothing(rig: Rig) -> None:
    """Refuse justifications by unknown keys, for another block, or malformed; none finalizes a block."""
    first, second = await rig.blocks(2)
    good = rig.finality.justification(rig.chain.best, await rig.chain.voters(), 1)
    strangers = {keys.grandpa.public: keys.grandpa for keys in well_known(3)[1:]}
    forged = Voter(rig.chain, strangers).justification(rig.chain.best, voter_set(well_known(3)[1:], 0), 1)
    for block, encoded in ((first, good.encode()), (second, forged.encode()), (second, b"nonsense")):
        with pytest.raises(BadJustification):
            await rig.chain.finalize(block, encoded)
    with pytest.raises(NotInTree):
        await rig.chain.finalize(bytes(32), good.encode())
    await rig.chain.finalize(second, good.encode())
    await rig.chain.finalize(second, good.encode())
    assert rig.chain.finalized.hash == second


async def test_a_final_block_needs_no_second_vote(rig: Rig) -> None:
    """Do nothing for a block that is final already: it needs no second justification."""
    blocks = await rig.blocks(3)
    await rig.finality.finalize(blocks[-1])
    await rig.finality.finalize(blocks[0])
    assert rig.chain.finalized.number == 3
    assert rig.chain.justifications(blocks[0]) == []
