"""Who holds too many blocks for too long makes room for the others."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from cfnode.rpc.table import pins
from cfnode.rpc.table.pins import PATIENCE, Pins, TooManyPinned

BLOCKS = [bytes([number]) * 32 for number in range(6)]


class Holder:
    """A holder that releases its blocks when it is halted."""

    def __init__(self, all_pins: Pins) -> None:
        self.pins = all_pins
        self.is_halted = False

    def halt(self) -> None:
        """Release all blocks of this holder."""
        self.is_halted = True
        self.pins.release(self)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Pins:
    """Return pins of which three blocks may be held."""
    monkeypatch.setattr(pins, "MAX_PINNED", 3)
    return Pins()


async def test_a_block_counts_once_however_many_hold_it(limited: Pins) -> None:
    """Count a block once, however many holders it has."""
    one, other = Holder(limited), Holder(limited)
    for block in BLOCKS[:3]:
        limited.pin(one, block)
        limited.pin(other, block)
    assert len(limited) == 3
    limited.unpin(one, BLOCKS[:1])
    assert not limited.has_pinned(one, BLOCKS[0])
    assert limited.has_pinned(other, BLOCKS[0])
    assert len(limited) == 3
    limited.release(other)
    assert len(limited) == 2


async def test_who_has_held_a_block_for_long_goes_first(limited: Pins, mock_clock: MockClock) -> None:
    """Stop the holder that has had a block for long when room is needed, else refuse the new block."""
    patient, brisk = Holder(limited), Holder(limited)
    limited.pin(patient, BLOCKS[0])
    mock_clock.jump(PATIENCE + 1)
    for block in BLOCKS[1:4]:
        limited.pin(brisk, block)
    assert patient.is_halted
    assert not brisk.is_halted
    assert len(limited) == 3
    with pytest.raises(TooManyPinned):
        limited.pin(brisk, BLOCKS[4])


async def test_time_alone_stops_no_follow(limited: Pins, mock_clock: MockClock) -> None:
    """Stop no follow for time alone, while there is room."""
    holder = Holder(limited)
    limited.pin(holder, BLOCKS[0])
    mock_clock.jump(100 * PATIENCE)
    limited.pin(holder, BLOCKS[1])
    assert not holder.is_halted
    await trio.lowlevel.checkpoint()
