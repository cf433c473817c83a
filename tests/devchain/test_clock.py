"""The chain's clock: real at 6 s a block, else its own, behind the real one and never ahead."""

from __future__ import annotations

import pytest

from cfnode.core.aura import SLOT_MS
from cfnode.core.chainspec import ChainSpec, RawGenesis
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.devchain.chain import clock_of
from cfnode.devchain.clock import YEAR_MS, ChainClock, ClockError, SlotInTheFuture
from cfnode.devchain.config import DevConfig

NOW = 1_800_000_000_000


class Wall:
    """A wall clock that a test sets."""

    def __init__(self, ms: int = NOW) -> None:
        self.ms = ms

    def __call__(self) -> int:
        """Return the time, Unix ms."""
        return self.ms


def test_in_real_time_the_slot_is_that_of_the_moment() -> None:
    """Choose the slot of the moment in real time, with the moment as timestamp."""
    wall = Wall(NOW + 2_500)
    clock = ChainClock(wall_ms=wall)
    assert clock.is_real
    slot = clock.next_slot(parent_slot=NOW // SLOT_MS - 7)
    assert slot == NOW // SLOT_MS
    assert clock.timestamp_ms(slot) == NOW + 2_500


def test_in_real_time_one_slot_holds_one_block() -> None:
    """Allow one block a slot in real time, and say how long to wait for the next."""
    wall = Wall(NOW + 2_500)
    clock = ChainClock(wall_ms=wall)
    with pytest.raises(SlotInTheFuture, match=r"begins in 3\.5 s") as refused:
        clock.next_slot(NOW // SLOT_MS)
    assert refused.value.wait_ms == 3_500
    wall.ms += 3_500
    assert clock.next_slot(NOW // SLOT_MS) == NOW // SLOT_MS + 1


def test_the_chains_own_clock_begins_a_year_back_and_uses_slot_after_slot() -> None:
    """Begin the chain's own clock a year back, and use slot after slot."""
    clock = ChainClock.own(wall_ms=Wall())
    first = clock.next_slot(None)
    assert first == (NOW - YEAR_MS) // SLOT_MS
    assert clock.timestamp_ms(first) == first * SLOT_MS
    assert [clock.next_slot(first), clock.next_slot(first + 1)] == [first + 1, first + 2]


def test_an_existing_chain_continues_at_its_last_slot() -> None:
    """Continue an existing chain in the slot after its last one."""
    clock = ChainClock.own(wall_ms=Wall())
    assert clock.next_slot(12_345) == 12_346


def test_a_fork_takes_later_slots_than_the_chain_it_leaves() -> None:
    """Take a later slot for a fork than any that was used: a slot must not be sealed twice."""
    clock = ChainClock.own(wall_ms=Wall())
    clock.use_slot(500)
    assert clock.next_slot(parent_slot=490) == 501


def test_a_jump_skips_slots_once_and_jumps_add_up() -> None:
    """Add up jumps, and skip the slots once."""
    clock = ChainClock.own(NOW - 1_000 * SLOT_MS, wall_ms=Wall())
    first = clock.next_slot(None)
    clock.use_slot(first)
    assert clock.jump(10 * SLOT_MS, first) == first + 11
    assert clock.jump(5 * SLOT_MS - 1, first) == first + 16
    slot = clock.next_slot(first)
    assert slot == first + 16
    clock.use_slot(slot)
    assert clock.next_slot(slot) == slot + 1


def test_the_error_at_the_end_of_the_reserve_names_the_remedy() -> None:
    """Name the remedy in the error when the reserve of time is used up."""
    wall = Wall()
    clock = ChainClock.own(NOW - 2 * SLOT_MS, wall_ms=wall)
    slot = clock.next_slot(None)
    slot = clock.next_slot(clock.next_slot(slot))
    assert slot == clock.real_slot()
    with pytest.raises(SlotInTheFuture, match=r"reserve is used up.*--dev-start-time") as refused:
        clock.next_slot(slot)
    assert refused.value.wait_ms == SLOT_MS
    wall.ms += SLOT_MS
    assert clock.next_slot(slot) == slot + 1


def test_a_jump_never_passes_the_real_time() -> None:
    """Refuse a jump past the real time: other nodes would refuse the block."""
    clock = ChainClock.own(NOW - 10 * SLOT_MS, wall_ms=Wall())
    first = clock.next_slot(None)
    with pytest.raises(SlotInTheFuture):
        clock.jump(10 * SLOT_MS, first)
    assert clock.jump(9 * SLOT_MS, first) == clock.real_slot()


def test_the_earliest_and_the_latest_start() -> None:
    """Accept a start from slot 1 up to now, and name what is wrong with others."""
    assert ChainClock.own(SLOT_MS, wall_ms=Wall()).next_slot(None) == 1
    assert ChainClock.own(NOW, wall_ms=Wall()).next_slot(None) == NOW // SLOT_MS
    with pytest.raises(ClockError, match="5999 ms is in slot 0, which no block can have: begin at 6000 ms"):
        ChainClock.own(SLOT_MS - 1, wall_ms=Wall())
    with pytest.raises(
        ClockError, match=r"lies in the future, by 86400 s: a chain may begin at any time up to"
    ):
        ChainClock.own(NOW + 86_400_000, wall_ms=Wall())


def test_invalid_times_are_refused_with_a_message() -> None:
    """Refuse a start in the future, a jump in real time and a jump back, with a message."""
    with pytest.raises(ClockError, match="in the future"):
        ChainClock.own(NOW + 1, wall_ms=Wall())
    with pytest.raises(ClockError, match="runs in real time"):
        ChainClock(wall_ms=Wall()).jump(1, None)
    with pytest.raises(ClockError, match="forward only"):
        ChainClock.own(wall_ms=Wall()).jump(-1, None)


# --- the clock of a chain that begins with a state


def state_of(last_ms: int | None) -> ChainSpec:
    """Return a specification whose state ends at this time."""
    top = {} if last_ms is None else {TIMESTAMP_NOW: last_ms.to_bytes(8, "little")}
    return ChainSpec("Copy", "copy", "Development", (), RawGenesis(top))


@pytest.mark.parametrize("dev", [DevConfig(), DevConfig(seal="instant"), DevConfig(block_time=500)])
def test_a_chain_continues_in_the_slot_after_its_states_last_block(dev: DevConfig) -> None:
    """Continue in the slot after a state's last block, on the chain's own clock."""
    last = NOW - 160 * 24 * 3_600_000 + 2_345
    clock = clock_of(dev, state_of(last), Wall())
    assert clock.next_slot(None) == last // SLOT_MS + 1
    assert clock.timestamp_ms(last // SLOT_MS + 1) > last
    assert not clock.is_real


def test_after_a_state_of_this_moment_the_first_block_waits_for_its_slot() -> None:
    """Wait for the next slot where the state is of this moment."""
    wall = Wall(NOW + 2_500)
    clock = clock_of(DevConfig(), state_of(NOW + 2_000), wall)
    with pytest.raises(SlotInTheFuture) as refused:
        clock.next_slot(None)
    assert refused.value.wait_ms == 3_500
    wall.ms += 3_500
    assert clock.next_slot(None) == NOW // SLOT_MS + 1


def test_a_state_from_the_future_is_refused() -> None:
    """Refuse a state from the future."""
    with pytest.raises(ClockError, match="lies in the future"):
        clock_of(DevConfig(), state_of(NOW + 1), Wall())


def test_the_present_and_any_later_time_can_be_chosen_and_none_before_the_state() -> None:
    """Accept a start after the last block of the state, up to now, and refuse one before it."""
    state = state_of(NOW - 50 * SLOT_MS)
    assert clock_of(DevConfig(start_time="now"), state, Wall()).next_slot(None) == NOW // SLOT_MS
    later = DevConfig(start_time=NOW - 20 * SLOT_MS)
    assert clock_of(later, state, Wall()).next_slot(None) == NOW // SLOT_MS - 20
    with pytest.raises(ClockError, match=r"lies before the last block.*--forget-time"):
        clock_of(DevConfig(start_time=NOW - 50 * SLOT_MS), state, Wall())


def test_without_a_time_in_the_state_the_clock_is_that_of_a_new_chain() -> None:
    """Use the clock of a new chain where the state has no time."""
    assert clock_of(DevConfig(), state_of(None), Wall()).is_real
    year_back = clock_of(DevConfig(seal="instant"), state_of(0), Wall())
    assert year_back.next_slot(None) == (NOW - YEAR_MS) // SLOT_MS
