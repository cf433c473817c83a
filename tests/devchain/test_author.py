"""When blocks are made, by which authority, and with which timestamp."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from cfnode.core.aura import SLOT_MS, slot_of, verify_seal
from cfnode.core.scale import ByteCursor
from cfnode.devchain.author import ACCOUNT_FUNDS_ATOMS, MAX_SLOTS_LEFT_OUT, AuthorError
from cfnode.devchain.authorities import well_known
from cfnode.devchain.clock import ChainClock, ClockError, SlotInTheFuture
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, account, put, tx

NOW = 1_800_000_000_000


def times(rig: Rig) -> list[int]:
    """Return the time that each block of the best chain states, Unix ms."""
    stored_times = []
    for number in range(1, rig.chain.best.number + 1):
        block = rig.chain.hash_at(number)
        assert block is not None
        with rig.chain.state(block) as state:
            stored_times.append(int.from_bytes(state.get(b"time") or b"", "little"))
    return stored_times


async def test_each_slot_is_sealed_by_the_authority_whose_turn_it_is(make_rig: MakeRig) -> None:
    """Seal each slot with the key of the authority whose turn it is."""
    keys = well_known(3)
    rig = await make_rig(authorities=keys)
    publics = [key.aura.public for key in keys]
    turns = []
    for block in await rig.blocks(6):
        header = rig.chain.header(block)
        assert header is not None
        turns.append(verify_seal(header, publics) - slot_of(header) % 3)
    assert turns == [0] * 6


async def test_slots_of_authorities_in_other_processes_are_skipped(make_rig: MakeRig) -> None:
    """Skip the slots of authorities whose keys this process lacks, and fail where it has none."""
    keys = well_known(3)
    rig = await make_rig(authorities=keys)
    rig.author._keys.pop(keys[1].aura.public)
    slots = [slot_of(rig.chain.header(block)) for block in await rig.blocks(4)]  # type: ignore[arg-type]
    assert {slot % 3 for slot in slots} == {0, 2}
    rig.author._keys.clear()
    with pytest.raises(AuthorError, match="none of the 3 authorities' keys"):
        await rig.block()


async def test_an_instant_chain_seals_a_first_block_and_then_one_for_each_transaction(
    make_rig: MakeRig, nursery: trio.Nursery
) -> None:
    """Seal a first block, and then one for each transaction, which is final at once."""
    rig = await make_rig(seal="instant")
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_until(rig, 1)
    for n in range(3):
        watch = await rig.pool.submit_and_watch(tx("alice", n, put("n", str(n))))
        kinds = [status.kind.value async for status in watch.statuses]
        assert kinds == ["ready", "inBlock", "finalized"]
        assert (rig.chain.best.number, rig.read("n")) == (n + 2, str(n))
    assert rig.chain.finalized == rig.chain.best


async def blocks_until(rig: Rig, number: int) -> None:
    """Wait until a block with this number is final."""
    with rig.chain.subscribe() as events:
        while rig.chain.finalized.number < number:
            await events.__anext__()


async def test_a_transaction_that_the_pool_does_not_offer_in_time_is_in_the_next_block(
    make_rig: MakeRig, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Include a transaction in the next block where the pool offers it late."""
    rig = await make_rig(seal="instant")
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_until(rig, 1)
    is_at, in_time = rig.pool.is_at, iter([False])
    monkeypatch.setattr(rig.pool, "is_at", lambda block: next(in_time, True) and is_at(block))
    watch = await rig.pool.submit_and_watch(tx("alice", 0))
    with trio.fail_after(60):
        assert [status.kind.value async for status in watch.statuses][-1] == "finalized"
    assert rig.chain.best.number == 3


async def test_an_instant_chain_takes_a_burst_together_and_makes_no_empty_block(
    make_rig: MakeRig, nursery: trio.Nursery
) -> None:
    """Include a burst of transactions in one block, and seal no empty one after it."""
    rig = await make_rig(seal="instant")
    for n in range(600):  # more than a listener's queue holds
        await rig.pool.submit(tx("alice", n))
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_until(rig, 1)
    assert rig.chain.best.number == 1
    last = await rig.pool.submit_and_watch(tx("alice", 600))
    assert [status.kind.value async for status in last.statuses][-1] == "finalized"
    assert rig.chain.best.number == 2


