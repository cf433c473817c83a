"""Random lives with aborted transactions and rotations of the keys: all rooms agree on each payout.

Governance has some of the transactions signed again, and sends them or not. The statuses of a development
node and of the books are equal, with the calls that they hand out, and the operator's list has the payouts
that failed. `CFNODE_TEST_SEED` plays others; a life that fails says which seed and steps play it again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.lengths import repeats, seed_of_run
from tests.support.sdk.lives import PayoutsOfLife
from tests.support.swaps.replay import STEPS_VARIABLE, explained, steps_of_run
from tests.support.swaps.rooms import Rooms

SEED = seed_of_run(2)
LIVES = 1 if STEPS_VARIABLE in os.environ else repeats(40, 3)
STEPS = steps_of_run(12)


class AbortedPayouts(PayoutsOfLife):
    """A life of swaps whose receivers the model of the rooms knows."""

    weights = {"open": 3, "pay": 4, "fail": 5, "abort": 10, "refuse": 4, "wait": 4, "hold": 1, "epoch": 1,
               "rotate": 5, "message": 4, "re_sign": 8}  # fmt: skip


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=[pytest.mark.world] * (number > 0)) for number in range(LIVES)]
)
def test_all_rooms_agree_on_each_aborted_payout(number: int, tmp_path: Path) -> None:
    """Play a life with aborted payouts and rotated keys; statuses, calls and the operator's list agree."""
    seed = SEED + repeats(1, 2) * number  # the keys of even ones rotate with each epoch
    explained(partial(played, seed, tmp_path), seed, STEPS)


def played(seed: int, folder: Path, steps: Sequence[int]) -> None:
    """Play a life's steps, and compare what the rooms say after each and again at the end."""
    life = AbortedPayouts(seed, rotates_always=seed % 2 == 0)
    rooms = Rooms(life, folder)
    try:
        for step in steps:
            life.step(step)
            rooms.agree_on_changes(in_all_rooms=False)
        life.rest()
        rooms.agree()
        rooms.recompute()
    finally:
        rooms.close()
