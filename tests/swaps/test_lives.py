"""The random lives that tests of several rooms share: repeatable, and with numbers that come back."""

from __future__ import annotations

from collections import Counter

from tests.support.swaps.lives import Life


def lived(seed: int, steps: int = 12) -> Life:
    """Return a life of some steps by its seed."""
    life = Life(seed)
    life.live(steps)
    return life


def test_a_seed_makes_the_same_blocks_each_time() -> None:
    """Make the same blocks by the same seed, and others by another."""
    one, other, third = lived(3), lived(3), lived(4)
    assert one.world.hashes == other.world.hashes
    assert one.steps == other.steps
    assert one.world.header.hash != third.world.header.hash


def test_numbers_come_back_several_times_for_different_owners() -> None:
    """Use one number three times or more, and give channels to all five kinds of owners."""
    lives = [lived(seed) for seed in range(6)]
    used = [
        Counter((channel.chain, channel.number) for channel in life.model.channels).most_common(1)[0][1]
        for life in lives
    ]
    assert max(used) >= 3
    owners = {channel.owner for life in lives for channel in life.model.channels}
    assert owners == {"one", "two", "broker", "other", "provider"}


def test_the_model_has_an_owner_for_each_deposit_that_counted() -> None:
    """Name the fate of each counted deposit, its swap if it has one, and a channel opened before it."""
    life = lived(8, 20)
    counted = [deposit for deposit in life.model.deposits if deposit.place is not None]
    assert counted
    for deposit in counted:
        assert deposit.fate in ("swap", "rejected", "liquidity")
        assert (deposit.fate == "swap") == (deposit.swap is not None)
        assert deposit.channel is None or deposit.channel.block < deposit.place[0]  # type: ignore[index]
