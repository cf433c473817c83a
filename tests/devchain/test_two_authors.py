"""Authors in several processes: each leaves the slots between its own to the others."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from cfnode.core.aura import author_index
from cfnode.devchain.author import Author
from cfnode.devchain.authorities import well_known
from tests.node.conftest import MakeRig
from tests.node.mini import Rig

KEYS = well_known(2)


def author_of(rig: Rig) -> Author:
    """Return the author of the first authority, one slot a second."""
    keys = {KEYS[0].aura.public: KEYS[0].aura}
    return Author(
        rig.chain, rig.executor, rig.pool, rig.clock, rig.finality, keys, seal="slots", block_time_ms=1000
    )


async def until_best(rig: Rig, number: int) -> None:
    """Wait until the best block has this number."""
    with rig.chain.subscribe() as events:
        while rig.chain.best.number < number:
            await anext(events)


async def test_an_isolated_author_waits_for_the_slots_of_others(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Wait for the slots of the other author, and seal only its own."""
    rig = await make_rig(authorities=KEYS)
    async with trio.open_nursery() as nursery:
        began = trio.current_time()
        nursery.start_soon(author_of(rig).run)
        await until_best(rig, 5)
        assert trio.current_time() - began >= 9
        nursery.cancel_scope.cancel()
    hashes = [rig.chain.hash_at(number) for number in range(1, 6)]
    slots = [rig.chain.slot_of(block) for block in hashes if block is not None]
    assert {author_index(slot or 0, 2) for slot in slots} == {0}


async def test_a_block_of_another_author_brings_the_next_one_of_ours_earlier(
    make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Seal sooner after a block of the other author: its slot needs no waiting."""
    rig = await make_rig(authorities=KEYS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(author_of(rig).run)
        await until_best(rig, 2)
        began = trio.current_time()
        await rig.author.new_block()  # in the slot of the other one
        await until_best(rig, 4)
        assert trio.current_time() - began < 1.6  # alone it would have been two seconds
        nursery.cancel_scope.cancel()