async def test_a_steady_pace_takes_slot_after_slot_of_its_own_time(
    make_rig: MakeRig, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Seal slot after slot of the chain's own time at a steady pace."""
    rig = await make_rig(seal="slots", block_time_ms=500)
    start = trio.current_time()
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_seen(rig, 4)
    assert trio.current_time() - start == pytest.approx(2.0)
    assert [b - a for a, b in zip(times(rig), times(rig)[1:], strict=False)] == [SLOT_MS] * 3
    assert times(rig)[0] // SLOT_MS == (NOW - 365 * 24 * 3600 * 1000) // SLOT_MS


async def blocks_seen(rig: Rig, number: int) -> None:
    """Wait until the best block has this number."""
    with rig.chain.subscribe() as events:
        while rig.chain.best.number < number:
            await events.__anext__()


async def test_at_six_seconds_the_chain_runs_in_real_time(
    make_rig: MakeRig, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Seal a block in each slot of real time at six seconds a block."""
    begin = trio.current_time()
    clock = ChainClock(wall_ms=lambda: NOW + 2_000 + round((trio.current_time() - begin) * 1000))
    rig = await make_rig(seal="slots", clock=clock)
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_seen(rig, 3)
    assert times(rig)[0] == NOW + 2_000
    assert [time // SLOT_MS - NOW // SLOT_MS for time in times(rig)] == [0, 1, 2]
    assert times(rig)[2] == pytest.approx(NOW + 2 * SLOT_MS, abs=5)


async def test_when_the_reserve_is_used_up_one_warning_is_logged_and_the_chain_continues_in_real_time(
    make_rig: MakeRig,
    nursery: trio.Nursery,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Log one warning when the reserve of time is used up, and go on in real time."""
    begin = trio.current_time()

    def wall() -> int:
        return NOW + round((trio.current_time() - begin) * 1000)

    clock = ChainClock.own(NOW - 2 * SLOT_MS, wall_ms=wall)
    rig = await make_rig(seal="slots", block_time_ms=100, clock=clock)
    with caplog.at_level(logging.WARNING, "cfnode.aura"):
        nursery.start_soon(rig.pool.run)
        nursery.start_soon(rig.author.run)
        await blocks_seen(rig, 6)
    assert wall() == pytest.approx(NOW + 3 * SLOT_MS, abs=200)
    assert max(times(rig)) <= wall()
    assert [record.message for record in caplog.records if "reserve is used up" in record.message] != []
    assert len(caplog.records) == 1


async def test_a_jump_skips_time_and_never_passes_the_real_one(rig: Rig) -> None:
    """Skip time by a jump, and never pass the real time."""
    await rig.block()
    assert rig.author.jump(24 * 3600 * 1000) == times(rig)[0] + SLOT_MS + 24 * 3600 * 1000
    await rig.block()
    await rig.block()
    assert [b - a for a, b in zip(times(rig), times(rig)[1:], strict=False)] == [
        24 * 3600 * 1000 + SLOT_MS,
        SLOT_MS,
    ]
    with pytest.raises(SlotInTheFuture):
        rig.author.jump(365 * 24 * 3600 * 1000)
    with pytest.raises(ClockError):
        rig.author.jump(-1)


async def test_a_block_can_be_built_on_any_block_of_the_tree(rig: Rig) -> None:
    """Build a block on any block of the tree, and refuse an unknown parent."""
    first, second = await rig.blocks(2)
    fork = await rig.block(tx("bob", 0), on=first)
    assert rig.chain.header(fork).parent_hash == first  # type: ignore[union-attr]
    assert fork != second
    await rig.finality.finalize(second)
    with pytest.raises(AuthorError):
        await rig.block(on=bytes(32))


async def test_a_manual_block_names_the_refused_transactions(rig: Rig) -> None:
    """Name the transactions that a manual block refused, with the reason."""
    made = await rig.author.new_block(None, [tx("alice", 0), tx("alice", 5), tx("poor", 0)])
    assert made.taken == 1
    assert [reason for _, reason in made.refused] == [
        "its nonce lies in the future",
        "the fee cannot be paid",
    ]


async def test_the_author_funds_new_accounts(make_rig: MakeRig) -> None:
    """Fund listed accounts by inherent data of the next block."""
    rig = await make_rig(funded=[account("alice")])
    (_, _, (name, data)) = rig.author._inherents(1)
    cursor = ByteCursor(data)
    assert (name, cursor.count(), cursor.take(32), cursor.u128()) == (
        b"devfund0",
        1,
        account("alice"),
        ACCOUNT_FUNDS_ATOMS,
    )


async def test_a_failed_block_stops_no_later_block(
    make_rig: MakeRig, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Seal the next block after failed ones: an executor that dies must not stop the chain."""
    from cfnode.runtime.calls import ExecutorDied

    rig = await make_rig(seal="slots", block_time_ms=500)
    build = rig.executor.build_block
    failures = iter([True, True])

    async def fragile(*args):  # type: ignore[no-untyped-def]
        if next(failures, False):
            raise ExecutorDied("the executor process ended by signal 9 during the call")
        return await build(*args)

    rig.executor.build_block = fragile  # type: ignore[method-assign]
    nursery.start_soon(rig.pool.run)
    nursery.start_soon(rig.author.run)
    await blocks_seen(rig, 1)
    assert rig.chain.best.number == 1


# --- runtimes that report each slot that was left out


async def test_a_long_jump_is_made_in_several_blocks_where_the_runtime_reports_missed_slots(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Split a long jump into several blocks where the runtime reports each missed slot."""
    monkeypatch.setattr("cfnode.devchain.author.LAST_SEEN_SLOT", b"data last")
    await rig.block(tx("alice", 0, put("last", "\0" * 8)))
    before = rig.chain.best
    due = rig.author.jump(2 * MAX_SLOTS_LEFT_OUT * SLOT_MS + 5 * SLOT_MS)
    made = await rig.block(tx("alice", 1))
    assert rig.chain.best.hash == made
    assert times(rig)[-1] == due
    steps = [b - a for a, b in zip(times(rig), times(rig)[1:], strict=False)]
    assert steps[-3:] == [MAX_SLOTS_LEFT_OUT * SLOT_MS, MAX_SLOTS_LEFT_OUT * SLOT_MS, 6 * SLOT_MS]
    bodies = [rig.chain.body(rig.chain.hash_at(before.number + step) or b"") for step in (1, 2, 3)]
    assert [len(body or ()) - len(bodies[0] or ()) for body in bodies] == [0, 0, 1]


async def test_a_long_jump_is_one_block_where_it_does_not(rig: Rig) -> None:
    """Jump in one block where the runtime reports no missed slots."""
    await rig.block()
    rig.author.jump(30 * MAX_SLOTS_LEFT_OUT * SLOT_MS)
    await rig.block()
    assert rig.chain.best.number == 2
